// The servers of the policy, mounted beside our own tools: as they were approved, started at the first call that needs them.
import type { Client, ClientOptions } from "@secure-local/mcp/client";
import type {
  BeforeCall,
  BeforeRead,
  Mounted,
  Mounts,
  Offer,
  RelayedItem,
  RelayedRequest,
  RelayedWords,
  RelayFailure,
} from "@secure-local/mcp/gateway";
import type { Call, Server } from "@secure-local/mcp/server";
import type { AuditEvent } from "../audit/audit-event.js";
import type { ServerWay } from "../guard/conclusion.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { Finding, Peer } from "@secure-local/inspection/finding";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import { decide, type Decision, deniedByEntry } from "../policy/decide.js";
import { MAX_TASK_TIMEOUT_S, type Policy, type ServerGrant } from "../policy/policy.js";
import type { LockedPlugin, PluginLock } from "./plugin-lock.js";
import { failureLines, mountedHealth, type ServerHealth, STOPPED, unmountedHealth } from "./server-health.js";
import { type MountedTool, mountedTool } from "./catalogue.js";
import { type AllWords, lazyWords, loadMounting, loadRelaying, type Mounting, type Relaying } from "./lazy-parts.js";
import type { LinkRules } from "./server-links.js";
import type { FindingsOf, Inspectable, KeptFindings, ServerReview } from "./server-reviews.js";
import { watchFile } from "./follow-policy-file.js";

/** Connects to one server, behind the wall or by the guarded fetch, and to no other than `launch` says that was approved. */
export type OpenServer = (grant: ServerGrant, options: ClientOptions, launch: unknown) => Promise<Client>;

export interface MountedServersOptions {
  readonly server: Server;
  readonly open: OpenServer;
  /** Asked right before a call of a tool is relayed, and before a resource or prompt is asked for. */
  readonly before: BeforeCall;
  readonly beforeRead: BeforeRead;
  /** Resolves when a question that is asked within a call may be passed on; rejects where it may not. */
  readonly mayAsk: (call: Call) => Promise<void>;
  /** What is offered, or withheld, is something else now. */
  readonly changed: () => void;
  readonly say: (line: string) => void;
  /** Writes a record; rejects where it cannot be kept. */
  readonly record: (event: AuditEvent) => Promise<void>;
  /** Folder for what was found in approved texts (undefined: it is found anew at each start), and the program's version. */
  readonly findings: { readonly folder: string | undefined; readonly version: string };
  /** URIs that are our own: those of servers are never called so. */
  readonly reserved: (uri: string) => boolean;
}

/** One server of the policy that is mounted. */
interface Standing {
  readonly grant: ServerGrant;
  readonly locked: LockedPlugin;
  /** The tools of the other servers, as they were approved, and what was found beside them in what was approved of this one. */
  peers: readonly Peer[];
  found: readonly Finding[];
  readonly mounted: Mounted;
  /** By kind and name outside, of tools and prompts: what is known of it, approved or withheld, by its own name. */
  names: ReadonlyMap<string, string>;
  /** By kind and its own name, and why. */
  withheld: ReadonlyMap<string, string>;
  /** Whether it would be started in another way than was approved. */
  launchChanged: boolean;
  /** All of the policy that its connections were opened by. */
  reach: string;
  /** Whether the policy in force has another entry of its name, or none: it is about to be taken away. */
  isLeaving: boolean;
  /** What each open connection does not list of what was approved. */
  readonly missing: Map<Client, ReadonlySet<string>>;
}

/** What is known while a policy is applied: what was approved of its servers, and what is found in it, once it is asked for. */
interface Applying {
  readonly approved: PluginLock;
  readonly beside: ReadonlyMap<string, Inspectable>;
  readonly findings: () => Promise<FindingsOf>;
}

/** A thing of a server as a client names it. */
interface Subject {
  readonly kind: "tool" | "prompt" | "resource";
  readonly name: string;
}

