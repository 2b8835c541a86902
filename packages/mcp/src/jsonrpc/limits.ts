// The limits of each side of a conversation, each with its default and the reason for it.

/** Bounds of one message and one connection: bytes, nesting, values, members, batches, requests in service. */
export interface JsonRpcLimits {
  /** Longest message, in UTF-8 bytes where bytes are seen and in UTF-16 units where only text is. */
  readonly messageBytes: number;
  /** Deepest nesting of arrays and objects in a message. */
  readonly depth: number;
  /** Most values in a message, counted as commas plus opening brackets. */
  readonly values: number;
  /** Most members of all objects in a message together. */
  readonly members: number;
  /** Most messages in a batch. */
  readonly batch: number;
  /** Most requests of the other side being served at once. */
  readonly inFlight: number;
  /** Most requests of our own waiting for an answer. */
  readonly pendingRequests: number;
  /** Unsent output from which a stream transport stops taking in messages and asks writers to wait. */
  readonly highWaterBytes: number;
  /** Unsent output from which a stream transport drops notifications whose writers did not wait. */
  readonly outgoingBytes: number;
}

/** The limits a single message may break. */
export type BrokenLimit = "messageBytes" | "depth" | "values" | "members";

/** The defaults of `JsonRpcLimits` for a server; clients take longer messages. */
export const DEFAULT_LIMITS: JsonRpcLimits = {
  // Holds a 3 MB file in Base64; parsing the worst text of this length stays in the tens of milliseconds.
  messageBytes: 4 * 1024 * 1024,
  // Real schemas and results stay under 30; recursive readers of the parsed value are safe at this depth.
  depth: 64,
  // A table of 10,000 rows and 20 columns; more than that belongs in a resource.
  values: 200_000,
  // Each name not seen before costs the parser up to 0.9 microseconds and a hundred bytes: this keeps the worst text
  // under 20 ms. Whoever sends large tables raises it, or sends rows as arrays.
  members: 20_000,
  // A batch turns one message into many calls: enough for every client seen, too few to flood.
  batch: 100,
  // Far above what one client keeps open, far below what exhausts memory.
  inFlight: 1_024,
  // Requests towards people and models: each may wait for minutes, so a few hundred is a leak, not load.
  pendingRequests: 1_024,
  // One large answer: small enough to bound memory, large enough to keep a pipe busy.
  highWaterBytes: 1024 * 1024,
  // Sixteen high-water marks: only a writer that ignores the returned promise gets here.
  outgoingBytes: 16 * 1024 * 1024,
};

/**
 * What a client takes from a server it chose to talk to. Servers list hundreds of tools in one message and send images and
 * pages as one string; a server takes calls from anybody, so its own limits stay smaller.
 */
export const CLIENT_LIMITS: JsonRpcLimits = {
  ...DEFAULT_LIMITS,
  // Holds a 12 MB file in Base64. The official libraries end the connection at about this length.
  messageBytes: 16 * 1024 * 1024,
  // Five values for each member, as in the lists of tools that were looked at.
  values: 1_000_000,
  // Four times the longest list of tools seen (344 tools, 47,000 members). The worst text costs a quarter of a second.
  members: 200_000,
};

/** `defaults` with `overrides`. Throws a RangeError naming the limit that is not a positive integer. */
export function withLimits<T extends object>(defaults: T, overrides: Partial<T> = {}): T {
  const limits = { ...defaults };
  for (const [name, value] of Object.entries(overrides))
    if (value !== undefined) limits[name as keyof T] = value as T[keyof T];
  for (const name of Object.keys(defaults) as (keyof T & string)[]) {
    const value: unknown = limits[name];
    if (Number.isSafeInteger(value) && (value as number) > 0) continue;
    throw new RangeError(`limit "${name}" must be a positive integer, not ${String(value)}`);
  }
  return limits;
}

/** The limits of messages and connections with `overrides`. Throws as `withLimits` does. */
export function resolveLimits(
  overrides: Partial<JsonRpcLimits> = {},
  defaults: JsonRpcLimits = DEFAULT_LIMITS,
): JsonRpcLimits {
  return withLimits(defaults, overrides);
}

const UNITS: Readonly<Record<BrokenLimit, (amount: number | string) => string>> = {
  messageBytes: (amount) => `it is longer than ${amount} bytes`,
  depth: (amount) => `it is nested deeper than ${amount} levels`,
  values: (amount) => `it holds more than ${amount} values`,
  members: (amount) => `it holds more than ${amount} object members`,
};

/** What a message does that breaks a limit, as a sentence's end. */
export function limitText(limit: BrokenLimit, { [limit]: most }: JsonRpcLimits): string {
  return UNITS[limit](most);
}
