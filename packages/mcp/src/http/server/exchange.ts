// What the HTTP endpoint is adapted to: one request and its reply, as every runtime has them, and the other processes
// of its server.
import type { Identity, MessagePieces } from "../../jsonrpc/transport.js";
import type { Reporter } from "../../server/reporter.js";
import type { News, ServerCluster, TaskErrand } from "../../server/subscription.js";
import type { TaskRecord } from "../../server/tasks/task-store.js";

/** Header names and values in turn, so that the commonest replies share one array. */
export type HeaderList = readonly string[];

/** What may be known of a request before its body is read. */
export interface HttpRequestHead {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** What follows the question mark; empty without one. */
  readonly query: string;
  /** By lower-case name; several of one name joined by a comma. */
  header(name: string): string | undefined;
}

/** Why a body did not become a text. */
export type BodyFault = "too-long" | "not-utf8" | "no-room" | "read-before";

export interface BodyReceiver {
  body(exchange: HttpExchange, text: string): void;
  bodyFault(exchange: HttpExchange, fault: BodyFault): void;
}

/** The endless half of a reply. */
export interface HttpStream {
  /** Bytes written and not yet taken by the network. */
  readonly buffered: number;
  /** Sends text; false when the reader is behind and `onDrain` will be called. */
  write(text: string): boolean;
  end(): void;
  /** Ends without waiting for the reader. */
  destroy(): void;
  onDrain: (() => void) | undefined;
}

/** Has to know of a client that goes away. An object: V8 keeps functions made for a request until the next full collection. */
export interface GoneListener {
  gone(): void;
}

/** Says whether a request may still be gone on with; undefined: it may. */
interface PassToGoOn {
  /** What has begun goes on, and nothing new begins here: other processes get it, or it is refused, where there is none. */
  readonly drains: boolean;
  readonly refusesNew: boolean;
  goesOn(value: unknown): boolean;
  refusal(
    exchange: HttpExchange,
  ): { readonly status: number; readonly text: string; readonly headers: HeaderList } | undefined;
}

/** One function for all requests of an endpoint. */
type LackingOf = (exchange: HttpExchange, method: string, params: object) => Error | undefined;

/** Exactly one of `reply` and `open` is called, once. */
export interface HttpExchange extends HttpRequestHead {
  /** Who is asking: set by the endpoint once it knows. */
  principal: string | undefined;
  /** More about who is asking, where the endpoint knows more than a name. */
  identity: Identity | undefined;
  /** What it was let in by: set by the endpoint, and asked wherever it is gone on with. */
  pass?: PassToGoOn | undefined;
  /** Why whoever is asking may not send this message instead of the one that came: set by the endpoint once it has let that one in. */
  lacking?: LackingOf | undefined;
  /** Headers every reply of this exchange carries besides its own. */
  extra: HeaderList | undefined;
  /** All headers by lower-case name, where the runtime can tell: for handing the request on. */
  readonly allHeaders?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Another process let this request in and handed it on: it is served here or nowhere. */
  readonly relayed?: boolean;
  /** It is not handed on to another process: one that is going down turns it away. */
  stays?: boolean;
  /** True once nothing can be sent any more: answered, or the client went away. */
  readonly over: boolean;
  /** Network address of the other end; undefined where the runtime does not tell. */
  readonly address: string | undefined;
  /** Stands for the connection the request came on; undefined where the runtime does not tell. */
  readonly connection: object | undefined;
  /** Told once when the client goes away before the reply was complete. */
  onGone: GoneListener | undefined;
  /** Told once when the reply is complete, or the client has gone. */
  onOver: GoneListener | undefined;
  /** Collects the body. The receiver hears nothing of a client that goes away meanwhile. */
  readBody(limit: number, receiver: BodyReceiver): void;
  /** Sends a whole reply. */
  reply(status: number, headers: HeaderList, body?: string | MessagePieces): void;
  /** Its request waits for somebody who thinks: what is kept of it until then is to be small. */
  kept?(): void;
  /** Lets work go on after the reply, where the runtime would end it. */
  outlive?(work: Promise<unknown>): void;
  /** Begins a reply without end. */
  open(status: number, headers: HeaderList): HttpStream;
}

// The other processes of a server, as its HTTP endpoint needs them: who has what a request names, and what all of them count.

/** What a session is made of again in another process. Plain JSON. */
export interface SessionFacts {
  /** What `initialize` was called with. */
  readonly params: Readonly<Record<string, unknown>>;
  /** The log level it set, as an index. */
  readonly level?: number;
  /** The resources it is subscribed to. */
  readonly uris?: readonly string[];
}

/** What an id may name: a session that any process can go on with, or something that lives and dies with its process. */
export type NamedKind = "session" | "stream" | "call" | "task";

/** A request that another process is to serve. */
export interface HandedOn {
  readonly named: Named | undefined;
  readonly body: string;
}

/** A request, and what in it says which process has to serve it. */
export interface Named {
  readonly kind: NamedKind;
  /** Begins with the name of the process that made it: `a1b2.…`. */
  readonly id: string;
  /** The body of a POST. */
  readonly body?: string | undefined;
}

