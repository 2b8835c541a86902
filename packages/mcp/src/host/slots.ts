// Lets a few at a time through, the others in the order they came.

export class Slots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves with the function that gives the place back; undefined when the signal was aborted before there was one. */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#free > 0) this.#free--;
    else if (!(await this.#turn(signal))) return undefined;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next();
    };
  }

  #turn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (comes: boolean): void => {
        this.#waiting.delete(come);
        signal.removeEventListener("abort", leave);
        resolve(comes);
      };
      const come = (): void => settle(true);
      const leave = (): void => settle(false);
      this.#waiting.add(come);
      signal.addEventListener("abort", leave);
    });
  }
}
