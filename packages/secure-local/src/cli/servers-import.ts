// Brings the servers that clients are told of under the policy: each with what it has to read, and its secrets out of the file.
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { redactLaunch } from "../audit/event-text.js";
import { readAtOnce } from "../audit/owned-files.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { LocalError } from "@secure-local/mcp/client/node";
import { canonicalJson } from "@secure-local/inspection/drift";
import { type SecretEntry, type ServerEntry, withServer } from "../policy/edit-servers.js";
import { configFolder } from "../policy/own-places.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { withSecrets } from "../policy/read-servers.js";
import {
  type ClientEnvironment,
  clientEnvironment,
  type ConfigLocation,
  workspaceOf,
} from "@secure-local/mcp-tools/config-locations";
import { type ConfiguredServer, everyServer, targetFor } from "@secure-local/mcp-tools/configured-servers";
import { filled, filledArguments } from "../server/open-server.js";
import { dataOf, wantedPackage } from "../server/pinned-package.js";
import { learnSecret } from "../server/follow-policy-file.js";
import { readHeaders, readVariables, type Target } from "@secure-local/mcp-tools/target";
import { PACKAGE, SERVER, clientNamed } from "./client-files.js";
import { UsageError } from "./command-line.js";
import { editedPolicy } from "./edit-policy.js";
import { inOptions } from "./failure.js";
import { changeable, keptPlaces, readablePaths, wholePaths, withChangeable } from "./why-not.js";
import { decoded, isLikelySecret, isLikelySecretValue, likelySecretArguments, partsOfUrl } from "./likely-secrets.js";
import { agreesInTerminal, askInTerminal, askYesNo, complain, print, styled } from "./terminal.js";
import { writeInPlace, writeNewFile } from "./write-new-file.js";

/** A server as it will stand in the policy. */
export interface BroughtServer {
  readonly name: string;
  /** Its name in the client's file. */
  readonly was: string;
  readonly place: ConfigLocation;
  /** As `identityOf` has it. */
  readonly identity: string;
  /** The policy, or another client, has it. */
  readonly already: boolean;
  readonly entry: ServerEntry;
  readonly secrets: Readonly<Record<string, SecretEntry>>;
  /** Values that are to be kept in files of our own, by the file. */
  readonly values: ReadonlyMap<string, string>;
  /** Names of variables or headers whose values stand in the policy as they are. */
  readonly plain: readonly string[];
}

export interface ImportInto {
  readonly policy: Policy;
  readonly file: string;
  readonly yes: boolean;
  /** Nothing is printed and nobody is asked: without `yes` nothing is written. */
  readonly json: boolean;
  /** Starts each once before anything is written; those that do not come up stay where they are. Why, by name. */
  readonly tryOut?: (all: readonly BroughtServer[], into: ImportInto) => Promise<ReadonlyMap<string, string>>;
}

/** What came under the policy. */
interface Brought {
  /** The names that all of them have in the client's file, those that the policy had among them. */
  readonly names: readonly string[];
  /** The names that the same have in the policy. */
  readonly inPolicy: readonly string[];
  /** Those that are new, as `--json` shows them. */
  readonly servers: readonly {
    readonly name: string;
    readonly client: string;
    readonly launch: string;
    readonly reads: readonly string[];
    readonly secrets: readonly string[];
    readonly plain: readonly string[];
  }[];
  /** What stays where it is, each with the reason. */
  readonly leftOut: readonly string[];
  /** Those that are there already under another name or the same: `name` in the client's file, `as` in the policy. */
  readonly same: readonly { readonly name: string; readonly as: string }[];
}

/** What is going to come under the policy, written nowhere yet. */
export interface ImportPlan extends Brought {
  /** How many do not come up. */
  readonly failed: number;
  /** Writes all of it, secrets first: nothing that is read names a file that is not there. */
  write(): void;
}

/**
 * Writes the servers of a client, a file or everything on this machine into the policy. @returns undefined where a person did not
 * agree. @throws UsageError for a client nobody knows, PolicyError
 */
