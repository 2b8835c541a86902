// A server into which other servers are mounted: it offers what they offer, to clients of every revision, by relaying.
import { checkOptions } from "../protocol/capabilities.js";
import type { MembersOf } from "../schema/schema.js";
import type { Client } from "../client/client.js";
import type { ClientOptions } from "../client/options.js";
import type { Subscription } from "../client/subscriptions.js";
import { pause } from "../jsonrpc/outgoing.js";
import { LocalError } from "../jsonrpc/errors.js";
import { watchNumbers } from "../jsonrpc/exact-numbers.js";
import type { Implementation } from "../protocol/capabilities.js";
import type { ServerCore } from "../server/core.js";
import type { ListHints } from "../server/lists.js";
import { coreOf, type ServerOptions } from "../server/lean-server.js";
import type { ResourceReader } from "../server/resources.js";
import { Server } from "../server/server.js";
import { Connections, type OpenUpstream, type Sharing } from "./connections.js";
import { type BeforeCall, type BeforeRead, Mount } from "./mount.js";
import type { Admit, RelayedRequest, RelayedWords } from "./relay.js";
import type { MountState } from "./told.js";
import { Uris, checkMountName, prefixOf } from "./uris.js";
import { checkOffer, leastOf, type Offer, readOffer } from "./offer.js";

/** How a server is mounted. */
export interface MountOptions {
  /**
   * What stands before the names of its tools and prompts. Default: the name of the mount and `__`; `""` leaves them as they are,
   * for a server that is mounted alone. Of two that clash the first is shown.
   */
  readonly prefix?: string;
  /**
   * Which calls share a connection to it. Default `user`: all sessions of one principal; of callers without one, those of each session
   * or pipe, and where there is neither, those of each program by its name and version. Principals never share one, nor do callers that
   * can be asked different things, nor sessions with roots. Without effect for a client that is connected already.
   */
  readonly sharing?: Sharing;
  /** What its server may ask callers: nothing else is declared to it in their name. Default: all that they can be asked. */
  readonly asks?: readonly ("elicitation" | "sampling" | "roots")[];
  /** What it offers, where that is known: nothing is opened before the first call then, and nothing is listed. */
  readonly offer?: Offer;
  /**
   * All it may be asked for, whether it is offered now or not: what its URIs are called outside, and whose an unlisted one is, depends
   * on this alone and not on what is shown at the moment. Default: what it offers.
   */
  readonly known?: Offer;
  /** With `offer`: told when the server says that its lists changed. News of a second is merged, and one is told after the other. */
  readonly onChanged?: (client: Client) => Promise<void>;
  /** Milliseconds after which a connection nobody uses is closed. Default: never. */
  readonly idleMs?: number;
  /** Milliseconds a call may take without progress; in all it may take an hour, or this where it is longer. Default 600,000. */
  readonly timeoutMs?: number;
  /** Asked about each call of a tool before anything is opened for it; an answer it gives is the call's, and nothing is sent. */
  readonly before?: BeforeCall;
  /** The same before a resource is read or a prompt filled; a sentence it gives refuses the request, and nothing is sent. */
  readonly beforeRead?: BeforeRead;
  /**
   * Asked about everything that goes to the server: before a connection is opened for it, and right before it is sent. A sentence it
   * gives refuses the request.
   */
  readonly admit?: Admit;
  /**
   * Whether structured content is held against the output schema of its tool, and a call refused whose result is something else. Default:
   * no, its reader may do so: no schema of a stranger is compiled then. A schema that cannot be read is held against nothing.
   */
  readonly checkOutput?: boolean;
  /** Stands between what the server says and its caller: questions, answers, errors, its log. Default: all passes as it is. */
  readonly words?: RelayedWords;
  /** Told of each request that was sent to the server, and again when it is over: what a record of both hops needs. */
  readonly relayed?: (request: RelayedRequest) => void;
}

const MOUNT_MEMBERS: MembersOf<MountOptions> = {
  prefix: "text",
  sharing: ["=user", "=session", "=call"],
  asks: "texts",
  offer: "object",
  known: "object",
  onChanged: "function",
  idleMs: "ms",
  timeoutMs: "ms",
  before: "function",
  beforeRead: "function",
  admit: "function",
  checkOutput: "flag",
  words: "object",
  relayed: "function",
};

/** A server that was mounted. */
export interface Mounted {
  readonly name: string;
  /** What it offers now. */
  readonly offer: Offer | undefined;
  /** Connections open to it. */
  readonly connections: number;
  /** How it is, as far as its connections show it. */
  readonly state: MountState;
  /** Offers this instead, from now on. */
  show(offer: Offer): void;
  /** Reads its lists again, and shows what they hold. Rejects as requests do; then what was shown stays. */
  refresh(): Promise<void>;
  /** Closes its connections and forgets what failed: the next call connects anew. Calls under way end. Never rejects. */
  restart(): Promise<void>;
  /** Connects now rather than with the next call, where nothing is open. Rejects as requests do. */
  start(): Promise<void>;
  /** Takes it away: its things are gone from the lists, its connections are closed. Never rejects. */
  remove(): Promise<void>;
}

