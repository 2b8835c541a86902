// Connects to a server of the policy: a command behind its wall, a URL by a fetch that stays off addresses nobody meant.
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { guardedFetch } from "@secure-local/mcp/auth/client/node";
import type { ClientOptions, HttpAuthorizer, HttpReply, HttpRequest, HttpRequester } from "@secure-local/mcp/client";
import { type ChildCommand, type Client, connect, LocalError, nodeRequester } from "@secure-local/mcp/client/node";
import type { AuditEvent } from "../audit/audit-event.js";
import { type DecideEgress, type EgressDecision, parseTarget } from "../capabilities/egress-target.js";
import { redactLaunch } from "../audit/event-text.js";
import { readAtMost, WrongKindError } from "../audit/owned-files.js";
import { FetchError } from "../capabilities/refusals.js";
import { policyEgress } from "../capabilities/policy-egress.js";
import { resolveAllowed, resolveBySystem } from "../capabilities/resolve.js";
import { deniedEndpoint } from "../policy/decide.js";
import { PolicyError } from "../policy/faults.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy, SecretPolicy, ServerGrant } from "../policy/policy.js";
import { secretsOf, withSecrets } from "../policy/read-servers.js";
import { approvedLaunch, launchDigest } from "./server-launch.js";
import { sameGrant, serverReach } from "./server-reach.js";
import { learnSecret } from "./follow-policy-file.js";

export interface OpenServerOptions {
  readonly policy: Policy;
  /** The file of this program, which starts commands behind their walls (`servers run`). */
  readonly program: string;
  /** Told of each line of a command's standard error. */
  readonly say?: ((line: string) => void) | undefined;
  /** How it was approved to be started, as `serverLaunch` says it: nothing else is. Default: as the entry says now. */
  readonly launch?: unknown;
  /** The policy in force, by which each request to a URL is judged. Default: `policy`. */
  readonly current?: () => Policy;
  /** Authorizes requests to a URL whose entry has a login. Default: nobody does. */
  readonly logins?: Logins | undefined;
  /** Writes a record; rejects where it cannot be kept. Without it nobody is authorized: no request of a login goes unrecorded. */
  readonly record?: Recorder | undefined;
}

type Fetch = ReturnType<typeof guardedFetch>;

type Recorder = (event: AuditEvent) => Promise<void>;

/**
 * Every request of a login goes by the fetch that is given, and each of its secrets is told before it is used. Undefined for a URL
 * that tokens must not go to.
 */
export type Logins = (
  url: string,
  fetch: Fetch,
  secret: (kind: string, value: string) => void,
) => Promise<HttpAuthorizer | undefined>;

/** A package that has to be fetched first takes its time. */
const CONNECT_MS = 60_000;

/** Names the launch that `servers run` is to start, and no other. */
export const APPROVED = "MCP_SECURE_LOCAL_LAUNCH";

/** Names all of the policy that `servers run` is to start it by, and no other: the file may be another one by then. */
export const REACH = "MCP_SECURE_LOCAL_REACH";

/** Names the process that `servers run` is not to outlive. */
export const PARENT = "MCP_SECURE_LOCAL_PARENT";

/** How a server of the policy is reached: the process that starts it behind its wall, or its address with all that goes along with each request. */
export type Upstream =
  | { readonly kind: "command"; readonly command: ChildCommand }
  | {
      readonly kind: "url";
      readonly url: string;
      /** Another one each time: whoever takes it closes it. */
      readonly requester: () => HttpRequester;
      readonly http: {
        readonly headers: Readonly<Record<string, string>>;
        readonly authorizer?: HttpAuthorizer;
      };
    };

/** Rejects with a ConnectError, or with NO_SECRET naming what could not be read. */
export async function openServer(
  grant: ServerGrant,
  given: OpenServerOptions,
  options: ClientOptions,
): Promise<Client> {
  const upstream = await upstreamOf(grant, given);
  const wanted = { ...options, reconnect: false as const, verdicts: false as const, connectTimeoutMs: CONNECT_MS };
  if (upstream.kind === "url") {
    const { url, http, requester } = upstream;
    return connect(url, { ...wanted, http: { ...http, requester: requester() } });
  }
  try {
    return await connect(upstream.command, wanted);
  } catch (error) {
    throw (await unusablePolicy(grant, given.policy, error)) ?? error;
  }
}

