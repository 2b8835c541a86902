// What a caller may say about one request.
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { Meta } from "../protocol/meta.js";

/** One report of progress; `progress` grows from report to report. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface CallOptions {
  /** Asks the server for progress and is told of it. Each report restarts `timeoutMs`. */
  readonly onProgress?: (progress: Progress) => void;
  /** Aborting it rejects the call with CANCELLED and tells the server to stop. */
  readonly signal?: AbortSignal;
  /** Milliseconds without an answer or progress until TIMEOUT. Default: the connection's, 60,000. */
  readonly timeoutMs?: number;
  /** Milliseconds until TIMEOUT whatever progress is made. Default: the connection's, 600,000. */
  readonly maxTimeoutMs?: number;
  /** Lowest level of log messages wanted for this request (stateless era; sessions have `setLogLevel`). */
  readonly logLevel?: LoggingLevel;
  /** Goes into `params._meta` beside what the protocol puts there. */
  readonly meta?: Meta;
}