/** Clients are told of changes ten times a second at most, however often upstreams speak of them. */
const CHANGES_MS = 100;
/** Comparing lists with what was approved takes longer than showing them. */
const COMPARED_MS = 1_000;
/** An upstream may take this long over a call without progress: people are asked, and models think. */
const TIMEOUT_MS = 600_000;

/** Mounts servers into a server that is there already: what a `Gateway` does for itself. */
export class Mounts {
  readonly #server: Server;
  readonly #identity: Implementation;
  readonly #mounts = new Map<string, MountedUpstream>();
  readonly #uris: Uris<Mount>;
  /** What may be kept of the lists where nothing is mounted, and of the server's own in those with others. */
  readonly #none: ListHints;
  readonly #ownHints: ListHints;

  /**
   * `reserved`: URIs that are the server's own; those of mounted servers are never called so. `ownTtlMs`: how long lists may be kept, as
   * far as the server's own things go; default: as the server says.
   */
  constructor(server: Server, reserved: (uri: string) => boolean = () => false, ownTtlMs?: number) {
    const core = coreOf(server);
    this.#none = core.listHints;
    this.#ownHints = ownTtlMs === undefined ? core.listHints : { ...core.listHints, ttlMs: ownTtlMs };
    watchNumbers();
    this.#uris = new Uris(() => this.#shown(), reserved);
    this.#server = server;
    const { name, version } = core.identity;
    this.#identity = { name, version };
    const unlisted = (uri: string): ReturnType<ResourceReader["unlisted"]> => {
      const owner = this.#uris.ownerOf(uri);
      return owner?.mount.unlisted(owner.own);
    };
    if (core.offers !== undefined) core.offers.reader.unlisted = unlisted;
  }

  /** Those there are, by name. */
  get all(): ReadonlyMap<string, Mounted> {
    return this.#mounts;
  }

