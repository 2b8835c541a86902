// The other processes of a server, as its core needs them: who hears of changes, who runs a task, what is done once for all.
import type { JsonObject } from "../jsonrpc/message.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { TaskRecord, TaskStore } from "./tasks/task-store.js";
import type { InputRequest } from "../protocol/features/input-required.js";
import type { ListKind } from "./subscription.js";

/** What one process tells all others. Plain JSON. */
export type News = CoreNews | SessionNews;

/** What concerns the endpoint alone. */
export type SessionNews =
  /** The facts of a session are others now, or it has ended. */
  | { readonly kind: "session"; readonly session: string; readonly ended: boolean }
  /** The client of a session has given up a request, which any process may serve, or has other roots, which any may remember. */
  | {
      readonly kind: "notifications/cancelled" | "$/cancelRequest" | "notifications/roots/list_changed";
      readonly session: string;
      readonly principal?: string | undefined;
      readonly params: JsonObject;
    };

/** What concerns everything that a server has. */
export type CoreNews =
  | { readonly kind: "list"; readonly list: ListKind }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "log"; readonly level: LoggingLevel; readonly message: JsonObject }
  | { readonly kind: "task"; readonly record: TaskRecord; readonly questions: readonly NewsQuestion[] }
  /** News may have been lost: everything may have changed. */
  | { readonly kind: "all" };

export interface NewsQuestion {
  readonly key: string;
  readonly request: InputRequest;
}

/** What one process asks the one that runs a task. */
export interface TaskErrand {
  readonly what: "cancel" | "result";
  readonly taskId: string;
  readonly principal?: string | undefined;
}

/** The cluster as the core sees it. Undefined where there is one process. */
export interface ServerCluster {
  /** The name of this process: ids that are made here begin with it and a dot. */
  readonly node: string;
  /** Seals request states so that every process can open them. */
  readonly seal: { seal(text: string): Promise<string>; open(sealed: string): Promise<string | undefined> };
  /** Where tasks are kept for all processes. */
  readonly tasks: TaskStore;
  /** Tells the other processes; not this one. Never throws. */
  tell(news: News): void;
  /** True for the first process that asks for this mark within `lifeMs`. Rejects with UNREACHABLE: then do not go on. */
  mark(name: string, lifeMs: number): Promise<boolean>;
  /** Has the process that runs a task do something; undefined when it is this one, or has ended. Rejects with its RpcError. */
  errand(errand: TaskErrand): Promise<TaskRecord | undefined>;
}

/** The process an id was made in: what stands before its first dot; undefined for an id of a process alone. */
export function nodeOf(id: string): string | undefined {
  const dot = id.indexOf(".");
  return dot > 0 ? id.slice(0, dot) : undefined;
}
