// Runs the rest of a request for as long as its time lasts.
import type { Answer, Call, Next } from "@secure-local/mcp/server";

/** How a request ended: with an answer, with an error, or not in time. */
export interface Ending {
  readonly answer?: Answer;
  readonly error?: unknown;
  readonly timedOut?: true;
}

const TIMED_OUT: Ending = Object.freeze({ timedOut: true });

/**
 * Goes on with the request and resolves with how it ended, never rejects. When `ms` are over the handler's signal is
 * aborted, it can send nothing more, and what it may still return is dropped.
 */
export function runWithin(call: Call, next: Next, ms: number): Promise<Ending> {
  return new Promise((resolve) => {
    const timer = setTimeout(expire, ms, call, resolve, ms);
    timer.unref();
    next().then(
      (answer) => {
        clearTimeout(timer);
        resolve({ answer });
      },
      (error: unknown) => {
        clearTimeout(timer);
        resolve({ error });
      },
    );
  });
}

function expire(call: Call, resolve: (ending: Ending) => void, ms: number): void {
  resolve(TIMED_OUT);
  call.cancel({ reason: `timed out after ${seconds(ms)}`, answered: false });
}

/** `30 s`, `0.25 s`. */
export function seconds(ms: number): string {
  return `${Number((ms / 1_000).toPrecision(3))} s`;
}