/** What starts a server reads the policy file anew: while that cannot be used nothing starts, and the server itself is not to blame. */
async function unusablePolicy(
  { name }: ServerGrant,
  { file }: Policy,
  cause: unknown,
): Promise<LocalError | undefined> {
  try {
    await loadPolicy(file);
    return undefined;
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const brief = "it cannot be started while the policy file cannot be used";
    return new LocalError(
      "USAGE",
      `${name} is not started: the policy file ${file} cannot be used as it is now; see mcp-secure-local policy check`,
      { cause, brief },
    );
  }
}

/** The one way to a server of the policy, for calls, reviews and examinations alike. Rejects with NO_SECRET, or with REFUSED where the policy denies its address. */
export async function upstreamOf(
  grant: ServerGrant,
  { policy, program, say, launch: approved, current = () => policy, logins, record }: OpenServerOptions,
): Promise<Upstream> {
  const { name, launch } = grant;
  requireSecrets(policy, grant);
  if (launch.kind === "url") {
    const { url } = launch;
    const headers = filled(policy, grant, grant.headers);
    const stands = standingEntry(policy, grant);
    const requester = (): HttpRequester => new ServerRequester(url, { current, stands });
    // A login may be renewed before anything is sent to the server itself.
    await judgedAddresses(url, current());
    const authorizer =
      grant.login === undefined || record === undefined
        ? undefined
        : await logins?.(url, loginFetch(grant, { current, record, stands }), (kind, value) =>
            // By names of their own: a token that is renewed often pushes no other one out of what is known.
            learnSecret(`login of ${name}${kind === "token" ? "" : `, ${kind}`}`, value),
          );
    return { kind: "url", url, requester, http: { headers, ...(authorizer && { authorizer }) } };
  }
  const { file } = policy;
  if (file === undefined)
    throw new LocalError("USAGE", `${name} needs a policy file to be started by; name one with --policy FILE`);
  // Our own program: what the server itself gets of it all is decided there.
  const args = [program, "servers", "run", name, "--policy", file];
  const env = {
    [PARENT]: String(process.pid),
    [REACH]: serverReach(policy, grant),
    ...(approved === undefined ? {} : { [APPROVED]: launchDigest(approvedLaunch(grant, approved)) }),
  };
  const command: ChildCommand = {
    ...{ command: process.execPath, args, inheritEnv: true, env, stderr: say ?? "tail" },
    shown: launch.command.map(redactLaunch),
  };
  return { kind: "command", command };
}

/** Does nothing where the policy still has the very entry that something was opened by, its secrets and all else that goes with it. */
type Stands = (now: Policy) => void;

/** What was opened by an entry is for that entry: its URL, headers and secrets are none of another one's. */
function standingEntry(opened: Policy, grant: ServerGrant): Stands {
  const { name } = grant;
  return (now) => {
    const entry = now.servers.get(name);
    const same = sameGrant(entry, grant) && (now === opened || serverReach(now, grant) === serverReach(opened, grant));
    if (same) return;
    const text = `Denied. What the entry of ${name} was opened by is changed in the policy, or gone. Rule: servers.${name}.`;
    throw new LocalError("REFUSED", text, { brief: text });
  };
}

/**
 * Sends requests to the origin of a server's URL and to no other, and to nothing that the section `network` denies: judged by name
 * before it is looked up, and by each address before it is dialled. Connections are kept, for the policy alone by which they were
 * judged: with another one they end, or end with the request that is under way on them. Where that has not the same entry any more
 * nothing is sent at all, not even that a session is over.
 */
class ServerRequester implements HttpRequester {
  readonly #url: string;
  readonly #origin: string;
  readonly #current: () => Policy;
  readonly #stands: Stands;
  #judged: { readonly policy: Policy; readonly requester: HttpRequester } | undefined;
  /** The one that was sent before, which the next one almost always is again. */
  #known = "";