  /** The mount behind a tool or prompt that clients see; undefined for what is the server's own, or nobody's. */
  ownerOf(kind: "tool" | "prompt", name: string): string | undefined {
    for (const { mount } of this.#mounts.values()) if (mount.has(kind, name)) return mount.name;
    return undefined;
  }

  /** The mount that a URI, or a template, leads to, and its own name for it; undefined for what leads to none. */
  resourceOf(uri: string): { readonly server: string; readonly own: string } | undefined {
    const owner = this.#uris.ownerOf(uri);
    return owner && { server: owner.mount.name, own: owner.own };
  }

  /** The templates of a mounted server, by their own names, that one of its own URIs fits. */
  templatesOf(server: string, own: string): readonly string[] {
    return this.#uris.templatesOf((mount) => mount.name === server, own);
  }

  /** See `Gateway.mount`. */
  async mount(name: string, upstream: Client | OpenUpstream, options: MountOptions = {}): Promise<Mounted> {
    checkMountName(name);
    checkOptions("mount(name, upstream, options)", options, MOUNT_MEMBERS);
    checkUpstream(upstream);
    for (const each of ["offer", "known"] as const)
      if (options[each] !== undefined) checkOffer(`mount(name, upstream, { ${each} }): the ${each}`, options[each]);
    if (this.#mounts.has(name)) {
      throw new LocalError("DUPLICATE", `There is a server mounted as ${name} already: choose another name`);
    }
    const parts = { name, upstream, options, identity: this.#identity, uris: this.#uris };
    const mounted = new MountedUpstream(this.#server, parts);
    this.#mounts.set(name, mounted);
    mounted.onRemoved = () => {
      this.#mounts.delete(name);
      this.#changed();
      this.#keep();
    };
    mounted.onUris = () => this.#changed(mounted);
    mounted.onShown = () => this.#keep();
    try {
      if (options.offer === undefined) await mounted.refresh();
      else mounted.show(options.offer);
      return mounted;
    } catch (error) {
      await mounted.remove();
      throw error;
    }
  }

  /** Takes every mounted server away and closes what was opened for it. Never rejects. */
  async removeAll(): Promise<void> {
    await Promise.all([...this.#mounts.values()].map((mounted) => mounted.remove()));
  }

  *#shown(): Iterable<Mount> {
    for (const { mount } of this.#mounts.values()) yield mount;
  }

  /** Lists that are shown as one may be kept as long, and by whom, as the strictest of them. */
  #keep(): void {
    const core = coreOf(this.#server);
    let hints: ListHints | undefined;
    for (const { offer } of this.#mounts.values())
      if (offer !== undefined) hints = leastOf(hints ?? this.#ownHints, offer.hints);
    hints ??= this.#none;
    const { ttlMs, cacheScope } = core.listHints;
    if (hints.ttlMs !== ttlMs || hints.cacheScope !== cacheScope) core.listHints = hints;
  }

  /** A server that came, went or changed may share URIs with others: their names outside change with it. */
  #changed(changed?: MountedUpstream): void {
    this.#uris.outdated();
    for (const mounted of this.#mounts.values()) if (mounted !== changed) mounted.mount.refresh();
  }
}

/**
 * A server that serves other servers besides what is registered with it. Give it to `serveStdio`, `serveHttp`, `toFetch` or
 * `connectInMemory` like any other. Middleware stands around relayed calls too.
 */
export class Gateway extends Server {
  readonly #mounts: Mounts;

  /** As for a `Server`, but for `listTtlMs`: default is what the mounted servers say of their lists. */
  constructor(options: ServerOptions) {
    super(options);
    // Nothing but what is mounted is in most of them.
    this.#mounts = new Mounts(this, undefined, options.listTtlMs ?? Number.MAX_SAFE_INTEGER);
  }

  /** The servers that are mounted, by name. */
  get mounts(): ReadonlyMap<string, Mounted> {
    return this.#mounts.all;
  }

  /**
   * Mounts a server: a client that is connected, or a function that connects one. The function is given options to add to its own,
   * and is called once for each user and for each set of things a caller can be asked; only so can the server ask them. A
   * client stays its owner's to close. Resolves when its lists were read; rejects if they could not be, and then nothing is
   * mounted. Throws BAD_NAME, DUPLICATE, INVALID_TARGET, and BAD_OPTIONS for a member that does not exist.
   */
  mount(name: string, upstream: Client | OpenUpstream, options: MountOptions = {}): Promise<Mounted> {
    return this.#mounts.mount(name, upstream, options);
  }

  /** Takes every mounted server away and closes what was opened for it. Never rejects. */
  unmountAll(): Promise<void> {
    return this.#mounts.removeAll();
  }
}

function checkUpstream(upstream: unknown): void {
  const { call } = Object(upstream) as Partial<Client>;
  if (typeof upstream === "function" || typeof call === "function") return;
  const what = "mount(name, upstream) takes a function that connects, as in (options) => connect(target, options)";
  throw new LocalError("INVALID_TARGET", `${what}, or a client that is connected`);
}

/** What the function of a mount made. Rejects with INVALID_TARGET where that is no client. */
async function connected(name: string, upstream: OpenUpstream, options: ClientOptions): Promise<Client> {
  const made: unknown = await upstream(options);
  const { call, tool } = Object(made) as { readonly call?: unknown; readonly tool?: unknown };
  if (typeof call === "function") return made as Client;
  const gave = typeof tool === "function" ? "a server" : made === undefined ? "nothing" : typeof made;
  const what = `The function that was mounted as ${name} has to return a client, and returned ${gave}`;
  const text = `${what}: write (options) => connect(target, options), with no braces, or with return in them`;
  throw new LocalError("INVALID_TARGET", text, { brief: "it is mounted by a function that gives no client" });
}

interface MountedParts {
  readonly name: string;
  readonly upstream: Client | OpenUpstream;
  readonly options: MountOptions;
  readonly identity: Implementation;
  readonly uris: Uris<Mount>;
}

/** A mounted server with its connections, kept up as it changes. */
class MountedUpstream implements Mounted {
  readonly name: string;
  readonly mount: Mount;
  onRemoved: () => void = () => undefined;
  /** It offers something else. */
  onShown: () => void = () => undefined;
  /** Its URIs are others. */
  onUris: () => void = () => undefined;
  readonly #connections: Connections;
  readonly #core: ServerCore;
  #isGone = false;
  /** What is heard of changes: one for each connection that is open. */
  readonly #followed = new Set<Subscription>();
  readonly #uris: Uris<Mount>;
  #reading: Promise<void> | undefined;
  /** What it offers is its owner's to say: nothing is listed. */
  readonly #fixed: boolean;
  readonly #onChanged: MountOptions["onChanged"];
  readonly #warn: (text: string) => void;

  constructor(server: Server, { name, upstream, options, identity, uris }: MountedParts) {
    const core = coreOf(server);
    const { tasks } = core;
    this.name = name;
    this.#core = core;
    this.#uris = uris;
    this.#fixed = options.offer !== undefined;
    this.#onChanged = options.onChanged;
    this.#warn = (text) => core.report("warning", text);
    this.#connections = new Connections({
      name,
      upstream: typeof upstream === "function" ? (given) => connected(name, upstream, given) : upstream,
      identity,
      sharing: options.sharing ?? "user",
      asks: options.asks,
      idleMs: options.idleMs,
      onOpened: (client) => void this.#follow(client),
      live: (session) => core.sessions?.of(session),
      judged: options.words?.question !== undefined,
      onUnclaimed: () => this.#warn(unclaimed(name)),
    });
    this.mount = new Mount({
      name,
      prefix: options.prefix ?? prefixOf(name),
      core,
      connections: this.#connections,
      uris,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      known: options.known,
      checkOutput: options.checkOutput,
      before: options.before,
      beforeRead: options.beforeRead,
      admit: options.admit,
      words: options.words,
      relayed: options.relayed,
      enableTasks: () => tasks?.enable(),
      warn: this.#warn,
    });
  }

  get offer(): Offer | undefined {
    return this.mount.offer;
  }

  get connections(): number {
    return this.#connections.size;
  }

  get state(): MountState {
    return this.#connections.state;
  }

  restart(): Promise<void> {
    return this.#connections.restart();
  }

  async start(): Promise<void> {
    (await this.#connections.leaseOwn()).release();
  }

  show(offer: Offer): void {
    checkOffer("show(offer): the offer", offer);
    if (this.#isGone) return;
    const before = this.mount.offer;
    this.mount.prepare(offer);
    this.#uris.outdated();
    this.mount.refresh();
    // Most changes are of tools: only those of URIs concern the others.
    const [uris, others] = [urisOf(before), urisOf(offer)];
    if (uris.length !== others.length || uris.some((uri, at) => uri !== others[at])) this.onUris();
    this.onShown();
  }

  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async remove(): Promise<void> {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const subscription of this.#followed) void subscription.close();
    await this.mount.remove();
    this.onRemoved();
  }

  async #read(): Promise<void> {
    const lease = await this.#connections.leaseOwn();
    try {
      this.show(await readOffer(lease.client));
    } finally {
      lease.release();
    }
  }

  /** Has the owner look at it again. A connection that has ended meanwhile has nothing to look at. */
  async #compared(client: Client, onChanged: NonNullable<MountOptions["onChanged"]>): Promise<void> {
    await onChanged(client).catch((error: unknown) => {
      if (!isClosed(error)) this.#warn(`The lists of ${this.name} could not be compared: ${(error as Error).message}`);
    });
  }

  /**
   * Reads the lists of a connection again whenever the server says there that they changed. Reading once more waits until the
   * reading before is over, and a moment: what changes meanwhile is in it.
   */
  async #follow(client: Client): Promise<void> {
    let subscription: Subscription | undefined;
    try {
      const { tools, prompts, resources } = client.capabilities;
      const watched = {
        toolsListChanged: tools?.listChanged === true,
        promptsListChanged: prompts?.listChanged === true,
        resourcesListChanged: resources?.listChanged === true,
      };
      if (!Object.values(watched).includes(true)) return;
      subscription = client.subscribe(watched);
      // A client that is its owner's stays open when the mount ends.
      if (this.#isGone) void subscription.close();
      this.#followed.add(subscription);
      // What changed after its owner looked at it and before this was heard by nobody.
      if (this.#fixed && this.#onChanged !== undefined) {
        await subscription.ready;
        await this.#compared(client, this.#onChanged);
      }
      for await (const { kind } of subscription) {
        if (this.#fixed) {
          if (kind === "resource" || this.#onChanged === undefined) continue;
          await this.#compared(client, this.#onChanged);
          await pause(COMPARED_MS, undefined);
          continue;
        }
        const offer = await readOffer(client).catch((error: unknown) =>
          this.#warn(`The lists of ${this.name} could not be read: ${(error as Error).message}`),
        );
        if (kind === "resource" || offer === undefined) continue;
        const { version } = this.#core[kind];
        this.show(offer);
        // The server says that its list changed, though it reads the same: its clients may know what that means.
        if (version === this.#core[kind].version) this.#core.subscribers?.listChanged(kind);
        await pause(CHANGES_MS, undefined);
      }
    } catch (error) {
      if (!this.#isGone && !isClosed(error))
        this.#warn(`Changes of ${this.name} are not heard of: ${(error as Error).message}`);
    } finally {
      if (subscription !== undefined) this.#followed.delete(subscription);
    }
  }
}

function unclaimed(name: string): string {
  const what = `A log message of ${name} says not of which call it is, and several share its connection: nobody hears it`;
  return `${what}, nor the next of that kind. Mount it with sharing: "session" or "call" where each has to hear its own`;
}

function isClosed(error: unknown): boolean {
  return error instanceof LocalError && (error.code === "CLOSED" || error.code === "SESSION_EXPIRED");
}

function urisOf(offer: Offer | undefined): readonly string[] {
  if (offer === undefined) return [];
  return [...offer.resources.map(({ uri }) => uri), ...offer.resourceTemplates.map(({ uriTemplate }) => uriTemplate)];
}
