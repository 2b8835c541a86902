// Runs the rest of a request for as long as its time lasts; the clock stands still while a person is asked.
import type { Answer, Call, Next } from "@secure-local/mcp/server";

/** A call that takes longer than this share of its time is told to its caller. */
export const SLOW_SHARE = 0.5;

/** How a request ended: with an answer, with an error, or not in time. */
export interface Ending {
  readonly answer?: Answer;
  readonly error?: unknown;
  readonly timedOut?: true;
}

const TIMED_OUT: Ending = Object.freeze({ timedOut: true });

/** Milliseconds a request may take: one that is waited for, and one that became a task meanwhile. */
export interface TimeLimits {
  readonly callMs: number;
  readonly taskMs: number;
}

/** What a request may take as it is now. A task never has less time than the call it came from. */
export function timeLimitsOf({ task }: Call, { callMs, taskMs }: TimeLimits): number {
  return task === undefined ? callMs : Math.max(callMs, taskMs);
}

/** By the signal of a request: what its handler knows of why there is no answer. */
const KNOWN_WHY = new WeakMap<AbortSignal, () => string | undefined>();

/** `why` is asked once the time of the request is over, in words after "timed out: ". */
export function explainLateness(signal: AbortSignal, why: () => string | undefined): void {
  KNOWN_WHY.set(signal, why);
}

/** Why a request whose time is over was not answered, as far as its handler knows. */
export function latenessOf({ signal }: Pick<Call, "signal">): string | undefined {
  return KNOWN_WHY.get(signal)?.();
}

/** Whether nobody waits for it any more. A task is given up, and ends when its handler does. */
export function isOver({ ended, cancellation }: Call): boolean {
  return ended || cancellation !== undefined;
}

/** The time of one request. */
export class Deadline {
  readonly #call: Call;
  readonly #time: TimeLimits;
  #resolve: ((ending: Ending) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the time of a call is over and that of a task runs. */
  #late = false;
  #leftMs = 0;
  #since = 0;
  #heldSince: number | undefined;
  #heldMs = 0;

  constructor(call: Call, time: TimeLimits) {
    this.#call = call;
    this.#time = time;
  }

  /** Milliseconds the clock has stood still. */
  get heldMs(): number {
    return this.#heldMs;
  }

  /**
   * Goes on with the request and resolves with how it ended, never rejects. When its time is over the handler's signal is
   * aborted, it can send nothing more, and what it may still return is dropped.
   */
  run(next: Next): Promise<Ending> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#start(this.#time.callMs);
      next().then(
        (answer) => this.#end({ answer }),
        (error: unknown) => this.#end({ error }),
      );
    });
  }

  /** Stops the clock until `release`. Both do nothing once the request has ended. */
  hold(): void {
    if (this.#resolve === undefined || this.#heldSince !== undefined) return;
    clearTimeout(this.#timer);
    this.#heldSince = performance.now();
    this.#leftMs = Math.max(0, this.#leftMs - (this.#heldSince - this.#since));
  }

  release(): void {
    if (this.#resolve === undefined || this.#heldSince === undefined) return;
    this.#heldMs += performance.now() - this.#heldSince;
    this.#heldSince = undefined;
    this.#start(this.#leftMs);
  }

  #start(ms: number): void {
    this.#leftMs = ms;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#timeUp, ms).unref();
  }

  readonly #timeUp = (): void => {
    const { callMs } = this.#time;
    const ms = timeLimitsOf(this.#call, this.#time);
    const late = this.#late;
    this.#late = true;
    // Nobody waits for a task: it goes on for as long as tasks may.
    if (ms > callMs && !late) {
      this.#start(ms - callMs);
      return;
    }
    this.#end(TIMED_OUT);
    this.#call.cancel({ reason: `timed out after ${seconds(ms)}`, answered: false });
  };

  #end(ending: Ending): void {
    clearTimeout(this.#timer);
    this.#resolve?.(ending);
    this.#resolve = undefined;
  }
}

/** `30 s`, `0.25 s`. */
export function seconds(ms: number): string {
  return `${Number((ms / 1_000).toPrecision(3))} s`;
}
