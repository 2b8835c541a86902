// Limits of a server: each with its default and the reason beside the number.
import { DEFAULT_LIMITS as JSON_RPC_LIMITS, type JsonRpcLimits, withLimits } from "../jsonrpc/limits.js";

/** Every bound a server keeps. Over one of them the peer gets an answer, never silence. */
export interface ServerLimits extends JsonRpcLimits {
  /** Items on a page of a list. A thousand tools still fit one answer; more would only be truncated by clients. */
  readonly pageSize: number;
  /** Milliseconds a question to the client may wait: people answer forms, so minutes, but not forever. */
  readonly askTimeoutMs: number;
  /** Handlers parked while the client is asked (stateless era); the oldest is given up for a new one. */
  readonly parked: number;
  /** Characters of answers kept for retries that are repeated, of all parked handlers together. */
  readonly parkedBytes: number;
  /** Milliseconds a parked handler waits for its retry, which may never come. */
  readonly parkedMs: number;
  /** Rounds of questions one call may ask: official clients stop at ten. */
  readonly rounds: number;
  /** Characters of a sealed request state: it travels in every retry. */
  readonly stateCharacters: number;
  /** Listen requests of one connection: each is one long request with its own filter. */
  readonly listens: number;
  /** Resources one session or listen request may subscribe to. */
  readonly subscribedUris: number;
  /** Tasks running at once: each is a handler that nobody's connection bounds. */
  readonly runningTasks: number;
  /** Tasks kept at once, those that run among them. */
  readonly tasks: number;
  /** Tasks kept at once for one principal, so that nobody takes all the room. */
  readonly tasksPerPrincipal: number;
  /** Characters of kept tasks together. */
  readonly taskBytes: number;
  /** Milliseconds a task is kept from its creation when the client does not say: time to come back after a break. */
  readonly taskTtlMs: number;
  /** Longest time a client may ask for. */
  readonly taskMaxTtlMs: number;
  /** Milliseconds clients are told to wait between two looks: a person hardly notices, a server neither. */
  readonly taskPollMs: number;
  /** Milliseconds a handler may be done or ask in line before its call becomes a task (stateless era). */
  readonly taskGraceMs: number;
}

/** The defaults of `ServerLimits`; each member's reason stands at its type. */
export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  ...JSON_RPC_LIMITS,
  pageSize: 1_000,
  askTimeoutMs: 300_000,
  parked: 1_000,
  parkedBytes: 64 * 1024 * 1024,
  parkedMs: 300_000,
  rounds: 10,
  stateCharacters: 65_536,
  listens: 32,
  subscribedUris: 1_000,
  runningTasks: 256,
  tasks: 10_000,
  tasksPerPrincipal: 2_000,
  taskBytes: 64 * 1024 * 1024,
  taskTtlMs: 900_000,
  taskMaxTtlMs: 86_400_000,
  taskPollMs: 1_000,
  taskGraceMs: 10,
};

/** The defaults with `overrides`. Throws a RangeError naming the limit that is not a positive integer. */
export function resolveServerLimits(overrides: Partial<ServerLimits> = {}): ServerLimits {
  return withLimits(DEFAULT_SERVER_LIMITS, overrides);
}
