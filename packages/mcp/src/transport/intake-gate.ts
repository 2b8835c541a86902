// Learns from the answers how many messages may be in service at once, so that answers yet unseen fit into memory.

// Before anything is known: this many answers of a megabyte each is what memory may grow by.
const FIRST_ALLOWANCE = 16;
// What the answers in service may come to, judged by the last large one.
const LENGTH_IN_SERVICE = 4 * 1024 * 1024;
// A smaller answer earns room for one more message; a larger one takes room away.
const SMALL_ANSWER = 64 * 1024;

export class IntakeGate {
  readonly #most: number;
  #allowance = FIRST_ALLOWANCE;
  #inService = 0;

  /** `most` messages are in service at once at most. */
  constructor(most: number) {
    this.#most = most;
  }

  /** How many messages may be delivered now; zero or less for none. */
  get room(): number {
    return this.#allowance - this.#inService;
  }

  delivered(): void {
    this.#inService++;
  }

  /** One message got its answer, of this length; zero when it gets none. */
  settled(length: number): void {
    if (this.#inService > 0) this.#inService--;
    if (length > SMALL_ANSWER) this.#allowance = Math.max(1, Math.min(this.#allowance, LENGTH_IN_SERVICE / length));
    else if (this.#allowance < this.#most) this.#allowance++;
  }

  /** What is in service takes its time, perhaps waiting for a message that has not been delivered yet: makes room. */
  overdue(): void {
    this.#allowance = Math.max(this.#allowance, this.#inService) + FIRST_ALLOWANCE;
  }
}