  constructor(url: string, { current, stands }: { readonly current: () => Policy; readonly stands: Stands }) {
    this.#url = url;
    this.#origin = new URL(url).origin;
    this.#current = current;
    this.#stands = stands;
  }

  async request(request: HttpRequest): Promise<HttpReply> {
    if (request.url !== this.#known && new URL(request.url).origin !== this.#origin) throw this.#elsewhere(request.url);
    this.#known = request.url;
    return await this.#requester(this.#current()).request(request);
  }

  close(): void {
    this.#judged?.requester.close();
  }

  #requester(policy: Policy): HttpRequester {
    if (this.#judged?.policy === policy) return this.#judged.requester;
    this.close();
    this.#judged = undefined;
    judgeEndpoint(this.#url, policy);
    this.#stands(policy);
    const named: LookupFunction = (_host, { all }, answer) => {
      judgedAddresses(this.#url, policy).then(
        (found) => (all === true ? answer(null, [...found]) : answer(null, found[0]?.address ?? "", found[0]?.family)),
        (error: NodeJS.ErrnoException) => answer(error, ""),
      );
    };
    const requester = nodeRequester({ lookup: named });
    this.#judged = { policy, requester };
    return requester;
  }

  #elsewhere(url: string): LocalError {
    const text = `Denied. The server at ${this.#origin} leads to ${new URL(url).origin}, which its entry does not name.`;
    return new LocalError("REFUSED", text, { brief: text });
  }
}

/** What the host of a URL stands for. Rejects with REFUSED where the section `network` denies it. */
async function judgedAddresses(url: string | URL, policy: Policy): Promise<readonly LookupAddress[]> {
  judgeEndpoint(url, policy);
  const { hostname: host } = new URL(url);
  if (isIP(host.replace(/^\[|\]$/g, "")) !== 0) return [];
  const found = await lookup(host, { all: true });
  for (const { address } of found) judgeEndpoint(url, policy, address);
  return found;
}

/** @throws REFUSED where the section `network` denies the host of a URL, or an address that it stands for. */
function judgeEndpoint(url: string | URL, { network }: Policy, address?: string): void {
  const { hostname: host, port: given, protocol } = new URL(url);
  const port = given === "" ? (protocol === "https:" ? 443 : 80) : Number(given);
  const denied = deniedEndpoint(network, { host, port, ...(address === undefined ? {} : { address }) });
  if (denied === undefined) return;
  const place = denied.rule.line === undefined ? "" : ` (line ${denied.rule.line} of the policy)`;
  const text = `Denied. ${denied.reason} Rule: ${denied.rule.text}${place}.`;
  throw new LocalError("REFUSED", text, { brief: text });
}

/**
 * A fetch for what a server's login takes: its metadata, and whatever they name. Each request is judged by the section `network` as
 * those to the server are, by name and by each address, and is on record before it is sent. What is not on the internet is reached
 * at the URL of the entry and where the section names it, and nowhere else: a stranger wrote those metadata.
 */
export function loginFetch(
  { name, launch }: Pick<ServerGrant, "name" | "launch">,
  {
    current,
    record,
    stands,
  }: { readonly current: () => Policy; readonly record: Recorder; readonly stands?: Stands | undefined },
): Fetch {
  const home = launch.kind === "url" ? parseTarget(launch.url) : undefined;
  return async (url, init) => {
    const policy = current();
    const target = parseTarget(url);
    let decision: EgressDecision = { allowed: true, rule: `servers.${name}` };
    const decide: DecideEgress = (endpoint, address) => {
      const denied = deniedEndpoint(policy.network, {
        ...endpoint,
        ...(address === undefined ? {} : { address }),
      })?.rule;
      if (denied !== undefined) return (decision = { allowed: false, rule: denied.text, line: denied.line });
      const own = home?.scheme === endpoint.scheme && home.host === endpoint.host && home.port === endpoint.port;
      // A name that no endpoint allows may be of this machine all the same, as localhost is.
      const { allowed, allowPrivate } = policyEgress(() => policy)(endpoint, address);
      return { ...decision, allowPrivate: own || (allowed && allowPrivate === true) };
    };
    const { origin, pathname } = target.url;
    const about = {
      kind: "server.login" as const,
      server: name,
      detail: { method: init.method ?? "GET", url: origin + pathname },
    };
    try {
      stands?.(policy);
    } catch (error) {
      await record({ ...about, decision: { allowed: false, rule: `servers.${name}` }, outcome: "denied" });
      throw error;
    }
    const addresses = await resolveAllowed(target, decide, resolveBySystem).catch(async (error: unknown) => {
      if (!(error instanceof FetchError) || error.rule === undefined) throw error;
      const { rule, line } = decision.allowed ? { rule: error.rule, line: undefined } : decision;
      await record({ ...about, decision: { allowed: false, rule, line }, outcome: "denied" });
      const advice = decision.allowed ? ` If you mean it, add ${target.host} to network.allowed_endpoints.` : "";
      const text = `Denied. The login of ${name} leads to ${origin}. ${error.message}${advice}`;
      throw new LocalError("REFUSED", text, { brief: text });
    });
    await record({ ...about, decision });
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    return guardedFetch({ trusted: [target.url], lookup: () => Promise.resolve(found) })(url, init);
  };
}

/** The values of a server's variables or headers, secrets read now and known from now on to whatever is written down. */
export function filled(
  policy: Policy,
  { name }: Pick<ServerGrant, "name">,
  values: ReadonlyMap<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    [...values].map(([key, text]) => {
      const value = withSecrets(text, (secret) => valueOf(policy.secrets.get(secret)));
      if (value !== undefined) return [key, value];
      throw new LocalError(
        "NO_SECRET",
        `servers.${name}: the secret in ${key} cannot be read; set its variable or write its file`,
      );
    }),
  );
}

