// The servers of the policy, mounted beside our own tools: as they were approved, started at the first call that needs them.
import type { Client, ClientOptions } from "@secure-local/mcp/client";
import type { BeforeCall, Mounted, Mounts, MountState, Offer, RelayedRequest } from "@secure-local/mcp/gateway";
import type { Call, Server } from "@secure-local/mcp/server";
import type { UpstreamHop } from "../audit/audit-event.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import { decide, type Decision } from "../policy/decide.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import type { LockedPlugin, PluginLock } from "./plugin-lock.js";
import { watchFile } from "./watch-file.js";

/** Connects to one server, behind the wall or by the guarded fetch. */
export type OpenServer = (grant: ServerGrant, options: ClientOptions) => Promise<Client>;

export interface MountedServersOptions {
  readonly server: Server;
  readonly open: OpenServer;
  /** Asked right before a call of a tool is relayed. */
  readonly before: BeforeCall;
  /** What is offered, or withheld, is something else now. */
  readonly changed: () => void;
  readonly say: (line: string) => void;
}

/** How a server is: one vocabulary for every place that shows it. */
export interface ServerHealth {
  readonly name: string;
  /** `withheld`: nothing of it is offered until a person approved it. */
  readonly state: MountState["state"] | "withheld" | "needs login" | "disabled";
  readonly tools: number;
  /** Why it is as it is; empty where there is nothing to say. */
  readonly cause: string;
  /** What to do about it; empty where nothing is to be done. */
  readonly remedy: string;
}

/** What mounting takes, loaded with the first policy that names a server: most name none, and all want to start fast. */
async function loadParts() {
  const [gateway, items, reviews, drift] = await Promise.all([
    import("@secure-local/mcp/gateway"),
    import("./server-items.js"),
    import("./server-reviews.js"),
    import("../inspection/drift.js"),
  ]);
  const { approvedServers, reviewServer, serverLockFile } = reviews;
  const { approvedOffer, serverLaunch } = items;
  const { Mounts, mountedName, readOffer } = gateway;
  const { canonicalJson } = drift;
  return {
    Mounts,
    approvedOffer,
    approvedServers,
    canonicalJson,
    mountedName,
    serverLaunch,
    readOffer,
    reviewServer,
    serverLockFile,
  };
}

type Parts = Awaited<ReturnType<typeof loadParts>>;

/** One server of the policy that is mounted. */
interface Standing {
  readonly grant: ServerGrant;
  readonly locked: LockedPlugin;
  readonly mounted: Mounted;
  /** All that was approved: by kind and name outside, and its own. */
  readonly names: ReadonlyMap<string, string>;
  /** By kind and its own name, and why. */
  withheld: ReadonlyMap<string, string>;
}

/** What an item of a server is called outside, by its kind and name: as the gateway names it. */
function outside({ mountedName }: Parts, server: string, item: string): string {
  const [kind = "", ...name] = item.split(" ");
  return kind === "tool" || kind === "prompt" ? `${kind} ${mountedName(server, name.join(" "))}` : item;
}

export class MountedServers {
  readonly #options: MountedServersOptions;
  readonly #standing = new Map<string, Standing>();
  /** The way of each call that went to a server, until its record is written. */
  readonly #hops = new WeakMap<Call, RelayedRequest>();
  #mounts: Mounts | undefined;
  #parts: Parts | undefined;
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
    if (policy.servers.size === 0 && this.#mounts === undefined) return Promise.resolve();
    this.#applying = this.#applying.then(() => this.#apply(policy)).catch((error: unknown) => this.#tell(error));
    return this.#applying;
  }

  /** The server behind something that clients see. */
  ownerOf(kind: "tool" | "prompt" | "resource", name: string): string | undefined {
    return this.#mounts?.ownerOf(kind, name) ?? this.#approvedBy(`${kind} ${name}`);
  }

  /** The way a call took to its server; undefined for one that reached none. */
  upstreamOf(call: Call): UpstreamHop | undefined {
    const hop = this.#hops.get(call);
    if (hop === undefined) return undefined;
    const { revision, transport, ids, sentAt, tookMs: ms } = hop;
    return { revision, transport, ids: [...ids], sent: new Date(sentAt).toISOString(), ms };
  }