export async function importFrom(from: string | undefined, into: ImportInto): Promise<Brought | undefined> {
  const plan = await planImport(from, into);
  const { length } = plan.servers;
  if (length === 0) {
    if (!into.json) print("There is no server to bring under the policy that it does not have.");
    return plan;
  }
  const what = length === 1 ? "this server" : `these ${length} servers`;
  if (!(await agreed(into, `Write ${what} into ${into.file}?`))) return undefined;
  plan.write();
  return plan;
}

/** @throws UsageError for a client nobody knows, PolicyError */
export async function planImport(from: string | undefined, into: ImportInto): Promise<ImportPlan> {
  const leftOut: string[] = [];
  const listed = await serversToImport(from, into.policy, leftOut);
  const same = listed.filter(({ already }) => already).map(({ was, name }) => ({ name: was, as: name }));
  if (!into.json) {
    for (const each of leftOut) complain(each);
    for (const { name, as } of same) print(`${cleanLine(name)}: the same as ${as} of the policy`);
  }
  const asked: BroughtServer[] = [];
  for (const each of listed) {
    for (const [path, value] of each.values) learnSecret(basename(path), value);
    if (!into.json && !each.already) printImported(each);
    asked.push(each.already ? each : await withKeptPlaces(each, into));
  }
  const failed = (await into.tryOut?.(asked, into)) ?? new Map<string, string>();
  for (const [name, why] of failed) {
    const isRemote = asked.some((each) => each.name === name && each.entry.url !== undefined);
    const what = isRemote ? "cannot be reached" : "does not come up in its sandbox";
    const left = `${name} ${what}, so it stays where it is: ${why}`;
    leftOut.push(left);
    if (!into.json) complain(left);
  }
  const all = asked.filter(({ name }) => !failed.has(name));
  const found = all.filter(({ already }) => !already);
  if (!into.json) for (const { name, entry } of found) tellLeftData(name, entry);
  const text = await policyWith(found, into);
  const servers = found.map(({ name, place, entry, secrets, plain }) => ({
    name,
    client: place.client,
    launch: launchText(entry),
    reads: entry.filesystem?.readable_paths ?? [],
    secrets: Object.keys(secrets),
    plain,
  }));
  return {
    names: all.map(({ was }) => was),
    inPolicy: all.map(({ name }) => name),
    servers,
    leftOut,
    same,
    failed: failed.size,
    write() {
      if (found.length === 0) return;
      for (const { values } of found) for (const [path, value] of values) keepSecret(path, value);
      writeInPlace(into.file, text);
      if (!into.json) print(`${into.file} names ${servers.map(({ name }) => name).join(", ")} now.`);
    },
  };
}

/** The text of the policy with these servers. @throws UsageError for what would not load */
async function policyWith(found: readonly BroughtServer[], { file }: ImportInto): Promise<string> {
  return editedPolicy(file, (text) =>
    found.reduce((all, { name, entry, secrets }) => withServer(all, name, entry, secrets), text),
  );
}

/** Leave to change files is a person's to give, and never `--yes`: without one it is said which line gives it. */
async function withKeptPlaces(each: BroughtServer, into: ImportInto): Promise<BroughtServer> {
  const { name, entry } = each;
  const allowed: string[] = [];
  for (const place of keptPlaces(entry.env ?? {})) {
    const pattern = changeable(place);
    if (pattern === undefined || into.json) continue;
    const words = `${name} keeps what ${cleanLine(place.variable)} names in ${cleanLine(place.folder)}`;
    if (!into.yes && process.stdin.isTTY) {
      const question = `${words}: may it change ${cleanLine(pattern)}?`;
      if (await askInTerminal((ask) => askYesNo(ask, question, false))) allowed.push(pattern);
    } else
      print(`${words}, and may not change it. To let it: servers.${name}.filesystem.allowed_paths: ["${pattern}"]`);
  }
  if (allowed.length === 0) return each;
  return { ...each, entry: { ...entry, filesystem: withChangeable(entry.filesystem?.readable_paths ?? [], allowed) } };
}

async function agreed({ yes, json }: ImportInto, question: string): Promise<boolean> {
  if (yes) return true;
  if (json) return false;
  if (process.stdin.isTTY) return agreesInTerminal(question, false);
  complain("Nothing is written: read what stands above, then run it again with --yes.");
  return false;
}

