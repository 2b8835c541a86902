// Composes the product: the library's server, the guard around every request, and what the policy allows.
import type { Client, ClientOptions } from "@secure-local/mcp/client";
import type { RelayedCall, RelayedRead } from "@secure-local/mcp/gateway";
import { ErrorCode } from "@secure-local/mcp/jsonrpc";
import { type LoggingLevel, type Middleware, RpcError, Server, type ToolResult } from "@secure-local/mcp/server";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import { systemClock } from "../capabilities/clock.js";
import { leadsTo } from "../capabilities/files/leads-to.js";
import { checkPlaces, rememberOwnFiles } from "../capabilities/files/own-files.js";
import { rememberBases } from "../capabilities/files/bases.js";
import type { ApprovalChannel } from "../guard/approvals/approvals.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { CallerMemory, UsedLimit } from "../guard/rate-limits.js";
import type { LifeOf, TaintBook } from "../guard/taints.js";
import { Guard, type GuardOptions } from "../guard/guard.js";
import type { Telemetry } from "../observe/open-telemetry.js";
import type { PluginHealth } from "../plugins/plugin.js";
import type { SubjectKind } from "../guard/compiled-policy.js";
import { decide, goneWords } from "../policy/decide.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { hasControlGroups } from "../sandbox/control-group.js";
import {
  type AnyTool,
  catalogueOf,
  type CatalogueOptions,
  Menu,
  type MountedTool,
  unmetNeed,
  unwatchedSchemas,
} from "./catalogue.js";
import type { SharedPowers } from "../tools/tool.js";
import { ClientRegister, type HeardClient, readerOf } from "./asked-reads.js";
import {
  lazyDatabases,
  lazyFetch,
  lazyFileSystem,
  lazyLog,
  LazyPlugins,
  type LazyPluginsOptions,
  lazyRun,
} from "./lazy-parts.js";
import { missingOfPlugin, PluginGate } from "./plugin-gate.js";
import { executors } from "./executors.js";
import { MountedServers, type OpenServer } from "./mounted-servers.js";
import { type ServerHealth, ServerRests } from "./server-health.js";
import { Quarantines, refusedResult, Registrations } from "./registrations.js";
import type { PluginReview } from "./plugin-reviews.js";
import type { Logins } from "./open-server.js";
import type { ServerLog } from "./server-log.js";
import { rememberSecrets } from "./follow-policy-file.js";

export const SERVER_NAME = "mcp-secure-local";

const INSTRUCTIONS =
  'Tools of this machine behind a policy. A result that begins with "Denied." names the rule: tell the user, and do not look for a way around it.';

export interface SecureServerOptions {
  readonly policy: Policy;
  readonly audit: AuditSink;
  readonly version: string;
  /** Tools beside the built-in ones; the policy has to allow them like any other. */
  readonly tools?: readonly AnyTool[];
  /** Files and folders of the program's own that no tool may reach, beside the policy and the audit log it names. */
  readonly own?: readonly string[];
  /** Folder for what plugins keep between their starts; without it they keep nothing. Best one of `own`. */
  readonly storage?: string;
  /** Folder for the copies of plugins that are started; without it they last as long as the server. Best one of `own`. */
  readonly copies?: string;
  /** Folder for what servers of the policy say on their standard error; without it that is kept nowhere. Best one of `own`. */
  readonly logs?: string;
  /** Folder for what was found in the texts of servers that were approved; without it that is found anew at each start. Best one of `own`. */
  readonly findings?: string;
  /** Authorizes requests to servers whose entry has a login; without it they are reached without. */
  readonly logins?: Logins;
  /** Whether plugins that are not as they were approved are started too, to be looked at. Default: they are not. */
  readonly startUnapproved?: boolean;
  /** Whether plugins that start for each call are started once at the start, to see whether they can be. Default: they are not. */
  readonly tryPlugins?: boolean;
  /** Whether `say` is told too what plugins print in calls that do not fail. Default: it is not. */
  readonly tellPrinted?: boolean;
  /** Stands around the guard: sees every request, and what becomes of it; hears of sessions that are over. */
  readonly telemetry?: Telemetry | undefined;
  /** Stands before the guard: holds back calls, or refuses them, that there is no room for. */
  readonly admit?: Middleware;
  /** Where people are asked for consent whose client cannot ask them; without it such calls are refused. */
  readonly channel?: ApprovalChannel | undefined;
  /** What other processes of this server know of callers; without it this one is alone. */
  readonly memory?: CallerMemory | undefined;
  /** What callers without a session have read, shared with the other parts of the policy that this process serves. Default: its own. */
  readonly book?: TaintBook | undefined;
  /** Tells callers apart who have a name one after another. Default: only `endWorkOf` does. */
  readonly lifeOf?: LifeOf | undefined;
  /** Told, one line at a time, what only the operator should know. */
  readonly say?: Say;
  /** Connects to servers of the policy. Default: behind the wall, or by the guarded fetch. */
  readonly openServer?: OpenServer;
}

