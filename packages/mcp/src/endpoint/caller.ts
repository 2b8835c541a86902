// The caller of a request: who asks, in which revision, with which capabilities and log level.
import type { Codec } from "../era/codec.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import type { Implementation } from "../protocol/implementation.js";

/** Log level of a caller that wants no log messages: above every level's index. */
export const NO_LOGS: number = Number.POSITIVE_INFINITY;

/**
 * Who asks. In the handshake era one object lives as long as the session and `logging/setLevel` moves its level;
 * in the stateless era every request brings its own, and nothing of it may be remembered.
 */
export interface Caller {
  readonly codec: Codec;
  readonly capabilities: ClientCapabilities;
  /** The client's name for itself: for display and logs, never for decisions. */
  readonly client: Implementation | undefined;
  /** Index of the lowest level the caller wants to receive; {@link NO_LOGS} for none. */
  logLevel: number;
}
