// The other processes of a server, as its HTTP endpoint needs them: who has what a request names, and what all of them count.
import type { Reporter } from "../../server/reporter.js";
import type { News, ServerCluster, TaskErrand } from "../../server/server-cluster.js";
import type { TaskRecord } from "../../server/tasks/task-store.js";
import type { HttpExchange } from "./exchange.js";

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

/** A request, and what in it says which process has to serve it. */
export interface Named {
  readonly kind: NamedKind;
  /** Begins with the name of the process that made it: `a1b2.…`. */
  readonly id: string;
  /** The body of a POST. */
  readonly body?: string | undefined;
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
  /** Counts a request of a sender for all processes. Resolves with 0 when it may pass, else with the seconds to wait. */
  take(sender: string, limits: { readonly perSecond: number; readonly burst: number }): Promise<number>;
}

// The door through which a process joins the others.

/** The end of this process that the others reach. */
export interface LocalEnd {
  /** Serves a request another process let in and handed on. */
  serve(exchange: HttpExchange): void;
  /** Goes on with a session whose process has ended. `moved`: how often it has changed its process by now. */
  adopt(id: string, principal: string | undefined, facts: SessionFacts & { readonly moved: number }): void;
  /** Whether a session is open here. */
  holds(id: string): boolean;
  /** Another process goes on with a session of ours. */
  release(id: string): void;
  hear(news: News): void;
  /** Does what another process asks of the one that runs a task. Rejects with an RpcError. */
  errand(errand: TaskErrand): Promise<TaskRecord>;
  readonly report: Reporter;
}

/** One process among those that share. */
export interface ClusterMember extends HttpCluster, ServerCluster {
  /** From now on the others can reach this process. */
  open(local: LocalEnd): Promise<void>;
  /** Takes this process off the directory; what it has goes on. */
  drain(): Promise<void>;
  /** Gives up what is left and ends the connections. Safe to call again. */
  leave(): Promise<void>;
}

/** What many processes of one server share. Made by `redisCluster`, or by `shareOver` for stores of one's own. */
export interface Share {
  /** Joins the others, for `serveHttp` alone. Rejects with a LocalError BAD_SHARE whose one sentence says what to change. */
  join(): Promise<unknown>;
}
