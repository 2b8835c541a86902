// Hands requests to the process that has to serve them, over one kept connection to each: a request is sent once, its
// reply comes back as it is written, and the process that serves it sees an exchange like any other.

import { type Server, type Socket, createServer } from "node:net";
import { rmSync } from "node:fs";
import type { Duplex } from "node:stream";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { settles } from "../jsonrpc/outgoing.js";
import type { HttpExchange, HttpStream } from "../http/server/exchange.js";
import { goesOn, messageIn, unknownOutcome } from "../http/server/resumable-stream.js";
import { bare, connected, type Detours, pathOf, unheardAt, type WayChange } from "./detours.js";
import {
  Frame,
  type FrameType,
  greet,
  type Link,
  type LinkListener,
  RelayedExchange,
  type RelayedHead,
  welcome,
} from "./relay-link.js";

/** Milliseconds that whoever sends something waits for a connection: to try one by letters, too, may take longer. */
const LINK_MS = 4_000;
/** Connections of other processes at once: as many processes, twice. What is more is a fault or an attack. */
const MOST_LINKS = 2_000;

/**
 * What became of a request: it was `taken` and is answered by the other process; that one does not have what it names
 * (`absent`), or has let go of it as it is ending (`left`); nobody is there (`gone`); it is there and cannot be reached; or, after it
 * was sent and before anything came back, the connection broke (`broken`), or this process ended (`parted`).
 */
export type ForwardOutcome = "taken" | "absent" | "left" | "gone" | "unreachable" | "broken" | "parted";

export interface NodeRelayOptions {
  readonly node: string;
  readonly keys: readonly Buffer[];
  /** Where to listen: `tcp://host:port` or `unix:///path`. */
  readonly listen: URL;
  /** The address of a process; undefined when it is not there. */
  readonly find: (node: string) => Promise<string | undefined>;
  /** Whether this process has the session that a request of another one names, which may be `ending` and have let go of it. */
  readonly holds: (session: string, from: string, ending: boolean) => boolean | Promise<boolean>;
  /** Whether this process is ending: it lets go of its sessions. */
  readonly ending?: () => boolean;
  readonly serve: (exchange: HttpExchange) => void;
  /** Does what another process asks for. Rejects with an RpcError. */
  readonly answer: (text: string) => Promise<string>;
  /** Told of a connection that was refused, and where it came from. */
  readonly onStranger: (error: unknown, from: string) => void;
  /** Told of a process that serves nothing any more. */
  readonly onLeft?: (node: string) => void;
  /** Ways to processes that cannot be connected to. `accept` is told of those that others open. */
  readonly detours?: (accept: (way: Duplex) => void) => Detours;
  /** Told once when a process is reached by letters, once when it is by a socket again, and when it has ended meanwhile. */
  readonly onWay?: (change: WayChange) => void;
}

/** Milliseconds between two tries to connect to a process that letters lead to. */
const DIRECT_MS = 1_000;
/** Milliseconds without a request after which a way by letters is given up. */
const UNUSED_MS = 10_000;
/** Pings that a process without a lease leaves unanswered before it is taken to hang, and the milliseconds from one to the next. */
const MOST_UNANSWERED = 2;
const PING_MS = 900;

/** What a request is sent with. */
export interface ForwardedRequest {
  readonly exchange: HttpExchange;
  readonly body: string | undefined;
  /** The session it is for; undefined for one that is not about a session. */
  readonly session: string | undefined;
  /** Milliseconds a connection may take. Default `LINK_MS`. */
  readonly mostMs?: number;
}

/** A process that the directory does not name any more, and a connection to it, once anybody wants to know what has become of it. */
interface Missing {
  readonly address: string;
  looking?: Promise<Socket | NodeJS.ErrnoException>;
}

/** What connecting to a process that has ended fails with; a machine that is down or cut off says nothing. */
const ENDED: ReadonlySet<string | undefined> = new Set(["ECONNREFUSED", "ENOENT"]);