/** An event of a stream: its position, from 1, and its message. */
export interface StoredEvent {
  readonly sequence: number;
  readonly text: string;
}

/** Some events of a stream in their order, or its beginning or end without any. */
export interface StreamPiece {
  /** What the processes have to know of the stream: the same in all its pieces. */
  readonly about: string;
  /** The position before the first of the events. */
  readonly after: number;
  readonly events: readonly StoredEvent[];
  /** Nothing follows. */
  readonly ended: boolean;
}

/** What is kept of a stream after a position, without a gap. */
export type KeptStream = Omit<StreamPiece, "after">;

/** How much of a stream is kept: so many pieces, so many characters, each for so long. The newest piece always is. */
export interface StreamBounds {
  readonly pieces: number;
  readonly bytes: number;
  /** Characters of all streams that this process keeps for others. */
  readonly allBytes: number;
  readonly lifeMs: number;
}

/** The cluster as the endpoint sees it. Undefined where there is one process. */
export interface HttpCluster {
  /** The name of this process: ids that are made here begin with it and a dot. */
  readonly node: string;
  /** Others may take this process for ended: sessions that are open here may be theirs by now, and `bring` finds out. */
  readonly lapsed: boolean;
  /**
   * Has a request served by the process that has what it names. Calls `here` where that is this one, or where nobody has it;
   * a session whose process has ended is made again here before. Never throws.
   */
  bring(exchange: HttpExchange, named: Named, here: () => void): void;
  /** Whether another process may go on with a session of ours, since this one is going down. */
  mayLetGo(id: string): boolean;
  /**
   * While this process goes down: has a request served by the process that has what it names, else by any other that is there. Calls
   * `here` for what is named here, and where nobody else is: then it `stays`. Never throws.
   */
  handOn(exchange: HttpExchange, about: HandedOn, here: () => void): void;
  /**
   * What any process needs to serve a session that another one has; undefined where nobody has it, its process has ended, or this
   * one has it. Rejects with UNREACHABLE.
   */
  factsOf(id: string): Promise<{ readonly principal?: string; readonly facts: SessionFacts } | undefined>;
  /** Tells the other processes; not this one. Never throws. */
  tell(news: News): void;
  /** A session began here, or its facts are others now. */
  keepSession(id: string, principal: string | undefined, facts: SessionFacts): void;
  /** A session has ended. */
  dropSession(id: string): void;
  /**
   * Keeps a piece of a stream for the other processes. Resolves with true once it is kept, or nobody could keep it in time; with
   * false where another process has ended the stream. Undefined while nothing can be kept. Never rejects.
   */
  keepEvents(stream: string, piece: StreamPiece, bounds: StreamBounds): Promise<boolean> | undefined;
  /** What is kept of a stream after a position; undefined where some of it is not. Rejects with UNREACHABLE. */
  eventsOf(stream: string, after: number): Promise<KeptStream | undefined>;
  /** Counts a request of a sender for all processes. Resolves with 0 when it may pass, else with the seconds to wait. */
  take(sender: string, limits: { readonly perSecond: number; readonly burst: number }): Promise<number>;
}

// The door through which a process joins the others.

/** The end of this process that the others reach. */
export interface LocalEnd {
  /** Serves a request another process let in and handed on. */
  serve(exchange: HttpExchange): void;
  /** Goes on with a session whose process has ended. `moved`: how often it has changed its process by now. False: there is no room. */
  adopt(id: string, principal: string | undefined, facts: SessionFacts & { readonly moved: number }): unknown;
  /** Whether a session is open here. One that another process may go on with is let go of where nothing is under way in it. */
  holds(id: string): boolean;
  /** Another process goes on with a session of ours. */
  release(id: string): void;
  /** Keeps a session of ours for the others once more: what they share has lost it. */
  keep(id: string): void;
  hear(news: News): void;
  /** Does what another process asks of the one that runs a task. Rejects with an RpcError. */
  errand(errand: TaskErrand): Promise<TaskRecord>;
  readonly report: Reporter;
}

/** One process among those that share. */
export interface ClusterMember extends HttpCluster, ServerCluster {
  /** From now on the others can reach this process. */
  open(local: LocalEnd): Promise<void>;
  /** Says that this process is going down: the others give it nothing new. Resolves with whether any is there. Never rejects. */
  retire(): Promise<boolean>;
  /** Whether no other process is there that is not going down. */
  readonly alone: boolean;
  /** Takes this process off the directory; what it has goes on. */
  drain(): Promise<void>;
  /** Resolves once what was handed on is answered, or after `mostMs`. */
  handedOn(mostMs: number): Promise<void>;
  /** Gives up what is left and ends the connections. Safe to call again. */
  leave(): Promise<void>;
}

/** What many processes of one server share. Made by `redisCluster`, or by `shareOver` for stores of one's own. */
export interface Share {
  /** Joins the others, for `serveHttp` alone. Rejects with a LocalError BAD_SHARE whose one sentence says what to change. */
  join(): Promise<unknown>;
}