async function serversToImport(from: string | undefined, policy: Policy, leftOut: string[]): Promise<BroughtServer[]> {
  const around = clientEnvironment();
  const client = from === undefined ? undefined : clientNamed(from);
  if (from !== undefined && client === undefined && !existsSync(from))
    throw new UsageError(`there is neither a client nor a file "${from}"; name one, as in servers import cursor`);
  const listed = await everyServer({ file: client === undefined ? from : undefined, around });
  const taken = new Set([...policy.servers.keys(), ...policy.plugins.load.keys()]);
  const imported: BroughtServer[] = [];
  for (const { name, place, found, problem } of listed) {
    // What a folder's file names comes from anybody: whoever means it names the file.
    if (client !== undefined ? place.client !== client : from === undefined && place.owner !== "user") continue;
    if (found === undefined && name === "") {
      // Without a server's name stands a file that cannot be read: nothing else is in what was named.
      if (from !== undefined) throw new UsageError(`${cleanLine(problem ?? place.path)}; mend it, then run this again`);
      leftOut.push(`the servers of ${place.client} are left out: ${cleanLine(problem ?? place.path)}`);
    } else if (found === undefined)
      leftOut.push(`${place.path}: "${cleanLine(name)}" is left out: ${cleanLine(problem ?? "")}`);
    else if (isOurs(found)) continue;
    else if (found.server.disabled)
      leftOut.push(`"${cleanLine(name)}" of ${place.client} is left out: it is disabled there`);
    else {
      const target = await targetOf(found, leftOut);
      if (target === undefined) continue;
      const kept = target.kind === "url" ? withoutCredentials(target) : target;
      if (kept === undefined) leftOut.push(`"${cleanLine(name)}" of ${place.client} is left out: ${SECRET_IN_URL}`);
      else imported.push(importedServer(found, withWholePaths(found.place, kept, around), { taken, policy, imported }));
    }
  }
  return imported;
}

/** Undefined for one that lacks something, as a variable that its file asks for: the others are brought all the same. */
async function targetOf(found: ConfiguredServer, leftOut: string[]): Promise<Target | undefined> {
  try {
    return await targetFor(found, { consent: () => Promise.resolve() });
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    const why = inOptions(error.message, { takes: () => false });
    leftOut.push(`"${cleanLine(found.server.name)}" of ${found.place.client} is left out: ${cleanLine(why)}`);
    return undefined;
  }
}

/** What a command names beside a file of a folder, or in the folder that it is started in, is named whole: the policy's servers start elsewhere. */
function withWholePaths(place: ConfigLocation, target: Target, around: ClientEnvironment): Target {
  if (target.kind === "url") return target;
  const folder = target.cwd ?? (place.owner === "user" ? undefined : workspaceOf(place, around));
  if (folder === undefined) return target;
  const [command = "", ...args] = wholePaths([target.command, ...target.args], folder);
  return { ...target, command, args };
}

function isOurs({ server }: ConfiguredServer): boolean {
  return (
    server.name === SERVER || [server.command ?? "", ...server.args].some((each) => basename(each).startsWith(PACKAGE))
  );
}

interface Around {
  readonly taken: Set<string>;
  readonly policy: Policy;
  readonly imported: readonly BroughtServer[];
}

const SECRET_IN_URL =
  "a secret stands in its address, which a policy shows to everybody; give it a header for that secret, if it takes one";

/**
 * A user and password of an address as the header that they are sent in, which is kept like every other secret. Undefined where a
 * secret stands elsewhere in the address, or the header is there already.
 */
function withoutCredentials(target: Extract<Target, { kind: "url" }>): typeof target | undefined {
  const url = new URL(target.url);
  const { username, password, hash } = url;
  if (partsOfUrl(url).some(([name, value]) => isLikelySecret(name, value))) return undefined;
  if (username === "" && password === "") return isLikelySecretValue(hash) ? undefined : target;
  if (Object.keys(target.headers).some((name) => name.toLowerCase() === "authorization")) return undefined;
  [url.username, url.password] = ["", ""];
  const basic = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64");
  return { ...target, url: url.href, headers: { ...target.headers, Authorization: `Basic ${basic}` } };
}