  /** What was approved and the policy does not let be seen is there all the same, and denied. */
  #approvedBy(item: string): string | undefined {
    for (const [server, { names, withheld }] of this.#standing) {
      const own = names.get(item);
      if (own !== undefined && !withheld.has(own)) return server;
    }
    return undefined;
  }

  /** What is withheld, by kind and name outside, and why. */
  withheld(): ReadonlyMap<string, string> {
    const all = new Map<string, string>();
    for (const [name, { withheld }] of this.#standing) {
      for (const [item, reason] of withheld) all.set(outside(this.#parts as Parts, name, item), reason);
    }
    return all;
  }

  health(): readonly ServerHealth[] {
    return [...(this.#policy?.servers.values() ?? [])].map((grant) => this.#healthOf(grant));
  }

  #healthOf({ name, enabled }: ServerGrant): ServerHealth {
    if (!enabled) return { name, state: "disabled", tools: 0, cause: "the policy says enabled: false", remedy: "" };
    const standing = this.#standing.get(name);
    const review = `mcp-secure-local servers review ${name}`;
    if (standing === undefined) {
      return { name, state: "withheld", tools: 0, cause: this.#notes.get(name) ?? "it is not mounted", remedy: review };
    }
    const { mounted, withheld } = standing;
    const tools = mounted.offer?.tools.length ?? 0;
    const { state, cause, code } = mounted.state;
    if (code === "UNAUTHORIZED" || code?.startsWith("AUTH_") === true)
      return { name, state: "needs login", tools, cause: cause ?? "", remedy: LOGIN };
    if (cause !== undefined) return { name, state, tools, cause, remedy: `mcp-secure-local servers logs ${name}` };
    if (withheld.size === 0) return { name, state, tools, cause: "", remedy: "" };
    const changed = `${withheld.size} withheld, since they are not as they were approved`;
    return { name, state: tools === 0 ? "withheld" : state, tools, cause: changed, remedy: review };
  }

  /** Ends its processes; the next call starts it anew. False: there is no such server. */
  async restart(name: string): Promise<boolean> {
    const standing = this.#standing.get(name);
    await standing?.mounted.restart();
    return standing !== undefined;
  }

  /** What the entry of a server denies of its own tools; undefined where it denies nothing. */
  denial(tool: string): Decision | undefined {
    for (const { grant, names } of this.#standing.values()) {
      const own = names.get(`tool ${tool}`);
      if (own !== undefined) return deniedByEntry(grant, own.slice("tool ".length));
    }
    return undefined;
  }

  /** The tools that are offered, as their servers describe them. */
  tools(): readonly { readonly name: string; readonly description: string; readonly input: object }[] {
    return [...this.#standing].flatMap(([server, { mounted }]) =>
      (mounted.offer?.tools ?? []).map(({ name, description = "", inputSchema }) => ({
        name: (this.#parts as Parts).mountedName(server, name),
        description,
        input: inputSchema,
      })),
    );
  }

  /** Resolves when every process of theirs is gone. */
  async close(): Promise<void> {
    this.#unwatch();
    await this.#applying;
    await this.#mounts?.removeAll();
  }

  async #apply(policy: Policy): Promise<void> {
    const parts = (this.#parts ??= await loadParts());
    const { approvedServers, canonicalJson, serverLockFile } = parts;
    if (this.#mounts === undefined) {
      this.#mounts = new parts.Mounts(this.#options.server);
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
    this.#notes = new Map();
    for (const grant of policy.servers.values()) await this.#mount(policy, grant, approved);
    this.#options.changed();
  }

  async #mount(policy: Policy, grant: ServerGrant, approved: PluginLock): Promise<void> {
    const { name } = grant;
    const known = this.#standing.get(name);
    if (known !== undefined) return this.#show(policy, known);
    if (!grant.enabled) return;
    const locked = approved.get(name);
    if (locked === undefined) {
      this.#notes.set(name, "nothing of it was approved yet");
      return;
    }
    const { canonicalJson, serverLaunch } = this.#parts as Parts;
    const asApproved = canonicalJson(serverLaunch(grant)) === canonicalJson(locked.approved.get("launch"));
    const withheld = new Map<string, string>(
      asApproved ? [] : [...locked.approved.keys()].map((item) => [item, LAUNCH]),
    );
    const mounted = await (this.#mounts as Mounts).mount(name, (options) => this.#open(name, options), {
      offer: this.#visible(policy, grant, { locked, withheld }),
      idleMs: grant.idleMs,
      before: this.#options.before,
      admit: (kind, item) => this.#objection(kind, item),
      relayed: (request) => void this.#hops.set(request.call, request),
    });
    const parts = this.#parts as Parts;
    const names = new Map([...locked.approved.keys()].map((item) => [outside(parts, name, item), item]));
    this.#standing.set(name, { grant, locked, mounted, names, withheld });
  }

  /** What the policy lets be seen of what was approved, its texts cleaned as every answer is. */
  #visible(
    policy: Policy,
    { name, deniedTools }: ServerGrant,
    { locked, withheld }: Pick<Standing, "locked" | "withheld">,
  ): Offer {
    const offer = (this.#parts as Parts).approvedOffer(locked.approved, withheld);
    const { mountedName } = this.#parts as Parts;
    // A name that is too long is shown shorter: rules hold for what is shown, and denials for the whole of it too.
    const allows = (kind: "tool" | "prompt", own: string): boolean =>
      [mountedName(name, own), `${name}__${own}`].every((each) => decide(policy, { kind, name: each }).allowed);
    const readable = (uri: string): boolean => decide(policy, { kind: "resource", uri }).allowed;
    return cleanValue({
      ...offer,
      tools: offer.tools.filter((tool) => allows("tool", tool.name) && deniedTools.find(tool.name) === undefined),
      prompts: offer.prompts.filter((prompt) => allows("prompt", prompt.name)),
      resources: offer.resources.filter(({ uri }) => readable(uri)),
      resourceTemplates: offer.resourceTemplates.filter(({ uriTemplate }) => readable(uriTemplate)),
    });
  }

  #show(policy: Policy, standing: Standing): void {
    standing.mounted.show(this.#visible(policy, standing.grant, standing));
  }

  /** A server that was started is compared with what was approved of it before anything is sent to it. */
  async #open(name: string, options: ClientOptions): Promise<Client> {
    const { readOffer, reviewServer } = this.#parts as Parts;
    const standing = this.#standing.get(name);
    if (standing === undefined) throw new Error(`${name} is not mounted`);
    const client = await this.#options.open(standing.grant, options);
    try {
      const review = reviewServer(standing.grant, await readOffer(client), { locked: standing.locked });
      // A list may depend on what its reader can be asked: what is missing here is only not there for this one.
      const gone = new Set(review.changes.filter(({ kind }) => kind === "removed").map(({ item }) => item));
      const withheld = new Map([...review.withheld].filter(([item]) => !gone.has(item)));
      this.#withhold(standing, withheld);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  #withhold(standing: Standing, withheld: ReadonlyMap<string, string>): void {
    const before = JSON.stringify([...standing.withheld]);
    if (before === JSON.stringify([...withheld])) return;
    standing.withheld = withheld;
    if (this.#policy !== undefined) this.#show(this.#policy, standing);
    for (const [item, reason] of withheld)
      this.#options.say(cleanLine(`server ${standing.grant.name}: ${item} is withheld: ${reason}`));
    this.#options.changed();
  }

  #objection(kind: "tool" | "prompt" | "resource", name: string): string | undefined {
    const reason = this.withheld().get(`${kind} ${name}`);
    return reason === undefined ? undefined : `Denied. The ${kind} ${name} is withheld: ${reason}.`;
  }

  #tell(error: unknown): void {
    this.#options.say(cleanLine(`servers: ${error instanceof Error ? error.message : String(error)}`));
  }
}

/** What the entry of a server says of one of its tools. */
export function deniedByEntry(grant: ServerGrant, own: string): Decision | undefined {
  const rule = grant.deniedTools.find(own);
  if (rule === undefined) return undefined;
  return { allowed: false, rule, reason: `The entry of the server ${grant.name} denies its tool "${own}".` };
}

const LOGIN = "give its entry a header with a secret that the server takes";
const LAUNCH = "it is not as it was approved (launch was changed)";

/** A changed entry is another server: its connections end. */
function sameGrant(now: ServerGrant | undefined, before: ServerGrant): boolean {
  if (now === undefined) return false;
  const text = ({ rule: _, env, headers, ...rest }: ServerGrant): string =>
    JSON.stringify({ ...rest, env: [...env], headers: [...headers] });
  return text(now) === text(before);
}