/** `about`: the line tells of a plugin, and the operator may know that in another way. */
type Say = (line: string, about?: "plugin") => void;

/** The server to serve, and the policy it obeys. */
export class SecureServer {
  readonly server: Server;
  /** Processes of this server that are reached through what they share alone. */
  byLetters = 0;
  readonly #audit: AuditSink;
  readonly #guard: Guard;
  readonly #offer: Registrations;
  readonly #catalogue: CatalogueOptions;
  readonly #plugins: LazyPlugins;
  readonly #servers: MountedServers;
  readonly #say: Say;
  readonly #kept: Pick<SecureServerOptions, "logs" | "logins">;
  readonly #quarantines = new Quarantines();
  readonly #menu: Menu;
  readonly #clients = new ClientRegister();
  readonly #rests = new ServerRests();
  /** What is there without plugins, or is allowed or not, waits for none of them. */
  readonly #gate = new PluginGate({
    knows: (kind, name) =>
      this.#offer.exists(kind, name) ||
      this.#servers.ownerOf(kind, name) !== undefined ||
      (kind === "resource" && (this.#offer.claims(name) || OWN_SCHEMES.test(name))),
    missing: (kind, name) => missingOfPlugin(kind, name, this.pluginHealth()),
  });
  readonly #own: readonly string[];
  #started = false;
  #serversReady: Promise<void> = Promise.resolve();

  constructor(options: SecureServerOptions) {
    const { policy, version, tools = [], own = [], say = () => undefined, channel, memory, book } = options;
    const audit = policy.profile === undefined ? options.audit : new ProfileAudit(options.audit, policy.profile.name);
    this.#audit = audit;
    [this.#say, this.#own] = [say, own];
    this.#menu = new Menu(say);
    const current = (): Policy => this.#guard.policy;
    const files = lazyFileSystem(current, own);
    const databases = lazyDatabases(current, own);
    const readLog = lazyLog(current, own);
    const run = lazyRun(current, own, (command, files, rule) =>
      this.#refusedInside(`command ${command}`, { kind: "sandbox.refused", detail: { files } }, rule),
    );
    const listed = (): readonly MountedTool[] => [...this.#offer.tools(), ...this.#servers.tools()];
    this.#catalogue = { identity: { name: SERVER_NAME, version }, tools, files, databases, run, readLog, listed };
    // What servers offer is not known yet: nobody is answered before it is.
    const catalogue = catalogueOf(policy, { ...this.#catalogue, shortMenu: false });
    const builtIn = { tools: [...catalogue.tools.keys()], prompts: [...catalogue.prompts.keys()] };
    this.#plugins = this.#lazyPlugins({
      own,
      storage: options.storage,
      copies: options.copies,
      startUnapproved: options.startUnapproved,
      tryPlugins: options.tryPlugins,
      tellPrinted: options.tellPrinted,
      builtIn,
      say,
    });
    this.server = new Server(this.#asServed(options));
    this.#remember(policy);
    this.#offer = new Registrations(this.server, {
      powers: this.#powers({ fetch: lazyFetch(current), files: files.files, databases }),
      catalogue,
      consent: (call) => this.#guard.consent(call),
      wouldAsk: (call) => this.#guard.wouldAsk(call),
      withdraw: (take) => this.#guard.withdraw(take),
    });
    this.#kept = options;
    this.#servers = this.#mountedServers(options);
    const shared = { channel, memory, book, lifeOf: options.lifeOf };
    this.#guard = new Guard({ policy, audit, ...this.#offered(), ...shared, leads: leadsTo });
    this.#updateOffer();
    this.#useMiddleware(options);
  }

  #asServed({ version, telemetry }: SecureServerOptions): ConstructorParameters<typeof Server>[0] {
    return {
      name: SERVER_NAME,
      version,
      instructions: INSTRUCTIONS,
      // A reload can fill a list that is empty now, and says so.
      capabilities: { expect: ["tools", "resources", "prompts"] },
      unlisted: (kind, name) => this.#menu.unlisted(kind, name) || this.#offer.unlisted(kind, name),
      tells: (uri, when) => this.#guard.mayHear(uri, when === "rejudged"),
      report: (level, message, details) => this.#reported(level, message, details),
      ...(telemetry === undefined ? {} : { onSessionEnd: telemetry.onSessionEnd }),
    };
  }

