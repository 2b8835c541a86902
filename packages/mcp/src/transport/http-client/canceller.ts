// Ends a request in whatever state it is, one that has not begun among them.

export class Canceller {
  cancelled = false;
  #how: (() => void) | undefined;

  /** Given to the requester, as often as the request is sent. */
  readonly started = (how: () => void): void => {
    this.#how = how;
    if (this.cancelled) how();
  };

  cancel(): void {
    this.cancelled = true;
    this.#how?.();
  }
}

/** A canceller that cancels itself after `ms`, unless `stop` was called before. */
export class Deadline extends Canceller {
  /** Time ran out. */
  late = false;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number, whenLate?: () => void) {
    super();
    this.#timer = setTimeout(() => {
      this.late = true;
      this.cancel();
      whenLate?.();
    }, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
