// The words between a server with open questions and the terminal where they are answered: JSON lines over a local socket.
import { createHash } from "node:crypto";

/** From the server. A question is settled by the answer that counted; without one it was withdrawn, or its time was over. */
export type ToTerminal =
  | {
      readonly kind: "question";
      readonly id: string;
      readonly text: string;
      readonly remember?: string | undefined;
      readonly secondsLeft: number;
    }
  | { readonly kind: "settled"; readonly id: string; readonly answer?: PersonsAnswer | undefined };

/** What a person may answer. */
export type PersonsAnswer = "approve" | "remember" | "deny";

/** From the terminal. `shown` is the digest of the text it showed: a consent to another text is none. */
export interface FromTerminal {
  readonly kind: "answer";
  readonly id: string;
  readonly shown: string;
  readonly answer: PersonsAnswer;
}

/** Characters of one line: the longest question with every character escaped. */
export const MAX_LINE: number = 512 * 1024;

/** What names the text a person saw. */
export function digestOfText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function terminalLine(message: ToTerminal | FromTerminal): string {
  return `${JSON.stringify(message)}\n`;
}

/** Undefined for anything that is no answer. */
export function readTerminalAnswer(line: string): FromTerminal | undefined {
  const read = parsed(line);
  const { kind, id, shown, answer } = read ?? {};
  if (kind !== "answer" || typeof id !== "string" || typeof shown !== "string") return undefined;
  return isAnswer(answer) ? { kind, id, shown, answer } : undefined;
}

/** Undefined for anything a server does not say. */
export function readToTerminal(line: string): ToTerminal | undefined {
  const { kind, id, text, remember, secondsLeft, answer } = parsed(line) ?? {};
  if (typeof id !== "string") return undefined;
  if (kind === "settled") return { kind, id, ...(isAnswer(answer) ? { answer } : {}) };
  if (kind !== "question" || typeof text !== "string" || typeof secondsLeft !== "number") return undefined;
  return { kind, id, text, secondsLeft, ...(typeof remember === "string" ? { remember } : {}) };
}

export function isAnswer(value: unknown): value is PersonsAnswer {
  return value === "approve" || value === "remember" || value === "deny";
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Cuts what arrives into lines; a line that is too long ends it all. */
export class LineReader {
  readonly #line: (line: string) => void;
  readonly #tooLong: () => void;
  #rest = "";

  constructor(line: (line: string) => void, tooLong: () => void) {
    this.#line = line;
    this.#tooLong = tooLong;
  }

  read(text: string): void {
    this.#rest += text;
    for (let end = this.#rest.indexOf("\n"); end >= 0; end = this.#rest.indexOf("\n")) {
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 1);
      this.#line(line);
    }
    if (this.#rest.length > MAX_LINE) this.#tooLong();
  }
}