export class MountedServers {
  readonly #options: MountedServersOptions;
  readonly #standing = new Map<string, Standing>();
  /** The way of each call that went to a server, until its record is written. */
  readonly #hops = new WeakMap<Call, RelayedRequest>();
  readonly #lacking = new WeakMap<Client, readonly string[]>(); // What it may ask and its client did not declare.
  /** What a server's failure was in full, until the record of its call is written. */
  readonly #failures = new WeakMap<Call, string>();
  /** Why nothing was sent to a server for a call, until the record of it is written. */
  readonly #held = new WeakMap<Call, ServerWay["held"]>();
  /** Those that a person stopped, until they are started again. */
  readonly #stopped = new Set<string>();
  #mounts: Mounts | undefined;
  #mounting: Mounting | undefined;
  #relaying: Relaying | undefined;
  #kept: KeptFindings | undefined;
  #policy: Policy | undefined;
  #notes = new Map<string, string>();
  #applying: Promise<void> = Promise.resolve();
  #unwatch: () => void = () => undefined;

  constructor(options: MountedServersOptions) {
    this.#options = options;
  }

  /** Mounts what this policy names, and takes the rest away. Resolves when that is done. */
  apply(policy: Policy): Promise<void> {
    this.#policy = policy;
    this.#endWhatChanged(policy);
    if (policy.servers.size === 0 && this.#mounts === undefined) return Promise.resolve();
    this.#applying = this.#applying.then(() => this.#apply(policy)).catch((error: unknown) => this.#tell(error));
    return this.#applying;
  }

  /**
   * Ends at once what was opened by another reach than the policy gives now, before anything else is asked of it: it would keep files
   * and hosts that were taken back. The next call opens it anew.
   */
  #endWhatChanged(policy: Policy): void {
    for (const standing of this.#standing.values()) {
      const { sameGrant, serverReach } = this.#mounting as Mounting;
      const { name } = standing.grant;
      const grant = policy.servers.get(name);
      standing.isLeaving = !sameGrant(grant, standing.grant);
      const reach = grant && serverReach(policy, grant);
      if (reach === standing.reach) continue;
      standing.reach = reach ?? NOTHING;
      if (standing.mounted.state.state !== "stopped") this.#options.say(cleanLine(`server ${name}: ${REACH_CHANGED}`));
      void standing.mounted.restart();
    }
  }

  /** The server behind something that clients name, as it was approved, whether they may have it or not. */
  ownerOf(kind: Subject["kind"], name: string): Pick<Standing, "grant" | "locked"> | undefined {
    return this.#find({ kind, name })?.standing;
  }

  /**
   * The one decision about a thing of a server, before anything is started or sent for it, and before it is listed. `byName`: what the
   * policy says of its name outside. Undefined for what is no server's.
   */
  decision(policy: Policy, subject: Subject, byName: Decision): Decision | undefined {
    const found = this.#find(subject);
    if (found === undefined) return undefined;
    const { kind, name } = found.item;
    return this.#judge(policy, found.standing, { kind, name, shown: subject.name }, byName);
  }

