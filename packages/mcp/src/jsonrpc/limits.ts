// The limits of one side of a conversation, each with its default and the reason for it.

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

/** The defaults with `overrides`. Throws a RangeError naming the limit that is not a positive integer. */
export function resolveLimits(overrides: Partial<JsonRpcLimits> = {}): JsonRpcLimits {
  const limits = { ...DEFAULT_LIMITS, ...overrides };
  for (const name of Object.keys(DEFAULT_LIMITS) as (keyof JsonRpcLimits)[]) {
    const value = limits[name];
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new RangeError(`limit "${name}" must be a positive integer, not ${String(value)}`);
  }
  return limits;
}