function importedServer(found: ConfiguredServer, target: Target, { taken, policy, imported }: Around): BroughtServer {
  const { server, place } = found;
  const known = new Set([...policy.secrets.keys(), ...imported.flatMap(({ secrets }) => Object.keys(secrets))]);
  const identity = identityAsRead(writtenServer(found, target, { name: server.name, known }));
  const before =
    [...policy.servers.values()].find((grant) => identityOfGrant(policy, grant) === identity) ??
    imported.find((each) => each.identity === identity);
  const name = before?.name ?? freeName(server.name, taken);
  taken.add(name);
  const about = { name, was: server.name, place, identity, already: before !== undefined };
  return { ...about, ...writtenServer(found, target, { name, known }) };
}

type Written = Pick<BroughtServer, "entry" | "secrets" | "values" | "plain">;

/** A server that a person names by a command line: what it may read is shown, and its secrets go where imported ones go. */
export interface AddedServer extends Written {
  readonly name: string;
}

/** Words of `--env` and `--header`: a variable without a value has that of this process, and is a secret whatever it looks like. */
export function addedServer(
  name: string,
  launch: readonly string[] | string,
  given: { readonly env: readonly string[]; readonly headers: readonly string[]; readonly policy: Policy },
): AddedServer {
  const { env: words, headers, policy } = given;
  if (typeof launch === "string" ? words.length > 0 : headers.length > 0)
    throw new UsageError("servers add takes --env for a command, and --header for a URL");
  const bare = words.filter((word) => !word.includes("="));
  for (const variable of bare) {
    if (process.env[variable] === undefined || process.env[variable] === "")
      throw new UsageError(
        `--env ${cleanLine(variable)}: it is not set here; set it, or write ${cleanLine(variable)}=VALUE`,
      );
  }
  const env = readVariables(words.map((word) => (word.includes("=") ? word : `${word}=${process.env[word]}`)));
  const [command = "", ...args] = typeof launch === "string" ? [] : wholePaths(launch, process.cwd());
  const target: Target =
    typeof launch === "string"
      ? addressOf(name, { kind: "url", url: launch, headers: readHeaders(headers) })
      : { kind: "command", command, args, env };
  const written = { server: { env: {}, headers: {} }, format: "" };
  const added = writtenServer(written, target, { name, known: new Set(policy.secrets.keys()), always: new Set(bare) });
  for (const [path, value] of added.values) learnSecret(basename(path), value);
  return { name, ...added };
}

/** @throws UsageError where a secret stands in it that no header takes */
function addressOf(name: string, target: Extract<Target, { kind: "url" }>): Target {
  if (!URL.canParse(target.url)) return target;
  const kept = withoutCredentials(target);
  if (kept === undefined) throw new UsageError(`servers add ${name}: ${SECRET_IN_URL}`);
  return kept;
}

/** A server as the policy will have it, its secrets by their names. */
function writtenServer(
  { server, format }: { readonly server: Pick<ConfiguredServer["server"], "env" | "headers">; readonly format: string },
  target: Target,
  given: { readonly name: string; readonly known: ReadonlySet<string>; readonly always?: ReadonlySet<string> },
): Written {
  const { name } = given;
  const hosts = target.kind === "url" ? [hostOf(target.url)] : [];
  const secrets = new Secrets(name, { ...given, hosts, format });
  if (target.kind === "url") {
    const entry = { url: target.url, headers: some(secrets.outOf(target.headers, server.headers)) };
    return { entry, secrets: secrets.entries, values: secrets.values, plain: secrets.plain };
  }
  const { command, args, env, cwd } = target;
  const plain = secrets.outOf(env, server.env);
  const entry = {
    command: [command, ...secrets.outOfArguments(args)],
    working_directory: cwd,
    env: some(plain),
    filesystem: some({ readable_paths: readablePaths({ command, args, env: plain, cwd }) }),
    network: fetched([command, ...args]),
  };
  return { entry, secrets: secrets.entries, values: secrets.values, plain: secrets.plain };
}

interface Launched {
  readonly started: string | readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
}

/** All that makes two servers different ones, secrets by their values: one account more is one server more. */
function identityOf({ started, env = {}, headers = {}, cwd = "" }: Launched): string {
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return canonicalJson({ started, env, headers: named, cwd });
}

