// Changes that nobody has read yet: each once, however often it happened.
import type { Change } from "./change.js";

/** A reader that never reads must not fill the memory: more resources than this are said to have changed as a list. */
const MOST_CHANGES = 1_000;

export class ChangeQueue {
  readonly #changes = new Map<string, Change>();
  #wake: (() => void) | undefined;
  #ended = false;
  #error: Error | undefined;

  push(change: Change): void {
    if (this.#ended) return;
    const full = change.kind === "resource" && this.#changes.size >= MOST_CHANGES;
    const kept: Change = full ? { kind: "resources" } : change;
    this.#changes.set(kept.kind === "resource" ? `resource ${kept.uri}` : kept.kind, kept);
    this.#wake?.();
  }

  /** What is left is still read; then the error is thrown, if there is one. */
  end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  /** The next change, when there is one; undefined at the end. */
  async next(): Promise<Change | undefined> {
    for (;;) {
      const [first] = this.#changes;
      if (first !== undefined) {
        this.#changes.delete(first[0]);
        return first[1];
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
