// What a host tells of one of its servers.
import type { Implementation } from "../protocol/implementation.js";

/**
 * `asking`: somebody is being asked whether it may start. `denied`: they said no, or nobody could be asked.
 * `waiting`: it failed and is tried again at `retryAt`. `broken`: it fails all the time and is left alone until `retryAt`.
 */
export type ServerState = "disabled" | "asking" | "denied" | "starting" | "ready" | "waiting" | "broken";

export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  /**
   * Why it is not ready, in sentences that name what was tried; undefined when there is nothing to say. While it is tried again:
   * why it failed before.
   */
  readonly reason: string | undefined;
  /** Whether what it says of its tools is believed. */
  readonly trusted: boolean;
  /** Times it failed since it was last up for a minute. */
  readonly failures: number;
  /** Milliseconds since the epoch when it is tried again; undefined when it is not waiting. */
  readonly retryAt: number | undefined;
  /** Who it is by its own account, how it is reached, and the date of the revision; only while it is ready. */
  readonly server: Implementation | undefined;
  readonly transport: string | undefined;
  readonly revision: string | undefined;
  /** What it wants models to know: words of a stranger. */
  readonly instructions: string | undefined;
}