  /** What became of a call on its way to its server, for the record of it: its caller is told less. */
  wayOf(call: Call): ServerWay {
    const [hop, failure, held] = [this.#hops.get(call), this.#failures.get(call), this.#held.get(call)];
    if (hop === undefined) return { failure, held };
    const { revision, transport, ids, sentAt, tookMs: ms } = hop;
    return {
      upstream: { revision, transport, ids: [...ids], sent: new Date(sentAt).toISOString(), ms },
      failure,
      held,
    };
  }

  #find({
    kind,
    name,
  }: Subject): { readonly standing: Standing; readonly item: Omit<RelayedItem, "shown"> } | undefined {
    if (kind === "resource") {
      const owner = this.#mounts?.resourceOf(name);
      const standing = owner && this.#standing.get(owner.server);
      if (owner === undefined || standing === undefined) return undefined;
      const { own } = owner;
      const isTemplate = [standing.withheld, standing.locked.approved].some((items) => items.has(`template ${own}`));
      return { standing, item: { kind: isTemplate ? "template" : "resource", name: own } };
    }
    for (const standing of this.#standing.values()) {
      const own = standing.names.get(`${kind} ${name}`);
      if (own !== undefined) return { standing, item: { kind, name: own } };
    }
    return undefined;
  }

  #judge(policy: Policy, standing: Standing, item: RelayedItem, byName: Decision): Decision {
    const { grant } = standing;
    const { kind, name: own, shown } = item;
    const decision = this.#byPolicy(policy, grant.name, item, byName);
    if (!decision.allowed) return decision;
    const denied = kind === "tool" ? deniedByEntry(grant, own) : undefined;
    if (denied !== undefined) return denied;
    const withheld = this.#withheldReason(standing, item);
    if (withheld === undefined) return decision;
    const rule = { text: approvalRule(grant.name) };
    return { allowed: false, rule, reason: `The ${kind} ${shown} is withheld: ${withheld}.`, withheld };
  }

  /** Denied is what a denial names under any of its names; what another server lists must not change that. */
  #byPolicy(policy: Policy, server: string, { kind, name: own, shown }: RelayedItem, byName: Decision): Decision {
    // Rules find a name that is too long by the whole of it too.
    if (kind === "tool" || kind === "prompt") return byName;
    const { decideUri, wrapUri } = this.#mounting as Mounting;
    return decideUri(policy, { shown, own, wrapped: wrapUri(server, own) });
  }

  /** Why a server may not be asked for something, as it would be started and as it was approved. */
  #withheldReason(standing: Standing, { kind, name: own }: Omit<RelayedItem, "shown">): string | undefined {
    const { grant, withheld, locked } = standing;
    if (this.#stopped.has(grant.name)) return `${STOPPED}; to start it: mcp-secure-local servers restart ${grant.name}`;
    if (this.#isLaunchChanged(standing)) return (this.#mounting as Mounting).launchReason(grant, locked.approved);
    if (standing.isLeaving) return ENTRY_CHANGED;
    const reason = withheld.get(`${kind} ${own}`);
    if (reason !== undefined || kind !== "resource" || locked.approved.has(`resource ${own}`)) return reason;
    return this.#unlistedReason(standing, own);
  }

  /** What is in no list: one that is withheld must not be had under another spelling, nor by a template that is. */
  #unlistedReason({ grant, withheld, locked }: Standing, own: string): string | undefined {
    const uris = [...withheld.keys()].filter((item) => /^(?:resource|template) /.test(item));
    if (uris.length === 0) return undefined;
    const templates = (uri: string): readonly string[] => (this.#mounts as Mounts).templatesOf(grant.name, uri);
    const alike = (this.#mounting as Mounting).alikeOf(own, uris, templates);
    if (alike !== undefined) return withheld.get(alike);
    if (templates(own).some((each) => locked.approved.has(`template ${each}`))) return undefined;
    return "it is in none of the lists that were approved, and something in them is withheld";
  }

  /** As it is now: files that were put back are found at the next look, and what was hidden for them is listed again. */
  #isLaunchChanged(standing: Standing): boolean {
    if (standing.launchChanged && !this.#launchChanged(standing.grant, standing.locked)) {
      standing.launchChanged = false;
      this.#changed(standing, []);
    }
    return standing.launchChanged;
  }

  #launchChanged(grant: ServerGrant, { approved }: LockedPlugin): boolean {
    return !(this.#mounting as Mounting).isAsApproved(grant, approved.get("launch"));
  }

  health(): readonly ServerHealth[] {
    const all = [...(this.#policy?.servers.values() ?? [])];
    return all.map((grant) => ({ ...this.#healthOf(grant), hasLogin: grant.login !== undefined }));
  }

  #healthOf(grant: ServerGrant): Omit<ServerHealth, "hasLogin"> {
    const standing = this.#standing.get(grant.name);
    if (standing === undefined || !grant.enabled) return unmountedHealth(grant, this.#notes.get(grant.name));
    const { dependsOnClient, isMissing } = this.#mounting as Mounting;
    const [isStopped, launchChanged] = [this.#stopped.has(grant.name), this.#isLaunchChanged(standing)];
    return mountedHealth({ ...standing, isStopped, launchChanged, dependsOnClient, isMissing }, grant);
  }

  /** Ends its processes, forgets what failed, and starts it: its state says how. False: there is no such server. */
  async restart(name: string): Promise<boolean> {
    const standing = this.#standing.get(name);
    if (standing === undefined) return false;
    const ended = standing.mounted.restart();
    this.#stopped.delete(name);
    standing.missing.clear();
    standing.withheld = this.#asApproved(standing).withheld;
    standing.launchChanged = this.#launchChanged(standing.grant, standing.locked);
    this.#rename(standing);
    this.#changed(standing, []);
    await ended;
    if (!standing.launchChanged) standing.mounted.start().catch(() => undefined);
    return true;
  }

  /** Ends its processes, and refuses its calls until it is started again. False: there is no such server. */
  async stop(name: string): Promise<boolean> {
    const standing = this.#standing.get(name);
    if (standing === undefined) return false;
    this.#stopped.add(name);
    this.#changed(standing, []);
    await standing.mounted.restart();
    return true;
  }

  /** The tools that are offered, as their servers describe them. */
  tools(): readonly MountedTool[] {
    return [...this.#standing].flatMap(([server, { mounted }]) =>
      (mounted.offer?.tools ?? []).map((tool) => this.#mountedTool(server, tool)),
    );
  }

  /** The tools that were approved and are allowed, whether their servers still offer them so or not. */
  approvedTools(policy: Policy): readonly MountedTool[] {
    return [...this.#standing].flatMap(([server, { grant, locked }]) =>
      (this.#mounting as Mounting)
        .approvedOffer(locked.approved)
        .tools.filter(({ name }) => deniedByEntry(grant, name) === undefined)
        .map((tool) => this.#mountedTool(server, tool))
        .filter(({ name }) => decide(policy, { kind: "tool", name }).allowed),
    );
  }

  #mountedTool(server: string, tool: Offer["tools"][number]): MountedTool {
    return mountedTool((this.#mounting as Mounting).mountedName(server, tool.name), server, tool);
  }

  /** Resolves when every process of theirs is gone. */
  async close(): Promise<void> {
    this.#unwatch();
    await this.#applying;
    await this.#mounts?.removeAll();
  }

  async #apply(policy: Policy): Promise<void> {
    const parts = (this.#mounting ??= await loadMounting());
    const { approvedServers, canonicalJson, sameGrant, serverLockFile } = parts;
    if (this.#mounts === undefined) {
      this.#mounts = new parts.Mounts(this.#options.server, this.#options.reserved);
      const { file } = policy;
      const changed = (): void => void (this.#policy === undefined ? undefined : this.apply(this.#policy));
      if (file !== undefined) this.#unwatch = watchFile(serverLockFile(file), { changed, say: this.#options.say });
    }
    const approved = approvedServers(policy);
    const textOf = (locked: LockedPlugin | undefined): string => canonicalJson([...(locked?.approved ?? [])]);
    for (const [name, { mounted, grant, locked }] of this.#standing) {
      if (sameGrant(policy.servers.get(name), grant) && textOf(approved.get(name)) === textOf(locked)) continue;
      this.#standing.delete(name);
      await mounted.remove();
    }
    // What is shown from here on is judged by the names of what is served now.
    parts.forgetOtherNames(policy, approved);
    this.#notes = new Map();
    const beside = parts.besideEachOther(policy, approved);
    let found: Promise<FindingsOf> | undefined;
    const findings = (): Promise<FindingsOf> => (found ??= this.#found(beside));
    for (const grant of policy.servers.values()) await this.#mount(policy, grant, { approved, beside, findings });
    this.#options.changed();
  }

  async #mount(policy: Policy, grant: ServerGrant, { approved, beside, findings }: Applying): Promise<void> {
    const { name } = grant;
    const { approvedOffer, canonicalJson } = this.#mounting as Mounting;
    const { peers = [] } = beside.get(name) ?? {};
    const known = this.#standing.get(name);
    if (known !== undefined) {
      if (canonicalJson(known.peers) !== canonicalJson(peers)) this.#meet(known, peers, await findings());
      return this.#show(policy, known);
    }
    if (!grant.enabled) return;
    const locked = approved.get(name);
    if (locked === undefined) {
      this.#notes.set(name, "nothing of it was approved yet");
      return;
    }
    const whole = approvedOffer(locked.approved);
    const found = (await findings()).get(name) as readonly Finding[];
    const review = this.#asApproved({ grant, locked, found });
    const standing: Omit<Standing, "mounted"> & { mounted?: Mounted } = {
      grant,
      locked,
      peers,
      found,
      names: new Map(),
      // What was approved is judged as it will be when it was started: lists must not show more before that.
      withheld: review.withheld,
      launchChanged: this.#launchChanged(grant, locked),
      reach: NOTHING,
      isLeaving: false,
      missing: new Map(),
    };
    this.#rename(standing);
    standing.mounted = await (this.#mounts as Mounts).mount(name, (options) => this.#open(name, options), {
      offer: approvedOffer(new Map()),
      known: whole,
      idleMs: grant.idleMs,
      timeoutMs: LONGEST_CALL_MS,
      asks: [...grant.mayAsk],
      onChanged: (client) => this.#compare(name, client),
      checkOutput: true,
      before: this.#options.before,
      beforeRead: this.#options.beforeRead,
      admit: (item, call) => this.#refusal(name, item, call),
      words: this.#words(grant),
      relayed: (request) => void this.#hops.set(request.call, request),
    });
    this.#standing.set(name, standing as Standing);
    const changed = standing.launchChanged && (this.#mounting as Mounting).launchReason(grant, locked.approved);
    this.#quarantined(name, changed ? [["all of it", changed]] : [...review.withheld], review.findings);
    this.#show(policy, standing as Standing);
  }

  /** Made once its server is opened, which loads what they take. */
  #words(grant: ServerGrant): RelayedWords {
    const { record, mayAsk } = this.#options;
    const failed = (failure: RelayFailure): undefined => this.#failed(failure);
    let made: AllWords | undefined;
    const words = (): AllWords | undefined =>
      (made ??= this.#relaying?.serverWords(grant, {
        record,
        mayAsk,
        failed,
        links: () => this.#linkRules(grant.name),
      }));
    return lazyWords(words, failed);
  }

  /** What was approved of a server, judged by itself. */
  #asApproved({ grant, locked, found }: Pick<Standing, "grant" | "locked" | "found">): ServerReview {
    const { approvedOffer, reviewServer } = this.#mounting as Mounting;
    const whole = approvedOffer(locked.approved);
    return reviewServer(grant, whole, { locked, launch: locked.approved.get("launch"), found });
  }

  #found(beside: ReadonlyMap<string, Inspectable>): Promise<FindingsOf> {
    const { folder, version } = this.#options.findings;
    this.#kept ??= new (this.#mounting as Mounting).KeptFindings(folder, version);
    return this.#kept.of(beside);
  }

  /** What stands beside a server is other things now, of which its texts may speak. */
  #meet(standing: Standing, peers: readonly Peer[], findings: FindingsOf): void {
    standing.found = findings.get(standing.grant.name) as readonly Finding[];
    standing.peers = peers;
    const { withheld } = this.#asApproved(standing);
    this.#withhold(standing, new Map([...standing.withheld, ...withheld]));
  }

  #linkRules(server: string): LinkRules {
    const { linkRules: rulesOf, unwrapUri, wrapUri } = this.#mounting as Mounting;
    const approved = this.#standing.get(server)?.locked.approved ?? new Map();
    const templatesOf = (own: string): readonly string[] => (this.#mounts as Mounts).templatesOf(server, own);
    return rulesOf(server, { unwrapUri, wrapUri, policy: this.#policy as Policy, approved, templatesOf });
  }

  /** Names outside of all that is known of a server; of two that are called alike the second has none. */
  #rename(standing: Pick<Standing, "grant" | "locked" | "withheld"> & { names: Standing["names"] }): void {
    const { mountedName } = this.#mounting as Mounting;
    const names = new Map<string, string>();
    for (const item of [...standing.locked.approved.keys(), ...standing.withheld.keys()]) {
      const [, kind = "", own = ""] = /^(tool|prompt) (.*)$/s.exec(item) ?? [];
      const shown = `${kind} ${mountedName(standing.grant.name, own)}`;
      if (kind !== "" && !names.has(shown)) names.set(shown, own);
    }
    standing.names = names;
  }

  /** What may be asked for, its texts cleaned as every answer is: lists come from the same decision as answers. */
  #visible(policy: Policy, standing: Standing): Offer {
    const { approvedOffer, mountedName, safeIcons } = this.#mounting as Mounting;
    const pictured = <T extends object>(thing: T): T => safeIcons(thing, policy);
    const { name: server } = standing.grant;
    const offer = approvedOffer(standing.locked.approved);
    const named = (kind: "tool" | "prompt", own: string): boolean => {
      const shown = mountedName(server, own);
      const byName = decide(policy, { kind, name: shown });
      return this.#judge(policy, standing, { kind, name: own, shown }, byName).allowed;
    };
    const readable = (kind: "resource" | "template", own: string): boolean =>
      this.#judge(policy, standing, { kind, name: own, shown: own }, decide(policy, { kind: "resource", uri: own }))
        .allowed;
    return cleanValue({
      ...offer,
      tools: offer.tools.filter(({ name }) => named("tool", name)).map(pictured),
      prompts: offer.prompts.filter(({ name }) => named("prompt", name)).map(pictured),
      resources: offer.resources.filter(({ uri }) => readable("resource", uri)).map(pictured),
      resourceTemplates: offer.resourceTemplates
        .filter(({ uriTemplate }) => readable("template", uriTemplate))
        .map(pictured),
    });
  }

  #show(policy: Policy, standing: Standing): void {
    standing.mounted.show(this.#visible(policy, standing));
  }

  /** A server that was started is compared with what was approved of it before anything is sent to it. */
  async #open(name: string, options: ClientOptions): Promise<Client> {
    const { notUsed } = this.#mounting as Mounting;
    // Nothing of what starting takes is loaded before a server is started.
    const { askable, requireSecrets, undeclared } = (this.#relaying ??= await loadRelaying());
    const standing = this.#standing.get(name);
    if (standing === undefined) throw new Error(`${name} is not mounted`);
    const { grant, locked } = standing;
    if (this.#launchChanged(grant, locked)) {
      standing.launchChanged = true;
      const reason = (this.#mounting as Mounting).launchReason(grant, locked.approved);
      this.#changed(standing, [["all of it", reason]]);
      throw new Error(`${name} was not started: ${reason}`);
    }
    if (this.#policy !== undefined) requireSecrets(this.#policy, grant);
    const launch = locked.approved.get("launch");
    const reach = (standing.reach = (this.#mounting as Mounting).serverReach(this.#policy as Policy, grant));
    // Nothing is started that is not on record.
    const detail = { launch: (this.#mounting as Mounting).launchDigest(launch) };
    await this.#options.record({ kind: "server.started", server: name, detail });
    const client = await this.#options.open(grant, askable(grant, options), launch);
    try {
      this.#lacking.set(client, undeclared(grant, options));
      await this.#compare(name, client);
      if (standing.reach !== reach) throw notUsed(name, REACH_CHANGED);
      void client.closed.then(() => standing.missing.delete(client));
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Holds what a connection lists now against what was approved. One that lists nothing is another thing for all we know. */
  async #compare(name: string, client: Client): Promise<void> {
    const { comparedOffer, offerInspection, reviewServer } = this.#mounting as Mounting;
    const reading = comparedOffer(name, client).catch(async (error: unknown) => {
      await client.close();
      throw error;
    });
    // What inspects is loaded meanwhile: once all was read, all is decided at once, by what stands beside it then.
    const [offer, inspected] = await Promise.all([reading, offerInspection()]);
    const standing = this.#standing.get(name);
    if (standing === undefined) return;
    const { grant, locked, peers } = standing;
    const [launch, lacking] = [locked.approved.get("launch"), this.#lacking.get(client) ?? []];
    const found = inspected(name, offer, peers);
    const review = reviewServer(grant, offer, { locked, launch, found, lacking });
    standing.missing.set(client, new Set(review.changes.flatMap(({ kind, item }) => (kind === "removed" ? item : []))));
    this.#withhold(standing, review.withheld);
  }

  /** A list may depend on what its reader can be asked: gone is what no connection lists. */
  #withhold(standing: Standing, found: ReadonlyMap<string, string>): void {
    const lists = [...standing.missing.values()];
    const withheld = new Map(
      [...found].filter(([item]) => lists.every((missing) => missing.has(item)) || !lists.at(-1)?.has(item)),
    );
    if (JSON.stringify([...standing.withheld]) === JSON.stringify([...withheld])) return;
    standing.withheld = withheld;
    this.#rename(standing);
    this.#changed(standing, withheld);
  }

  #changed(standing: Standing, withheld: Iterable<readonly [string, string]>): void {
    if (this.#policy !== undefined) this.#show(this.#policy, standing);
    const news = [...withheld].filter(([, reason]) => this.#mounting?.isMissing(reason) !== true);
    this.#quarantined(standing.grant.name, news);
    for (const [item, reason] of news)
      this.#options.say(cleanLine(`server ${standing.grant.name}: ${item} is withheld: ${reason}`));
    this.#options.changed();
  }

  /** What is withheld, on record: the items, and why. */
  #quarantined(
    server: string,
    withheld: readonly (readonly [string, string])[],
    findings: readonly Finding[] = [],
  ): void {
    if (withheld.length === 0) return;
    const places = findings.map(({ id, tier, kind, item, at, excerpt }) => ({ id, tier, kind, item, at, excerpt }));
    const detail = { withheld: Object.fromEntries(withheld), findings: places };
    this.#options
      .record({ kind: "server.quarantined", server, outcome: "denied", detail })
      .catch((error: unknown) => this.#tell(error));
  }

  /** For what the policy was asked about already: whether the server, as it is, may be spoken to about it. */
  #refusal(server: string, item: RelayedItem, call: Call | undefined): string | undefined {
    const standing = this.#standing.get(server);
    const reason = standing === undefined ? "its server is not mounted any more" : this.#withheldReason(standing, item);
    if (reason === undefined) return undefined;
    if (call !== undefined) this.#held.set(call, { rule: approvalRule(server), reason });
    return `Denied. The ${item.kind} ${item.shown} is withheld: ${reason}.`;
  }

  #failed({ call, server, error }: RelayFailure): undefined {
    this.#failures.set(call, error.message);
    for (const line of failureLines(server, error.message)) this.#options.say(line);
  }

  #tell(error: unknown): void {
    this.#options.say(cleanLine(`servers: ${error instanceof Error ? error.message : String(error)}`));
  }
}

/** What decides about whatever a server offers in another way than was approved. */
const approvalRule = (server: string): string => `approval of the server ${server}`;
const REACH_CHANGED = "the policy changed what it is started by; the next call starts it anew";
const ENTRY_CHANGED = "its entry in the policy is another one now, and takes effect in a moment; make the call again";
/** No policy gives a call more: its time limit ends the call, and the limits of the gateway do not come before it. */
const LONGEST_CALL_MS = MAX_TASK_TIMEOUT_S * 1_000;
/** Of a server that was not opened yet, or that the policy has no more. */
const NOTHING = "";