  /** What every request passes: the servers of the policy, telemetry, load shedding, the guard. */
  #useMiddleware({ policy, telemetry, admit }: SecureServerOptions): void {
    if (policy.profile !== undefined) this.server.use(namesGoneProfile(() => this.policy));
    this.server.use(this.#menu.middleware);
    if (policy.servers.size > 0) {
      // Nothing is started for that; whoever asks before it is done waits the moment.
      this.#serversReady = this.#servers.apply(policy);
      this.server.use(async (_call, next) => {
        await this.#serversReady;
        return next();
      });
    }
    this.server.use(this.#gate.middleware);
    if (telemetry !== undefined) this.server.use(telemetry.around);
    if (admit !== undefined) this.server.use(admit);
    this.server.use(this.#guard.middleware);
  }

  #powers(given: Pick<SharedPowers, "fetch" | "files" | "databases">): SharedPowers {
    return {
      ...given,
      clock: systemClock,
      acts: (act) => this.#guard.acts(act),
      watch: {
        reads: (ctx) => this.#guard.reads(ctx),
        sends: (ctx, hop) => this.#guard.sends(ctx, hop),
        sendingOver: (ctx) => this.#guard.sendingOver(ctx),
      },
    };
  }

  #mountedServers({ openServer: open, findings: folder, version }: SecureServerOptions): MountedServers {
    return new MountedServers({
      findings: { folder, version },
      server: this.server,
      open: open ?? ((grant, given, launch) => this.#openServer(grant, given, launch)),
      before: (call) => this.#beforeRelay(call),
      beforeRead: (read) => this.#beforeRead(read),
      changed: () => this.#updateOffer(),
      say: (line) => this.#say(line),
      mayAsk: (call) => this.#guard.mayAsk(call),
      record: (event) => this.#recordLabelled(event),
      reserved: (uri) => OWN_SCHEMES.test(uri) || RUN_SCHEMES.test(uri) || this.#offer.claims(uri),
    });
  }

  /** What the guard asks about what there is. */
  #offered(): Pick<
    GuardOptions,
    "exists" | "objection" | "readBy" | "outside" | "flow" | "serverOf" | "executor" | "wayOf" | "met"
  > {
    return {
      met: (call) => this.#clients.note(call),
      serverOf: ({ kind, name }) => this.#servers.ownerOf(kind, name)?.grant.name,
      executor: executors({
        pluginOf: (kind, name) => this.#offer.pluginOf(kind, name),
        contentOf: (plugin) => this.#plugins.contentOf(plugin),
        serverOf: (kind, name) => this.#servers.ownerOf(kind, name),
      }),
      wayOf: (call) => this.#servers.wayOf(call),
      exists: ({ kind, name }) => this.#offer.exists(kind, name),
      objection: (under, subject, byName) =>
        this.#servers.decision(under, subject, byName) ??
        (byName.allowed ? this.#offer.objection(under, subject) : undefined),
      // What a server of the policy offers is read by nobody else.
      readBy: (uri) => (this.#servers.ownerOf("resource", uri) === undefined ? readerOf(uri) : undefined),
      outside: (tool) => this.#offer.speaksForStrangers(tool),
      flow: (under, subject) => this.#offer.flow(under, subject),
    };
  }

  #lazyPlugins(
    given: Pick<
      LazyPluginsOptions,
      "own" | "storage" | "copies" | "startUnapproved" | "tryPlugins" | "tellPrinted" | "builtIn" | "say"
    >,
  ): LazyPlugins {
    return new LazyPlugins({
      ...given,
      acts: (act) => this.#guard.acts(act),
      audit: this.#audit,
      changed: () => this.#pluginsChanged(),
      locked: ({ kind, file, text }) => {
        this.#record({ kind, detail: kind === "lock.loaded" ? { file } : { file, reason: text } });
        this.#say(cleanLine(text));
      },
      refused: (plugin, endpoint, rule) => this.#refusedInside(plugin, { kind: "denied", detail: { endpoint } }, rule),
    });
  }

  /** The policy in force. */
  get policy(): Policy {
    return this.#guard.policy;
  }

  /** The tools the policy allows. */
  tools(): AnyTool[] {
    return this.#offer.tools();
  }

  /** What is known from the moment of the load on, before anything runs that could exchange a link or a value. */
  #remember(policy: Policy): void {
    checkPlaces(policy);
    rememberSecrets(policy, this.#say);
    rememberBases(policy);
    rememberOwnFiles(policy, this.#own);
  }

  /** Puts another policy in force: every request from now on is judged by it, and clients hear of lists that changed. */
  reload(policy: Policy): void {
    this.#remember(policy);
    this.#guard.swap(policy);
    if (this.#started) this.#startPlugins(policy);
    void this.#servers.apply(policy);
    this.#updateOffer();
    this.server.rejudgeSubscriptions();
    for (const uri of unwatchedSchemas(policy)) this.server.resourceUpdated(uri);
    this.#record({
      kind: "policy.loaded",
      detail: { file: policy.file, hash: policy.hash, ...wallOf(policy), tools: this.#toolNames() },
    });
    this.server.log("notice", { event: "reloaded", tools: this.#toolNames() }, "policy");
  }

  /** Notes that a policy was refused; the one in force stays. */
  reloadFailed(reason: string): void {
    this.#record({ kind: "policy.rejected", detail: { reason } });
    const data = { event: "rejected", reason: "The new policy has faults; the one before stays in force." };
    this.server.log("error", data, "policy");
  }

  /** Says that `start` will follow: whoever asks for what plugins offer waits for that. */
  starting(): void {
    for (const { enabled } of this.policy.plugins.load.values()) if (enabled) this.#gate.close();
  }

  /** Starts what the policy says has to run: its plugins. Whoever asks for what they offer waits until they have said what they are. */
  start(): void {
    this.#started = true;
    this.recordLife("start");
    this.#startPlugins(this.policy);
  }

  #startPlugins(policy: Policy): void {
    this.starting();
    void this.#plugins.apply(policy).then(() => this.#openGate());
  }

  #openGate(): void {
    if (this.#plugins.health().every(({ state }) => state !== "starting")) this.#gate.open();
  }

  /** Called before each request is judged: for one that is started by the first. */
  whenAsked(asked: () => void): void {
    this.#gate.asked = asked;
  }

  /** Resolves when the servers of the policy are mounted, as they were approved. None is started for that. */
  get serversReady(): Promise<void> {
    return this.#serversReady;
  }

  /** How each server of the policy is. */
  serverHealth(): readonly ServerHealth[] {
    return this.#servers.health().map((each) => this.#rests.of(each));
  }

  /** Ends the processes of a server of the policy, forgets what failed, and starts it. False: there is none of that name. */
  restartServer(name: string): Promise<boolean> {
    this.#rests.started(name);
    return this.#servers.restart(name);
  }

  /** Ends the processes of a server of the policy, and lets no call start it until `restartServer`. False: there is none of that name. */
  stopServer(name: string): Promise<boolean> {
    this.#rests.stopped(name);
    return this.#servers.stop(name);
  }

  /** Consents that are remembered, to be looked at and taken back. */
  get consents(): Pick<Guard["approvals"], "remembered" | "takeBack"> {
    return this.#guard.approvals;
  }

  /** The tools of the servers of the policy that are offered. */
  serverTools(): ReturnType<MountedServers["tools"]> {
    return this.#servers.tools();
  }

  /** Who has called since the start, and what each has used of its limits in the last minute. */
  clients(): readonly (HeardClient & { readonly profile: string; readonly limits: readonly UsedLimit[] })[] {
    const profile = this.policy.profile?.name ?? "";
    const limitsOf = ({ principal }: HeardClient): UsedLimit[] => this.#guard.limits(principal || undefined);
    return this.#clients.heard().map((each) => ({ ...each, profile, limits: limitsOf(each) }));
  }

  /** Ends what somebody began who may not call any more, says how much there was, and forgets the rest that is kept of them. */
  endWorkOf(principal: string): ReturnType<Server["endWorkOf"]> {
    this.#guard.end(principal);
    this.#clients.forget(principal);
    return this.server.endWorkOf(principal);
  }

  /** How each plugin is. */
  pluginHealth(): readonly PluginHealth[] {
    return this.#plugins.health();
  }

  /** What was found in what each plugin offers, and what is therefore not offered. */
  pluginReviews(): readonly PluginReview[] {
    return this.#plugins.reviews();
  }

  /** Resolves when every process started by it is gone. */
  async stop(): Promise<void> {
    this.recordLife("stop");
    this.#gate.open();
    await Promise.all([this.#plugins.close(), this.#servers.close()]);
  }

  /** Records that the server starts or stops, and under which policy. */
  recordLife(kind: "start" | "stop"): void {
    const { policy } = this;
    const { file, hash } = policy;
    const { version } = this.#catalogue.identity;
    this.#record({
      kind,
      detail: kind === "start" ? { version, policy: { file, hash, ...wallOf(policy) } } : undefined,
    });
  }

  #updateOffer(): void {
    const { policy } = this;
    this.#menu.adopt(policy, () => this.#menuTools(policy));
    const servers = { mountedOn: (kind: SubjectKind, name: string) => this.#servers.ownerOf(kind, name)?.grant.name };
    const given = { ...this.#catalogue, plugins: this.#plugins.offer(), servers, shortMenu: this.#menu.short };
    this.#offer.update(policy, catalogueOf(policy, given));
  }

  /** What could be called under a policy, whatever runs now: the menu must not change as servers and plugins come and go. */
  #menuTools(policy: Policy): readonly object[] {
    const own = [...catalogueOf(policy, { ...this.#catalogue, shortMenu: false }).tools.values()].filter(
      ({ name, needs }) => decide(policy, { kind: "tool", name }).allowed && unmetNeed(policy, needs) === undefined,
    );
    return [...own, ...this.#servers.approvedTools(policy)];
  }

  #recordLabelled(event: AuditEvent): Promise<void> {
    return this.#audit.record({ ...event, policy: this.policy.hash.slice(0, LABEL_DIGITS) });
  }

  async #openServer(grant: ServerGrant, given: ClientOptions, launch: unknown): Promise<Client> {
    const { openServer } = await import("./open-server.js");
    const { policy } = this;
    const log = await this.#serverLog(grant.name);
    const say = log && ((line: string): void => log.heard(line));
    try {
      const client = await openServer(
        grant,
        {
          ...{ policy, program: process.argv[1] ?? "", say, launch, logins: this.#kept.logins },
          current: () => this.policy,
          record: (event) => this.#recordLabelled(event),
        },
        given,
      );
      log?.add("started");
      void client.closed.then(() => this.#rests.ended(grant.name));
      void client.closed.then((reason) => log?.add(reason === undefined ? "stopped" : `ended: ${reason.message}`));
      return client;
    } catch (error) {
      log?.add(`could not be started: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  }

  async #serverLog(name: string): Promise<ServerLog | undefined> {
    const { file } = this.policy;
    const { logs } = this.#kept;
    if (logs === undefined || file === undefined) return undefined;
    const { ServerLog, serverLogFile } = await import("./server-log.js");
    return new ServerLog(logs, serverLogFile(logs, file, name), (line) => this.#say(cleanLine(line)));
  }

  /** The consent of a person, where the policy wants it, as for a tool of our own. */
  async #beforeRelay({
    tool: { name, annotations = {} },
    arguments: args,
    context,
  }: RelayedCall): Promise<ToolResult | undefined> {
    const destructive = annotations.destructiveHint !== false && annotations.readOnlyHint !== true;
    const refused = await this.#guard.consent({ ctx: context, tool: name, destructive, arguments: args });
    return refused && refusedResult(refused);
  }

  async #beforeRead({ kind, name, arguments: args, context: ctx }: RelayedRead): Promise<string | undefined> {
    const read = { kind, name };
    return (await this.#guard.consent({ ctx, tool: name, read, destructive: false, arguments: args }))?.text;
  }

  #pluginsChanged(): void {
    this.#updateOffer();
    this.#openGate();
    const plugins = this.#plugins.health().map(({ name, state, wall, content }) => ({ name, state, wall, content }));
    const detail = { plugins };
    this.#record({ kind: "plugins.changed", detail });
    const { events, lines } = this.#quarantines.news(this.#plugins.reviews());
    for (const event of events) this.#record(event);
    for (const line of lines) this.#say(cleanLine(line), "plugin");
  }

  #refusedInside(tool: string, what: Pick<AuditEvent, "kind" | "detail">, rule: string): void {
    const event: AuditEvent = { ...what, tool, decision: { allowed: false, rule } };
    this.#audit.record(event).catch((error: unknown) => this.#say(cleanLine(String(error))));
  }

  #toolNames(): string[] {
    return this.tools().map(({ name }) => name);
  }

  /** For events nobody waits for. */
  #record(event: AuditEvent): void {
    if (QUIET.has(this.policy.audit.level) && !ALWAYS.has(event.kind)) return;
    this.#audit.record(event).catch((error: unknown) => this.#say(cleanLine(String(error))));
  }

  #reported(level: LoggingLevel, message: string, details?: Readonly<Record<string, unknown>>): void {
    const errorId = details?.["errorId"];
    if (typeof errorId === "string") this.#guard.noteFault(errorId, details?.["error"]);
    const byLetters = details?.["byLetters"];
    if (typeof byLetters === "number") this.byLetters = byLetters;
    const isOfPeer = level === "warning" && byLetters !== undefined;
    if (level === "error" || isOfPeer) this.#say(cleanLine(message));
  }
}

/**
 * For a profile that was taken out of the policy while it is served: with it go its servers, and all that they offer. Around everything
 * else, since the guard says of these that they are unknown.
 */
function namesGoneProfile(current: () => Policy): Middleware {
  return async (_call, next) => {
    try {
      return await next();
    } catch (error) {
      const { profile } = current();
      if (profile?.gone !== true || !isUnknown(error)) throw error;
      throw new RpcError(error.code, goneWords(profile));
    }
  };
}

function isUnknown(error: unknown): error is RpcError {
  return error instanceof RpcError && error.code === ErrorCode.InvalidParams;
}

/** Puts the profile into every record of the server that serves it. */
class ProfileAudit implements AuditSink {
  readonly #log: AuditSink;
  readonly #profile: string;

  constructor(log: AuditSink, profile: string) {
    this.#log = log;
    this.#profile = profile;
  }

  get failure(): Error | undefined {
    return this.#log.failure;
  }

  record(event: AuditEvent): Promise<void> {
    return this.#log.record({ ...event, profile: this.#profile });
  }

  close(): Promise<void> {
    return this.#log.close();
  }
}

/** As calls name the policy in force. */
const LABEL_DIGITS = 12;

/** What begins so is ours, whether the policy lets it be seen or not. */
const OWN_SCHEMES = /^(?:server|git|db):/i;
/** What begins so is nobody's in a list: programs run or show it without asking. */
const RUN_SCHEMES = /^(?:about|blob|data|filesystem|javascript|jar|mhtml|vbscript):/i;

/** Levels that leave out what is neither a call, a denial nor a fault. */
const QUIET: ReadonlySet<Policy["audit"]["level"]> = new Set(["WARN", "ERROR"]);
const ALWAYS: ReadonlySet<AuditEvent["kind"]> = new Set(["policy.rejected", "lock.rejected", "plugins.quarantined"]);

/** That plugins and commands run without a wall, or without one of its limits, has to be on record. */
function wallOf({ sandbox, commands, plugins }: Policy): { readonly sandbox?: "none"; readonly unlimited?: string } {
  if (sandbox.mode === "none") return { sandbox: "none" };
  const starts = commands.allowed.size + plugins.load.size > 0;
  return starts && process.getuid?.() === 0 && !hasControlGroups()
    ? { unlimited: "sandbox.processes: the kernel counts none of root" }
    : {};
}
