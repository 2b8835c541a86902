// Knows of calls that have been admitted and have not begun yet.
interface Withdrawal {
  /** The number of the last call it waits for, and how many of them have not begun. */
  readonly upTo: number;
  left: number;
  readonly take: () => void;
}

/** What an admitted call needs must stay until the call has begun, though the policy in force no longer has it. */
export class Admissions {
  #numbers = 0;
  #waiting = 0;
  #withdrawals: Withdrawal[] = [];

  /** A call is admitted. Returns its number, for `leave`. */
  enter(): number {
    this.#waiting += 1;
    return (this.#numbers += 1);
  }

  /** It has begun, or never will. To be called once. */
  leave(number: number): void {
    this.#waiting -= 1;
    if (this.#withdrawals.length === 0) return;
    for (const withdrawal of this.#withdrawals) if (number <= withdrawal.upTo) withdrawal.left -= 1;
    const due = this.#withdrawals.filter(({ left }) => left === 0);
    this.#withdrawals = this.#withdrawals.filter(({ left }) => left > 0);
    for (const { take } of due) take();
  }

  /** Calls `take` once every call admitted so far has begun: at once, when there is none. */
  withdraw(take: () => void): void {
    if (this.#waiting === 0) take();
    else this.#withdrawals.push({ upTo: this.#numbers, left: this.#waiting, take });
  }
}