/** Before anything is started: a server without its secret would fail in its own words, much later. @throws NO_SECRET */
export function requireSecrets({ secrets }: Policy, grant: ServerGrant): void {
  for (const each of secretsOf(grant)) {
    const secret = secrets.get(each);
    const fault = secretFault(secret);
    if (fault === undefined) continue;
    const brief = `the secret ${each} cannot be read, which its owner has to mend`;
    throw new LocalError("NO_SECRET", `servers.${grant.name}: the secret ${each} cannot be read: ${fault}`, { brief });
  }
}

/** A key or a token: no file of more bytes is one. */
const MOST_SECRET_BYTES = 64 * 1024;

/** Why the value of a secret cannot be had, and what to do; undefined where it can. */
export function secretFault(secret: SecretPolicy | undefined): string | undefined {
  if (secret === undefined) return "the policy has no such secret; add it to secrets";
  const { from } = secret;
  if (from.kind === "env") {
    const given = process.env[from.name];
    return given ? undefined : `the variable ${from.name} is ${given === "" ? "empty" : "not set"} here; set it`;
  }
  const { path } = from;
  try {
    return readAtMost(path, MOST_SECRET_BYTES).trim() === "" ? `${path} is empty; write the value into it` : undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return `${path} is missing; write the value into it, or take the secret out of the entry`;
    if (error instanceof WrongKindError) return `${error.message}, and write the value there`;
    return code === undefined
      ? `${message}; name the file that holds the value alone`
      : `${path} cannot be opened (${code}); see to its rights`;
  }
}

/** Arguments with the secrets that they name; others see them in the list of processes, which is why a variable is better. */
export function filledArguments(policy: Policy, grant: Pick<ServerGrant, "name">, args: readonly string[]): string[] {
  return Object.values(filled(policy, grant, new Map(args.map((arg, at) => [`argument ${at + 1}`, arg]))));
}

function valueOf(secret: SecretPolicy | undefined): string | undefined {
  if (secret === undefined) return undefined;
  const { name, from } = secret;
  try {
    const value = from.kind === "env" ? process.env[from.name] : readAtMost(from.path, MOST_SECRET_BYTES).trim();
    if (value !== undefined) learnSecret(name, value);
    return value === "" ? undefined : value;
  } catch {
    return undefined;
  }
}
