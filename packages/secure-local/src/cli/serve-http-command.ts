// `mcp-secure-local serve`: serves AI clients over HTTP until it is told to stop.
import { lstatSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { type Entrance, type HttpServing, serveHttp, type ServeHttpOptions } from "@secure-local/mcp/http";
import { LocalError, type Server } from "@secure-local/mcp/server";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import type { AuditLog } from "../audit/audit-log.js";
import { OWNER } from "../audit/call-records.js";
import { readAtOnce } from "../audit/owned-files.js";
import { EntryJoiner, PolicyNames, tableRow } from "./audit-lines.js";
import { Metrics } from "../observe/metrics.js";
import { telemetry } from "../observe/open-telemetry.js";
import { loadPolicy } from "../policy/load-policy.js";
import { httpOptions, tokenLine, KnownPeople } from "../server/http-options.js";
import type { Policy } from "../policy/policy.js";
import { lockFileOf, serverLockFile } from "../server/plugin-lock.js";
import { followPolicyFile } from "../server/follow-policy-file.js";
import { httpRoom, LoadShedder, memoryLimit, MemoryMonitor } from "../server/load-shedder.js";
import { tuneEngine } from "../server/engine.js";
import { TaintBook } from "../guard/taints.js";
import { SecureServer } from "../server/secure-server.js";
import type { CommandLine } from "./command-line.js";
import { ControlDoor } from "./approval-channels.js";
import { auditKeeper, checkpointKeyFile, logPlaces, openAudit } from "./open-audit.js";
import { ownPlaces, pluginFolders, policyFile, programVersion, tokenFile } from "./settings.js";
import {
  bindsToLoopback,
  clusterPlace,
  clusterSettings,
  type ServeSettings,
  serveSettings,
  storedToken,
  unknownVariables,
} from "./serve-http-settings.js";
import { besidesOwner, followTokensFile, namedTokens } from "./named-tokens.js";
import type { ClusterOptions, OpenCluster } from "../cluster/open-cluster.js";
import { complain, ExitCode, print, printJson, styled } from "./terminal.js";
import { ATTACHED, ATTACHED_ANEW, attachSocket, openAttach, ProfileServers } from "./serve-profiles.js";
import { ServeError } from "./failure.js";
import { clientConfigPaths, moreClients, PACKAGE, section, SERVER } from "./client-files.js";
import { launch } from "./welcome.js";

/** Milliseconds from the signal to the end, whatever still runs: what supervisors wait before they kill. */
const DEADLINE_MS = 30_000;

type Common = ReturnType<ClusterOptions["common"]>;

/** Resolves when the server was told to stop and has. @throws UsageError, PolicyError, AuditError, ServeError */
export async function serveHttpCommand(line: CommandLine): Promise<number> {
  const settings = serveSettings(line);
  const file = policyFile(line);
  const policy = await loadPolicy(file, line.profile);
  const token = settings.auth ? storedToken(tokenFile()) : undefined;
  const people = new KnownPeople(settings.tokens === undefined ? [] : namedTokens(settings.tokens, token));
  const version = programVersion();
  const metrics = new Metrics(version);
  const onRefused = (): void => void (metrics.shed += 1);
  const gate = new LoadShedder({ watch: new MemoryMonitor({ limit: memoryLimit() }), onRefused });
  readyToSpeak();
  const door = new ControlDoor(say);
  const profile = [line.profile ?? ""];
  const common = (): Common => ({ ...commonOf(secure.policy), "--profile": profile, ...known(token, people) });
  const madeKey: MadeKey = {};
  const cluster = await joined(line, { common, local: door.channel, say }, madeKey);
  const { channel = door.channel, memory } = cluster ?? {};
  const audit = await openAudit(line, policy, say, cluster?.heads);
  const observed = {
    audit: metrics.listenTo(line.verbose ? new SpokenAudit(audit) : audit),
    telemetry: await telemetry(version, say),
  };
  const kept = { own: [...ownPlaces(line), ...logPlaces(line, policy)], ...pluginFolders() };
  const book = new TaintBook();
  const shared = { channel, memory, book, lifeOf: (name: string): string | undefined => people.lifeOf(name) };
  const given = { version, say, tellPrinted: line.verbose, ...kept, ...shared, ...observed, admit: gate.middleware };
  const secure = new SecureServer({ policy, ...given });
  const profiles = new ProfileServers(secure, (part) => new SecureServer({ policy: part, ...given }), say);
  metrics.plugins = () => secure.pluginHealth();
  if (cluster !== undefined) metrics.shared = { isUp: () => !cluster.away(), byRedis: () => secure.byLetters };
  tuneEngine();
  const parts = { settings, token, people, audit, secure, profiles, metrics, gate, cluster, book, madeKey };
  const serving = await begin(parts);
  const attached = await beginAttached(parts, attachSocket(file, line.profile));
  secure.start();
  await shareFrom(parts, { serving, attached, door });
  const adopt = auditKeeper(audit, line, { policy, say, heads: cluster?.heads });
  const told = { ownToken: token, serving, profiles, audit, say };
  const followed = [followPolicyFile(profiles, file, { say, adopt }), followTokensFile(people, settings.tokens, told)];
  door.open({ secure, servers: profiles, version, auditFile: audit.file, audit, transport: "http", url: serving.url });
  announce({ ...settings, json: line.json }, { serving, profiles: pathsOf(parts), people, policy }, token);
  const watching = line.console ? await watch(line) : undefined;
  await serving.closed;
  await watching?.close();
  await attached?.close();
  await door.close();
  for (const stop of followed) stop();
  metrics.close();
  return ended(parts);
}

/** A misspelt variable changes nothing, which nobody sees. */
function tellUnread(): void {
  const unread = unknownVariables();
  if (unread !== undefined) say(unread);
}

/** Of a server that nobody approved no client hears anything. */
async function tellWithheld(policy: Policy): Promise<void> {
  if (policy.servers.size === 0) return;
  const { withheldServers } = await import("./server-state.js");
  try {
    for (const { name, why } of withheldServers(policy))
      say(`the server ${name} is withheld: ${why}; look at it: mcp-secure-local servers review ${name}`);
  } catch {
    // What was approved cannot be read: that is said where it is mounted.
  }
}

/** Joins the other processes. Where that cannot be, nothing goes on: what listens, and what runs, would keep the process. */
async function shareFrom(
  parts: Parts,
  {
    serving,
    attached,
    door,
  }: { readonly serving: HttpServing; readonly attached: HttpServing | undefined; readonly door: ControlDoor },
): Promise<void> {
  const { cluster, audit, metrics } = parts;
  try {
    await cluster?.start(audit, () => metrics.text(serving.stats(), audit));
  } catch (error) {
    await Promise.all([serving.close(), attached?.close(), door.close()]);
    metrics.close();
    await closed(parts);
    throw error;
  }
}

/** Ends what calls, streams and records used, and with it the process. */
async function ended(parts: Parts): Promise<never> {
  await closed(parts);
  // A handler that does not listen to its signal must not keep the process from ending.
  process.exit(ExitCode.Ok);
}

async function closed({ secure, profiles, audit, cluster }: Parts): Promise<void> {
  await Promise.all([secure.stop(), profiles.stop()]);
  await audit.close();
  await cluster?.close();
}

/** The console for a person beside the server; any free port of this machine. */
async function watch(line: CommandLine): Promise<{ close(): Promise<void> }> {
  const { openConsole } = await import("./console-command.js");
  const open = await openConsole({ line, port: 0 });
  say(`the console is at ${open.address()} (one browser, once)`);
  return open;
}

/** Loaded where processes share, and nowhere else. */
async function joined(
  line: CommandLine,
  given: Pick<ClusterOptions, "common" | "local" | "say">,
  madeKey: MadeKey,
): Promise<OpenCluster | undefined> {
  const settings = clusterSettings(line);
  if (settings === undefined) return undefined;
  const { openCluster } = await import("../cluster/open-cluster.js");
  const { address } = settings;
  const made = (file: string): void => {
    madeKey.file = file;
    given.say(`made a new key at ${file}: copy it to the other machines`);
  };
  return openCluster({ ...clusterPlace(settings, made), ...given, address, auditKey: checkpointKeyFile() });
}

/** By what callers are known, which all processes have to have alike. */
export function known(token: string | undefined, people: KnownPeople): Record<string, readonly string[]> {
  const list = people.tokens.map(tokenLine);
  return { token: [token ?? ""], "list of people (--tokens)": list };
}

/** What of a policy all processes have to have alike: the file, and what was approved of plugins and servers. */
export function commonOf({ hash, file }: Policy): Record<string, readonly string[]> {
  return {
    policy: [hash],
    "lock (what was approved of plugins and servers)": file === undefined ? [""] : locksOf(file),
  };
}

/** Without a lock of servers there is only the other one to compare, as processes of older versions do. */
function locksOf(policyFile: string): readonly string[] {
  const servers = textOf(serverLockFile(policyFile));
  return [textOf(lockFileOf(policyFile)), ...(servers === "" ? [] : [servers])];
}

function textOf(lock: string): string {
  try {
    return readAtOnce(lock);
  } catch {
    return "";
  }
}

/** The file of a key that this start has made. */
interface MadeKey {
  file?: string;
}

/** A key of a process that was not let in is nobody's: copied to others that are there it would take theirs away. */
function withoutKey(file: string, error: unknown): unknown {
  if (!(error instanceof LocalError) || error.code !== "BAD_SHARE") return error;
  rmSync(file, { force: true });
  const mend = error.message.includes("has another key") ? ": copy theirs there" : "";
  const said = `${error.message}; the key that was made at ${file} is removed again${mend}`;
  return new LocalError("BAD_SHARE", said, { cause: error });
}

interface Parts {
  readonly madeKey: MadeKey;
  readonly cluster: OpenCluster | undefined;
  readonly settings: ServeSettings;
  readonly token: string | undefined;
  readonly people: KnownPeople;
  readonly audit: AuditLog;
  readonly secure: SecureServer;
  readonly profiles: ProfileServers;
  readonly metrics: Metrics;
  readonly gate: LoadShedder;
  readonly book: TaintBook;
}

async function begin(given: Parts): Promise<HttpServing> {
  const { settings, token, people, audit, secure, profiles, metrics, gate, cluster } = given;
  let serving: HttpServing | undefined;
  secure.starting();
  const { sse, perSecond, origins, publicHosts } = settings;
  const parts = {
    sse,
    perSecond,
    origins,
    publicHosts,
    token,
    people,
    audit,
    metrics,
    gate,
    say,
    serving: () => serving!,
  };
  const options = {
    ...httpOptions({ ...parts, allMetrics: cluster?.metrics, whyAway: cluster?.whyAway }),
    ...(cluster === undefined ? { servers: profiles.servers } : { share: cluster.share }),
  };
  if (cluster !== undefined && profiles.names.length > 0)
    say("profiles have no paths with --redis: serve each by --profile NAME, with a --prefix of its own");
  try {
    serving = await listen(secure.server, settings, options);
  } catch (error) {
    await audit.close();
    // Its connections would keep the process.
    await cluster?.close();
    throw given.madeKey.file === undefined ? error : withoutKey(given.madeKey.file, error);
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => drain(signal));
  return serving;
}

/** The profiles that have a path of their own. */
function pathsOf({ cluster, profiles }: Parts): readonly string[] {
  return cluster === undefined ? profiles.names : [];
}

/** The same servers at a socket of the owner's, who needs no token there; the rate of one caller is not limited there. */
function beginAttached({ secure, profiles, gate, book }: Parts, socket: string): Promise<HttpServing | undefined> {
  const authenticate = (head: Parameters<NonNullable<ServeHttpOptions["authenticate"]>>[0]): Entrance => {
    const refused = gate.refusal(head);
    if (refused !== undefined) return refused;
    const program = head.header(ATTACHED);
    if (program === undefined) return { identity: { principal: OWNER, scopes: [] } };
    book.meet(program, head.header(ATTACHED_ANEW) !== undefined);
    return { identity: { principal: OWNER, scopes: [], program } };
  };
  const options = { authenticate, servers: profiles.servers, limits: httpRoom(), pings: true } as const;
  const place = { host: "", port: 0, socketPath: socket };
  return openAttach(() => listen(secure.server, place, options), say);
}

/** The library has begun to drain at the same signal, and ends at once at a second one. */
function drain(signal: string): void {
  say(`${signal}: shutting down, what runs may finish; once more ends at once`);
  setTimeout(() => process.exit(ExitCode.Failed), DEADLINE_MS).unref();
}

function announce(
  settings: ServeSettings & { readonly json: boolean },
  {
    serving: { url },
    profiles,
    people,
    policy,
  }: {
    readonly serving: HttpServing;
    readonly profiles: readonly string[];
    readonly people: KnownPeople;
    readonly policy: Policy;
  },
  token: string | undefined,
): void {
  const { socketPath, sse, host, quiet, json, publicHosts } = settings;
  const { callers, readers } = people;
  const asked = token === undefined ? {} : { tokenFile: tokenFile() };
  const parts = Object.fromEntries(profiles.map((name) => [name, `${url}/${name}`]));
  const paths = profiles.length === 0 ? {} : { profiles: parts };
  if (json)
    return printJson({
      url,
      ...paths,
      ...(socketPath === undefined ? {} : { socket: socketPath }),
      ...asked,
      ...(callers.length === 0 ? {} : { people: callers }),
      ...(readers.length === 0 ? {} : { readers }),
    });
  const behind = publicHosts.map((name) => url.replace(/^https?:\/\/[^/]+/, `https://${name}`));
  if (!quiet)
    print(serveWelcome({ url, socketPath, token, tokenFile: tokenFile(), sse, behind, hasPeople: callers.length > 0 }));
  const besides = besidesOwner(people);
  if (besides !== undefined) say(besides);
  say(`serving at ${socketPath ?? url}`);
  void tellWithheld(policy);
  for (const [name, place] of Object.entries(parts)) say(`the profile ${name} at ${place}`);
  if (token === undefined) {
    const who = socketPath === undefined ? "every program on this machine" : "every program of yours";
    warn(`--no-auth: ${who} may call this server without a token`);
  }
  if (socketPath === undefined && !bindsToLoopback(host)) {
    warn(`${host} is reached from other machines, and the token goes there unencrypted: put a TLS proxy in front`);
  }
}

/** Says each call that has ended, and each that was refused, in a line on standard error. */
class SpokenAudit implements AuditSink {
  readonly #log: AuditSink;
  readonly #joiner = new EntryJoiner(false);
  readonly #names = new PolicyNames();

  constructor(log: AuditSink) {
    this.#log = log;
  }

  get failure(): Error | undefined {
    return this.#log.failure;
  }

  async record(event: AuditEvent): Promise<void> {
    await this.#log.record(event);
    const record = this.#names.named({ ...event, time: new Date().toISOString() });
    for (const entry of this.#joiner.take({ record, line: "", log: "" })) complain(tableRow(entry.record));
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}

/** A terminal or log that goes away must not take the server with it. Says first which variables nobody reads. */
function readyToSpeak(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  tellUnread();
}

function say(text: string): void {
  complain(`mcp-secure-local: ${text}`);
}

function warn(text: string): void {
  complain(styled("red", `mcp-secure-local: WARNING: ${text}`, "stderr"));
}

// Begins to listen, on a port or on a socket file for its owner only, and says in one line why that cannot be.

/** Everything but the owner's rights. */
const OWNER_ONLY = 0o177;

type Place = Pick<ServeSettings, "host" | "port" | "socketPath">;

/** @throws ServeError */
export async function listen(
  server: Server,
  { host, port, socketPath }: Place,
  options: ServeHttpOptions,
): Promise<HttpServing> {
  try {
    if (socketPath === undefined) return await serveHttp(server, { ...options, host, port });
    await removeDeadSocket(socketPath);
    return await forOwner(() => serveHttp(server, { ...options, socketPath }));
  } catch (error) {
    const reason = reasonOf(error as NodeJS.ErrnoException, { host, port, socketPath });
    throw reason === undefined ? error : new ServeError(reason, { cause: error });
  }
}

/** The socket file is made before the first wait in `begin`, and must never have had other rights. */
function forOwner<T>(begin: () => Promise<T>): Promise<T> {
  const before = process.umask(OWNER_ONLY);
  try {
    return begin();
  } finally {
    process.umask(before);
  }
}

/** A server that was killed leaves its socket file; nobody answers there. */
async function removeDeadSocket(path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSocket() && !(await answers(path))) rmSync(path, { force: true });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED"));
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException, { host, port, socketPath }: Place): string | undefined {
  // What processes share is at fault, and says what to change.
  if (code === "BAD_SHARE") return undefined;
  if (socketPath !== undefined) {
    if (code === "EADDRINUSE")
      return `${socketPath} is taken: stop the server that listens there, or name another --socket`;
    return code === undefined ? undefined : `the socket ${socketPath} cannot be made: ${message}`;
  }
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is taken: stop the program that listens there, or choose another with --port`;
    case "EACCES":
      return `port ${port} may not be listened on by you: choose one above 1023 with --port`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `this machine has no address ${host}: choose another with --host, such as 127.0.0.1`;
    default:
      return code === undefined ? undefined : `${host} port ${port} cannot be listened on: ${message}`;
  }
}

// What `serve` prints: where it serves, and for each client the configuration to paste.

export interface Served {
  /** As the library names it: `http://127.0.0.1:3333/mcp`. */
  readonly url: string;
  readonly socketPath: string | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string;
  readonly sse: boolean;
  /** Where it is reached by way of the proxies in front. Default: by none. */
  readonly behind?: readonly string[];
  /** Whether others call by tokens of their own. */
  readonly hasPeople?: boolean;
}

export function serveWelcome(
  served: Served,
  platform: string = process.platform,
  script: string = process.argv[1] ?? PACKAGE,
): string {
  const { token, tokenFile } = served;
  const kept =
    token === undefined
      ? []
      : [`Clients need the token in ${tokenFile}; whoever has it may call. To see it: cat ${quoted(tokenFile)}`];
  const clients =
    served.socketPath === undefined ? forPort(served, platform, script) : forSocket(served, served.socketPath);
  const own = served.hasPeople === true || (served.behind ?? []).length > 0 ? [...forOthers(served), ""] : [];
  const first = [styled("bold", `${PACKAGE} serves at ${urlOf(served)}`), ...others(served), ...kept, ""];
  return [...first, ...own, ...clients].join("\n");
}

/** For people with tokens of their own, and on other machines: what stands below is the owner's, on this one. */
function forOthers({ url, socketPath, behind = [], hasPeople = false, token }: Served): string[] {
  if (socketPath !== undefined && behind.length === 0) return [];
  const [place = onThisMachine(url)] = behind;
  const whose = hasPeople ? "a token of their own (--tokens)" : "the token";
  const what = token === undefined ? "" : `, with ${whose} in place of ${PLACEHOLDER}`;
  const header = token === undefined ? "" : ` --header "Authorization: Bearer ${PLACEHOLDER}"`;
  const where = behind.length === 0 ? "" : ` by the proxy in front, at ${behind.join(" or ")}`;
  return [
    `${hasPeople ? "Others reach it" : "From elsewhere it is reached"}${where}${what}. In Claude Code, for one:`,
    `claude mcp add --transport http ${SERVER} ${place}${header}`,
  ];
}

/** Nobody connects to an address that means every one: on this machine it is this machine. */
function onThisMachine(url: string): string {
  return url.replace(/^(https?:\/\/)(?:0\.0\.0\.0|\[::\])(?=[:/])/, "$1127.0.0.1");
}

function forPort(reached: Served, platform: string, script: string): string[] {
  const served = { ...reached, url: onThisMachine(reached.url) };
  const elsewhere =
    served.url === reached.url
      ? []
      : ["On other machines: the name of this one in place of 127.0.0.1, and https, by the proxy in front of it.", ""];
  const { desktop, cursor, code } = clientConfigPaths(platform);
  const entry = { type: "http", url: served.url, ...headersOf(served) };
  const mcpServers = JSON.stringify({ mcpServers: { [SERVER]: entry } }, null, 2);
  // It takes programs only, and drops entries of any other kind.
  const { command, args } = launch(script);
  const kept = served.token === undefined ? [] : ["--token-file", served.tokenFile];
  const bridge = { command, args: [...args, "bridge", served.url, ...kept] };
  // The shell reads the token, so that it stands neither on the screen nor in the history.
  const header =
    served.token === undefined ? "" : ` --header "Authorization: Bearer $(cat ${quoted(served.tokenFile)})"`;
  return [
    ...elsewhere,
    section("Claude Desktop", desktop),
    JSON.stringify({ mcpServers: { [SERVER]: bridge } }, null, 2),
    "",
    section("Claude Code", "in a terminal"),
    `claude mcp add --transport http ${SERVER} ${served.url}${header}`,
    "",
    section("Cursor", cursor),
    mcpServers,
    "",
    section("VS Code", code),
    JSON.stringify({ servers: { [SERVER]: entry } }, null, 2),
    "",
    ...moreClients({ url: served.url, headers: {}, ...headersOf(served) }).slice(0, -1),
  ];
}

/** Of the clients named elsewhere only VS Code connects to a socket file. */
function forSocket(served: Served, path: string): string[] {
  const entry = { type: "http", url: `unix://${path}#/mcp`, ...headersOf(served) };
  return [
    section("VS Code", clientConfigPaths(process.platform).code),
    JSON.stringify({ servers: { [SERVER]: entry } }, null, 2),
    "",
    section("Try it", "in a terminal"),
    `curl --unix-socket ${JSON.stringify(path)} http://localhost/healthz`,
  ];
}

function others(served: Served): string[] {
  if (served.socketPath !== undefined) return [];
  const { origin } = new URL(served.url);
  const sse = served.sse ? [`Clients of 2024-11-05 (HTTP+SSE): ${origin}/sse`] : [];
  return [...sse, `Health: ${origin}/healthz   Metrics: ${origin}/metrics`];
}

function urlOf({ url, socketPath }: Served): string {
  return socketPath === undefined ? url : `unix://${socketPath}#/mcp`;
}

function headersOf({ token }: Served): { headers?: Record<string, string> } {
  return token === undefined ? {} : { headers: { Authorization: `Bearer ${PLACEHOLDER}` } };
}

/** What is printed stays in a terminal's memory, and is shown to whoever looks over a shoulder. */
const PLACEHOLDER = "THE-TOKEN";

function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