/** As it will be once its secrets are read from where they are put. */
function identityAsRead({ entry, secrets, values }: Written): string {
  const valueOf = (name: string): string | undefined => {
    const [, kind, where = ""] = /^(env|file):([^]*)$/.exec(secrets[name]?.from ?? "") ?? [];
    return kind === "env" ? process.env[where] : values.get(where)?.trim();
  };
  const read = (text: string): string => withSecrets(text, valueOf) ?? text;
  const readAll = (texts: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, read(text)]));
  const { command, url = "", env, headers, working_directory: cwd } = entry;
  return identityOf({ started: command?.map(read) ?? url, env: readAll(env), headers: readAll(headers), cwd });
}

/** The same of a server that the policy has; undefined where a secret cannot be read: nobody knows then whether it is the same. */
function identityOfGrant(policy: Policy, grant: ServerGrant): string | undefined {
  const { launch, env, headers, workingDirectory: cwd } = grant;
  try {
    if (launch.kind === "url") return identityOf({ started: launch.url, headers: filled(policy, grant, headers) });
    const started = filledArguments(policy, grant, launch.command);
    return identityOf({ started, env: filled(policy, grant, env), cwd });
  } catch {
    return undefined;
  }
}

function some<T extends object>(values: T): T | undefined {
  return Object.values(values).every((each) => each === undefined) ? undefined : values;
}

/** As the policy wants names of servers, and not one that is there. */
function freeName(given: string, taken: ReadonlySet<string>): string {
  const letters = given.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^[^A-Za-z]+|_+$/g, "");
  const name = (letters === "" ? "server" : letters).slice(0, 28);
  for (let count = 1; ; count++) {
    const free = count === 1 ? name : `${name}-${count}`;
    if (!taken.has(free)) return free;
  }
}

function hostOf(url: string): SecretEntry["hosts"][number] {
  const { hostname, port, protocol } = new URL(url);
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  return number === 443 ? hostname : { host: hostname, ports: [number] };
}

/** Programs that fetch what they run. */
const REGISTRIES: Readonly<Record<string, readonly string[]>> = {
  npx: ["registry.npmjs.org"],
  uvx: ["pypi.org", "files.pythonhosted.org"],
};

/** Nothing for what is fetched once, before it is approved, and started from where it is kept. */
function fetched(command: readonly string[]): ServerEntry["network"] {
  if (wantedPackage(command) !== undefined) return undefined;
  const hosts = REGISTRIES[basename(command[0] ?? "").replace(/\.(?:cmd|exe)$/i, "")];
  return hosts && { allowed_endpoints: hosts.map((host) => ({ host })) };
}

