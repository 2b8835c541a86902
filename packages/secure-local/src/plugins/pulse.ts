// Notices when a process that was sent something gives no sign of life, and when it gives one again.

/** A module's host answers pings by itself, however slow the plugin's own work is. */
const PING_AFTER_MS = 1_000;
/** An executable can only be heard when it says something. One that works for longer may tell how far it is. */
const SILENT_AFTER_MS = 10_000;

export interface PulseOptions {
  /** Asks for a sign of life; absent where nobody would answer. */
  readonly ping?: (() => void) | undefined;
  /** Told when it falls silent, and when it is heard again. */
  readonly changed: () => void;
}

/** There is a timer only while something was sent and nothing was heard since. */
export class Pulse {
  readonly #ping: (() => void) | undefined;
  readonly #changed: () => void;
  #timer: NodeJS.Timeout | undefined;
  #pinged = false;
  #silent = false;

  constructor({ ping, changed }: PulseOptions) {
    this.#ping = ping;
    this.#changed = changed;
  }

  /** Whether it has given no sign of life for as long as it should never take. */
  get silent(): boolean {
    return this.#silent;
  }

  /** Whether a ping waits for its answer. */
  get pinged(): boolean {
    return this.#pinged;
  }

  /** It was sent something that it should answer. */
  sent(): void {
    if (this.#timer === undefined && !this.#silent) this.#wait();
  }

  /** It wrote something; `busy`: it has more to answer. */
  heard(busy: boolean): void {
    if (!busy) this.stop();
    else if (this.#timer === undefined) this.#wait();
    else this.#timer.refresh();
    this.#pinged = false;
    if (!this.#silent) return;
    this.#silent = false;
    this.#changed();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    this.#timer = setTimeout(() => this.#check(), this.#ping === undefined ? SILENT_AFTER_MS : PING_AFTER_MS).unref();
  }

  #check(): void {
    this.#timer = undefined;
    if (this.#ping !== undefined && !this.#pinged) {
      this.#pinged = true;
      this.#ping();
      return this.#wait();
    }
    this.#silent = true;
    this.#changed();
  }
}