interface Waiting {
  /** Whether it lasts as long as its client likes, such as a stream of a session. */
  readonly lasts?: boolean;
  reply(type: FrameType, text: string): void;
  /** Nothing will come any more. `ours`: since this process ends. */
  broken(ours: boolean): void;
}

/** What another process sends over a connection that it has opened. */
interface Incoming {
  readonly served: Map<number, RelayedExchange>;
  /** Questions that are being answered. */
  answering: number;
  /** It has heard that this process leaves: it sends nothing more. */
  parted: boolean;
}

/** The stream of what concerns the connection itself: no request has this number. */
const ITSELF = 0;
/** Milliseconds for the other processes to hear that this one leaves, and for what they had sent until then to be answered. */
const PART_MS = 500;
const LOOK_MS = 10;

/** Whether a request lasts as long as its client likes: the stream of a session, or a listen. */
export function lasts(exchange: HttpExchange): boolean {
  return exchange.method !== "POST" || exchange.header("mcp-method") === "subscriptions/listen";
}

/** The connections of one process to the others, both ways. */
export class NodeRelay {
  readonly #options: NodeRelayOptions;
  readonly #server: Server;
  /** Those this process opened, by the process they lead to. */
  readonly #called = new Map<string, Promise<Link>>();
  readonly #links = new Map<Link, Map<number, Waiting>>();
  readonly #sockets = new Set<Duplex>();
  readonly #incoming = new Map<Link, Incoming>();
  readonly #detours: Detours | undefined;
  /** When a socket was last tried, by the process letters lead to; and when letters were last used. */
  readonly #tried = new Map<string, number>();
  readonly #used = new Map<Link, number>();
  /** Pings without an answer, by the connection to a process that has lost its lease. */
  readonly #unanswered = new Map<Link, { readonly pings: number; readonly at: number }>();
  /** Addresses at which processes could not be connected to that letters reach. */
  readonly #apart = new Map<string, string>();
  readonly #missing = new Map<string, Missing>();
  #lastStream = 0;
  #closing = false;
  #closed: Promise<void> | undefined;

  constructor(options: NodeRelayOptions) {
    this.#options = options;
    this.#server = createServer((socket) => void this.#accept(socket));
    this.#server.maxConnections = MOST_LINKS;
    this.#detours = options.detours?.((way) => void this.#accept(way));
  }

  /** Listens. Resolves with the address to be told. Rejects with BAD_SHARE when that cannot be. */
  async open(): Promise<string> {
    const { listen } = this.#options;
    const path = pathOf(listen);
    await new Promise<void>((resolve, reject) => {
      // What goes wrong later, as when too many files are open, concerns one connection.
      this.#server.on("error", (error) => reject(unheardAt(listen, error)));
      const where = path === undefined ? { host: bare(listen.hostname), port: Number(listen.port) } : { path };
      this.#server.listen(where, resolve);
    });
    if (path !== undefined) return listen.href;
    const { port } = this.#server.address() as { readonly port: number };
    return `tcp://${listen.hostname}:${port}`;
  }

  /** Whether a connection to a process is open: then it is there, whatever the directory says. Letters say nothing of that. */
  async reaches(node: string): Promise<boolean> {
    const link = await this.#called.get(node)?.catch(() => undefined);
    return link !== undefined && !link.closed && !link.detour;
  }

  /** Another process wants to reach this one by letters. */
  async knocked(node: string): Promise<void> {
    await this.#detours?.knocked(node);
  }