/** A variable of a client's file that stands for one of the environment. */
const VARIABLE = /^(?:\$\{(?:env:)?([A-Za-z_]\w*)\}|\{env:([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*))$/;

/** Takes the secrets out of one server's variables, headers and arguments. */
class Secrets {
  readonly entries: Record<string, SecretEntry> = {};
  readonly values = new Map<string, string>();
  /** Names of variables and headers whose values are no secrets, as far as can be told. */
  readonly plain: string[] = [];
  readonly #server: string;
  readonly #hosts: SecretEntry["hosts"];
  readonly #format: string;
  /** Names that other servers' secrets have. */
  readonly #known: ReadonlySet<string>;
  /** Names of variables that are secrets, whatever they look like. */
  readonly #always: ReadonlySet<string>;

  constructor(
    server: string,
    given: {
      readonly hosts: SecretEntry["hosts"];
      readonly format: string;
      readonly known: ReadonlySet<string>;
      readonly always?: ReadonlySet<string>;
    },
  ) {
    this.#always = given.always ?? new Set();
    this.#server = server;
    this.#hosts = given.hosts;
    this.#format = given.format;
    this.#known = given.known;
  }

  outOf(
    values: Readonly<Record<string, string>>,
    written: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(values).map(([key, value]) => {
        const variable =
          this.#format === "zed"
            ? undefined
            : VARIABLE.exec(written[key] ?? "")
                ?.slice(1)
                .find(Boolean);
        if (variable !== undefined) return [key, this.#named(this.#nameOf(key), `env:${variable}`)];
        if (this.#always.has(key) || isLikelySecret(key, value)) return [key, this.#kept(key, value)];
        this.plain.push(key);
        return [key, value];
      }),
    );
  }

  outOfArguments(args: readonly string[]): string[] {
    const secrets = new Map(likelySecretArguments(args).map((each) => [each.at, each]));
    return args.map((arg, at) => {
      const secret = secrets.get(at);
      return secret === undefined ? arg : secret.before + this.#kept(secret.name, secret.value);
    });
  }

  #kept(key: string, value: string): string {
    const name = this.#nameOf(key, value);
    const path = secretFile(name);
    this.values.set(path, value);
    return this.#named(name, `file:${path}`);
  }

  #named(name: string, from: string): string {
    this.entries[name] = { from, hosts: this.#hosts };
    return `\${secret:${name}}`;
  }

  /** The name of another secret, or of a file that holds another value, is never taken: what was there would be lost. */
  #nameOf(key: string, value?: string): string {
    const plain = `${this.#server}_${key}`.toLowerCase().replace(/[^a-z0-9]+/g, "_");
    for (let count = 1; ; count++) {
      const name = count === 1 ? plain : `${plain}_${count}`;
      if (this.#known.has(name) || Object.hasOwn(this.entries, name)) continue;
      if (value === undefined || holdsNoOther(secretFile(name), value)) return name;
    }
  }
}

function secretFile(name: string): string {
  return join(configFolder(), "secrets", name);
}

function holdsNoOther(file: string, value: string): boolean {
  try {
    return readAtOnce(file) === value;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** One that is there already holds the same. */
export function keepSecret(path: string, value: string): void {
  const fault = writeNewFile(path, value, true);
  if (fault !== undefined) throw new UsageError(fault);
}

/** What a package kept beside its own program is not in the copy that it is started from now. */
export function tellLeftData(name: string, { command }: ServerEntry): void {
  const wanted = command === undefined ? undefined : wantedPackage(command);
  const files = wanted === undefined ? [] : dataOf(wanted);
  if (files.length === 0) return;
  complain(
    `${name} has kept data in its own package until now: ${cleanLine(files.join(", "))}. Behind the policy it starts from a ` +
      `copy that stays as it was approved, and begins without that. To go on with it, copy it into a folder of yours, tell ` +
      `${name} where it is by the variable (servers.${name}.env) or argument that its documentation names, and add that ` +
      `folder, as FOLDER/**, to servers.${name}.filesystem.allowed_paths.`,
  );
}

function printImported(each: BroughtServer): void {
  print(`${styled("bold", each.name)}  ${styled("dim", `from ${each.place.client}`)}`);
  print(`  ${launchText(each.entry)}`);
  printGranted(each);
}

/** What it may reach, and where its secrets are. */
export function printGranted({ name, entry, secrets, plain }: AddedServer): void {
  const hosts = entry.network?.allowed_endpoints ?? [];
  for (const path of entry.filesystem?.readable_paths ?? []) print(`  may read ${cleanLine(path)}`);
  if (entry.command !== undefined)
    print(`  may change no file; allow folders in the policy: servers.${name}.filesystem.allowed_paths`);
  for (const { host } of hosts) print(`  may reach ${host}, to fetch itself`);
  if (entry.command !== undefined)
    print(
      `  may reach no ${hosts.length === 0 ? "" : "other "}host; allow hosts in the policy: servers.${name}.network.allowed_endpoints`,
    );
  for (const [secret, { from }] of Object.entries(secrets)) print(`  secret ${secret}, from ${cleanLine(from)}`);
  if (plain.length === 0) return;
  const member = `servers.${name}.${entry.url === undefined ? "env" : "headers"}`;
  print(
    `  in plain: ${cleanLine(plain.join(", "))}. Is one of them a secret? Put its value into a file of yours, name that`,
  );
  print(
    `    in the policy, secrets: { NAME: { from: "file:PATH", hosts: [] } }, and write \${secret:NAME} in ${member}`,
  );
}

/** Fit to be shown: the values of secrets that were learned are not in it. */
function launchText({ url, command = [] }: ServerEntry): string {
  return cleanLine(redactLaunch(url ?? command.join(" ")));
}
