// A change of the policy that is being written: it stays while other screens are looked at, and is asked about before it is lost.
import { type Signal, signal } from "@preact/signals";
import type { Trial } from "./api.js";

interface Draft {
  readonly text: string;
  /** SHA-256 of the file that it began from. */
  readonly digest: string;
}

/** Undefined while there is no change that is not saved. */
export const draft: Signal<Draft | undefined> = signal(undefined);

/** A text that was tried: only that one may be saved. */
interface TriedText {
  readonly text: string;
  readonly trial: Trial;
}

/** The change that was tried last; it stays as long as the change does. */
export const tried: Signal<TriedText | undefined> = signal(undefined);

/** The browser asks before it leaves the page with such a change. */
export function watchDraft(): void {
  addEventListener("beforeunload", (event) => {
    if (draft.peek() !== undefined) event.preventDefault();
  });
}
