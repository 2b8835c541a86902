// What a person's desk is: where questions are put when the client cannot ask its user.

/** One question. */
export interface Question {
  /** Names it; random, so that nobody answers a question that was never put. */
  readonly id: string;
  /** The whole text, safe for a terminal. */
  readonly text: string;
  /** How long a remembered consent would last, in words; undefined where consents are not remembered. */
  readonly remember: string | undefined;
  readonly timeoutMs: number;
}

/** What became of a question: an answer, or why there is none. */
export type Reply =
  | { readonly answer: "approve" | "remember" | "deny" }
  | { readonly answer: undefined; readonly reason: string };

export interface Desk {
  /** Puts a question until it is answered or `signal` is aborted. Never rejects. */
  ask(question: Question, signal: AbortSignal): Promise<Reply>;
}