  /**
   * To be called with each sign of life. Gives up ways by letters that nobody uses, and what leads to processes that have ended or
   * hang: no socket says so.
   */
  tidy(isThere: (node: string) => boolean): void {
    const now = performance.now();
    for (const node of [...this.#apart.keys()]) if (!isThere(node)) this.#joined(node, "none");
    for (const [link, waiting] of this.#links) {
      if (!link.detour) {
        if (isThere(link.peer) || this.#incoming.has(link)) this.#unanswered.delete(link);
        else this.#doubt(link, now);
        continue;
      }
      if (waiting.size > 0) this.#used.set(link, now);
      const unused = now - (this.#used.get(link) ?? Number.POSITIVE_INFINITY) > UNUSED_MS;
      if (unused || !isThere(link.peer)) link.close();
    }
  }

  /** What the directory said before, and says now: who is missing without having left has been killed, or hangs. */
  directory(before: ReadonlyMap<string, string>, now: Pick<ReadonlyMap<string, string>, "has">): void {
    for (const [node, address] of before) if (!now.has(node)) this.#missing.set(node, { address });
    for (const [node, { looking }] of this.#missing) {
      if (!now.has(node) && this.#missing.size <= MOST_LINKS) continue;
      this.#missing.delete(node);
      void looking?.then((found) => found instanceof Error || found.destroy());
    }
  }

  /** Whether a process that is missing may go on: who has ended takes no connections, and the system ends those that it had taken. */
  async mayGoOn(node: string): Promise<boolean> {
    const missing = this.#missing.get(node);
    if (missing === undefined) return false;
    missing.looking ??= connected(new URL(missing.address)).then(
      (socket) => socket.unref().resume(),
      (error: unknown) => error as NodeJS.ErrnoException,
    );
    const found = await missing.looking;
    return found instanceof Error ? !ENDED.has(found.code) : !found.destroyed;
  }

  /** One without a lease may be cut off from the store alone: then it answers. Counted, as this process may have been held up itself. */
  #doubt(link: Link, now: number): void {
    const { pings, at } = this.#unanswered.get(link) ?? { pings: 0, at: Number.NEGATIVE_INFINITY };
    if (now - at < PING_MS) return;
    if (pings >= MOST_UNANSWERED) return link.close();
    this.#unanswered.set(link, { pings: pings + 1, at: now });
    link.send(Frame.Ping, this.#newStream());
  }

  /** Sends a request to a process, once. Resolves as soon as it is known what became of it. Never rejects. */
  async forward(node: string, { exchange, body, session, mostMs }: ForwardedRequest): Promise<ForwardOutcome> {
    const link = await soon(this.#linkTo(node), mostMs);
    if (typeof link === "string") return link;
    if (exchange.over) return "taken";
    const begun = this.#links.get(link);
    // It has ended in the moment since: nobody would be told what became of this.
    if (begun === undefined) return "unreachable";
    return new Promise((resolve) => {
      const stream = this.#newStream();
      const done = (): void => void begun.delete(stream);
      const waiting = new Forwarded({ exchange, body, link, stream, done, resolve });
      begun.set(stream, waiting);
      exchange.onGone = waiting;
      link.send(Frame.Request, stream, `${JSON.stringify(this.#headOf(exchange, session))}\n${body ?? ""}`);
    });
  }

  /** Whether another process has not yet answered something of ours that will end by itself. */
  get isAwaited(): boolean {
    return [...this.#links.values()].some((each) => [...each.values()].some((waiting) => waiting.lasts !== true));
  }

  /** Asks a process for something. Rejects with its RpcError, or with GONE or UNREACHABLE. */
  async ask(node: string, text: string): Promise<string> {
    const link = await soon(this.#linkTo(node));
    const begun = typeof link === "string" ? undefined : this.#links.get(link);
    if (typeof link === "string" || begun === undefined) {
      const isGone = link === "gone";
      const what = isGone ? "has ended" : "cannot be reached";
      throw new LocalError(isGone ? "GONE" : "UNREACHABLE", `The process ${node} ${what}`);
    }
    return new Promise((resolve, reject) => {
      const stream = this.#newStream();
      const end = (): void => void begun.delete(stream);
      begun.set(stream, {
        reply(type, answer) {
          end();
          if (type === Frame.Answer) return resolve(answer);
          const { code, message, data } = JSON.parse(answer) as { code: number; message: string; data?: unknown };
          reject(new RpcError(code, message, data));
        },
        broken: () => reject(new LocalError("GONE", `The process ${node} was lost before it answered`)),
      });
      link.send(Frame.Ask, stream, text);
    });
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    const closed = this.#stopListening();
    this.#closing = true;
    for (const link of [...this.#links.keys()]) link.close();
    this.#detours?.close();
    this.directory(new Map(), { has: () => true });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #stopListening(): Promise<void> {
    const path = this.#server.listening ? pathOf(this.#options.listen) : undefined;
    return (this.#closed ??= new Promise<void>((resolve) => this.#server.close(() => resolve())).then(() => {
      if (path !== undefined) rmSync(path, { force: true });
    }));
  }

  /** Before `close`: the others hear that nothing is served here any more, and what they had sent is answered. Bounded in time. */
  async part(): Promise<void> {
    void this.#stopListening();
    for (const link of this.#incoming.keys()) link.send(Frame.Absent, ITSELF, LEFT);
    const owes = ([link, { parted, served, answering }]: readonly [Link, Incoming]): boolean =>
      !link.closed &&
      (!parted || answering > 0 || link.unsent > 0 || [...served.values()].some((each) => !lasts(each)));
    const until = performance.now() + PART_MS;
    while ([...this.#incoming].some(owes) && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /** The other process serves nothing any more: what it has got it answers, and it is sent nothing new. */
  #parted(node: string, link: Link): void {
    link.send(Frame.Gone, ITSELF);
    void this.#forget(node, link);
    this.#options.onLeft?.(node);
  }

  #headOf(exchange: HttpExchange, session: string | undefined): RelayedHead {
    const { method, path, query, principal, identity, address, allHeaders: headers = {} } = exchange;
    const ending = session === undefined ? undefined : this.#options.ending?.();
    return { method, path, query, principal, identity, address, session, ending, headers };
  }

  #newStream(): number {
    this.#lastStream = (this.#lastStream % 0xffff_ffff) + 1;
    return this.#lastStream;
  }

  async #linkTo(node: string): Promise<Link | "gone" | "unreachable"> {
    const kept = await this.#called.get(node)?.catch(() => undefined);
    if (kept !== undefined && !kept.closed) {
      if (kept.detour) void this.#tryDirect(node);
      return kept;
    }
    const address = await this.#options.find(node).catch(() => undefined);
    if (address === undefined) return "gone";
    // Another request may have begun to call meanwhile.
    let calling = this.#called.get(node);
    if (calling === undefined || (await calling.then((link) => link.closed).catch(() => true))) {
      calling = this.#call(node, address).catch((error: unknown) => this.#callByLetters(node, address, error));
      this.#called.set(node, calling);
      calling.catch(() => {
        if (this.#called.get(node) === calling) this.#called.delete(node);
      });
    }
    return calling.catch(() => "unreachable");
  }

  async #call(node: string, address: string): Promise<Link> {
    const link = await this.#greeted(node, await connected(new URL(address)));
    this.#joined(node, "socket");
    return link;
  }

  #joined(node: string, way: "socket" | "none"): void {
    const address = this.#apart.get(node);
    if (address === undefined) return;
    this.#apart.delete(node);
    this.#options.onWay?.({ node, way, address, byLetters: this.#apart.size });
  }

  /** `cause`: why there is no socket. */
  async #callByLetters(node: string, address: string, cause: unknown): Promise<Link> {
    if (this.#detours === undefined) throw cause;
    const link = await this.#greeted(node, await this.#detours.connect(node));
    this.#tried.set(node, performance.now());
    this.#used.set(link, performance.now());
    if (!this.#apart.has(node)) {
      this.#apart.set(node, address);
      this.#options.onWay?.({ node, way: "letters", address, byLetters: this.#apart.size });
    }
    return link;
  }

  /** Goes over to a socket where there is one again; what has begun by letters ends by letters. */
  async #tryDirect(node: string): Promise<void> {
    const now = performance.now();
    if (now - (this.#tried.get(node) ?? 0) < DIRECT_MS) return;
    this.#tried.set(node, now);
    const address = await this.#options.find(node).catch(() => undefined);
    const link = address && (await this.#call(node, address).catch(() => undefined));
    if (!link) return;
    this.#called.set(node, Promise.resolve(link));
    this.#tried.delete(node);
  }

  async #greeted(node: string, socket: Duplex): Promise<Link> {
    const { node: self, keys } = this.#options;
    const link = await greet(socket, { node: self, keys }, node).catch((error: unknown) => {
      socket.destroy();
      throw error;
    });
    this.#begin(link, {
      frame: (type, stream, text) => {
        this.#unanswered.delete(link);
        if (stream === ITSELF) this.#parted(node, link);
        else this.#links.get(link)?.get(stream)?.reply(type, text);
      },
      closed: () => void this.#forget(node, link),
    });
    return link;
  }

  async #forget(node: string, link: Link): Promise<void> {
    this.#used.delete(link);
    this.#unanswered.delete(link);
    const calling = this.#called.get(node);
    const current = await calling?.catch(() => undefined);
    if (current === link && this.#called.get(node) === calling) this.#called.delete(node);
  }

  async #accept(socket: Duplex): Promise<void> {
    this.#sockets.add(socket);
    const { remoteAddress } = socket as Partial<Socket>;
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
    try {
      const { node, keys } = this.#options;
      const link = await welcome(socket, { node, keys });
      const incoming: Incoming = { served: new Map(), answering: 0, parted: false };
      this.#incoming.set(link, incoming);
      if (this.#closed !== undefined) link.send(Frame.Absent, ITSELF, LEFT);
      this.#begin(link, {
        frame: (type, stream, text) => this.#serve(link, incoming, { type, stream, text }),
        closed: () => {
          this.#incoming.delete(link);
          for (const exchange of [...incoming.served.values()]) exchange.gone();
        },
      });
    } catch (error) {
      socket.destroy();
      this.#options.onStranger(error, remoteAddress ?? this.#options.listen.href);
    }
  }

  #begin(link: Link, { frame, closed }: LinkListener): void {
    this.#links.set(link, new Map());
    link.listener = {
      frame,
      closed: () => {
        const waiting = this.#links.get(link);
        this.#links.delete(link);
        closed();
        for (const each of waiting?.values() ?? []) each.broken(this.#closing);
      },
    };
    link.start();
  }

  #serve(
    link: Link,
    incoming: Incoming,
    { type, stream, text }: { readonly type: FrameType; readonly stream: number; readonly text: string },
  ): void {
    const { served } = incoming;
    if (stream === ITSELF) return void (incoming.parted = true);
    switch (type) {
      case Frame.Request:
        return this.#request(link, incoming, stream, text);
      case Frame.Gone:
        return served.get(stream)?.gone();
      case Frame.Pause:
        return served.get(stream)?.pause();
      case Frame.Resume:
        return served.get(stream)?.resume();
      case Frame.Ask:
        return void this.#answer(link, incoming, { stream, text });
      case Frame.Ping:
        return link.send(Frame.Pong, stream);
      default:
      // What only the process that asks is told: there is nobody for it here.
    }
  }

  #request(link: Link, incoming: Incoming, stream: number, text: string): void {
    const end = text.indexOf("\n");
    const head = JSON.parse(text.slice(0, end)) as RelayedHead;
    const held = head.session === undefined || this.#options.holds(head.session, link.peer, head.ending === true);
    const begin = (here: boolean): void => {
      if (here) this.#begun(link, incoming.served, stream, { head, body: text.slice(end + 1) });
      else link.send(Frame.Absent, stream, this.#options.ending?.() === true ? LEFT : "");
    };
    if (typeof held === "boolean") return begin(held);
    incoming.answering++;
    void held.then(begin, () => begin(false)).finally(() => incoming.answering--);
  }

  #begun(
    link: Link,
    served: Map<number, RelayedExchange>,
    stream: number,
    { head, body }: { readonly head: RelayedHead; readonly body: string },
  ): void {
    const exchange = new RelayedExchange(head, body, {
      send: (type, sent) => link.send(type, stream, sent),
      unsent: () => link.unsent,
      over: () => served.delete(stream),
    });
    served.set(stream, exchange);
    this.#options.serve(exchange);
  }

  async #answer(
    link: Link,
    incoming: Incoming,
    { stream, text }: { readonly stream: number; readonly text: string },
  ): Promise<void> {
    incoming.answering++;
    try {
      link.send(Frame.Answer, stream, await this.#options.answer(text));
    } catch (error) {
      const refusal =
        error instanceof RpcError ? error.toObject() : { code: -32603, message: "The other process failed" };
      link.send(Frame.Refused, stream, JSON.stringify(refusal));
    } finally {
      incoming.answering--;
    }
  }
}

/** A connection that takes longer is there for what is sent later. */
async function soon<T>(connecting: Promise<T>, mostMs: number = LINK_MS): Promise<T | "unreachable"> {
  return (await settles(connecting, mostMs)) ? connecting : "unreachable";
}

/** What a process that is ending says of a session that it does not have (any more). */
const LEFT = "left";

interface Forwarding extends Pick<ForwardedRequest, "exchange" | "body"> {
  readonly link: Link;
  readonly stream: number;
  readonly done: () => void;
  readonly resolve: (outcome: ForwardOutcome) => void;
}

/** A request of ours on its way: what comes back is its reply. */
class Forwarded implements Waiting {
  readonly lasts: boolean;
  readonly #about: Forwarding;
  #open: HttpStream | undefined;

  constructor(about: Forwarding) {
    this.lasts = lasts(about.exchange);
    this.#about = about;
  }

  reply(type: FrameType, text: string): void {
    switch (type) {
      case Frame.Absent:
        return this.#end(text === LEFT ? "left" : "absent");
      case Frame.Reply:
        this.#end("taken");
        return this.#whole(text);
      case Frame.Open:
        return this.#begin(text);
      case Frame.Chunk:
        if (this.#open?.write(text) === false) this.#tell(Frame.Pause);
        return;
      case Frame.End:
        this.#end("taken");
        return this.#open?.end();
      case Frame.Destroy:
        this.#end("taken");
        return this.#open?.destroy();
      default:
      // What only the process that serves is told.
    }
  }

  /** The client has gone: the process that serves it has to know. */
  gone(): void {
    this.#end("taken");
    this.#tell(Frame.Gone);
  }

  /** The other process has gone, or this one goes. A stream is cut where its client comes back for the rest, and ends with an answer elsewhere. */
  broken(ours: boolean): void {
    const comesBack = this.lasts || goesOn(this.#about.exchange);
    if (comesBack) this.#open?.destroy();
    else {
      this.#open?.write(
        `event: message\ndata: ${unknownOutcome(messageIn(this.#about.body).id, ours ? "way" : "process")}\n\n`,
      );
      this.#open?.end();
    }
    this.#end(ours ? "parted" : "broken");
  }

  #tell(type: FrameType): void {
    this.#about.link.send(type, this.#about.stream);
  }

  #end(outcome: ForwardOutcome): void {
    const { exchange, done, resolve } = this.#about;
    exchange.onGone = undefined;
    done();
    resolve(outcome);
  }

  #whole(text: string): void {
    const end = text.indexOf("\n");
    const { status, headers } = JSON.parse(text.slice(0, end)) as { status: number; headers: string[] };
    this.#about.exchange.reply(status, headers, text.slice(end + 1));
  }

  #begin(text: string): void {
    const { status, headers } = JSON.parse(text) as { status: number; headers: string[] };
    this.#open = this.#about.exchange.open(status, headers);
    this.#open.onDrain = () => this.#tell(Frame.Resume);
    this.#about.resolve("taken");
  }
}
