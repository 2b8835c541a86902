// The words at the control socket of a running server: JSON lines, each read as if anybody had written it.
import { createHash } from "node:crypto";
import type { RememberedAnswer, RunningServer } from "@secure-local/console/api";
import { recordOf } from "../audit/call-records.js";

/** What may be asked. All but `questions` and `answer` are answered by one line, which ends the connection. */
export type ControlRequest =
  | { readonly ask: "state" }
  | { readonly ask: "restart"; readonly server: string }
  | { readonly ask: "stop"; readonly server: string }
  /** The answers that are remembered. */
  | { readonly ask: "remembered" }
  /** Takes back one of them, or all where `id` is absent. */
  | { readonly ask: "take back"; readonly id?: string | undefined; readonly by: AnswerPlace }
  /**
   * From now on each open question is told, and what becomes of it; the connection may answer what it was told. `by`: where
   * they are shown. A terminal that goes away has refused what it showed; a console has not, since it may be opened again.
   */
  | { readonly ask: "questions"; readonly by?: AnswerPlace | undefined }
  /** `shown` is the digest of the text that was shown: a consent to another text is none. */
  | {
      readonly ask: "answer";
      readonly id: string;
      readonly shown: string;
      readonly answer: PersonsAnswer;
      readonly by: AnswerPlace;
    };

/** What is answered, by what was asked. */
export interface ControlAnswers {
  readonly state: RunningServer;
  /** False: there is no server of that name. */
  readonly restart: boolean;
  readonly stop: boolean;
  readonly remembered: readonly RememberedAnswer[];
  /** What was taken back, by its names. */
  readonly "take back": readonly string[];
}

/** What a person may answer. */
export type PersonsAnswer = "approve" | "remember" | "deny";

/** Where a person answers. What says nothing of it, as an older version does, is a terminal. */
export type AnswerPlace = "terminal" | "console";

/** What became of a question: the answer that counted, or the reason why there is none. */
export interface SettledQuestion {
  readonly answer?: PersonsAnswer | undefined;
  readonly reason?: string | undefined;
  /** Where that answer was given; absent from what an older version says, and where there is none. */
  readonly by?: AnswerPlace | undefined;
  /** Whether the answer is that of whoever is told this. */
  readonly counted: boolean;
}

/** Told to those that asked for the questions. */
export type QuestionMessage =
  | {
      readonly kind: "question";
      readonly id: string;
      readonly text: string;
      readonly remember?: string | undefined;
      readonly secondsLeft: number;
    }
  | ({ readonly kind: "settled"; readonly id: string } & SettledQuestion);

/** Why there is no answer to a question whose server ended while it was open. */
export const SERVER_GONE = "its server was gone before anybody answered";
/** Why there is no answer when whoever had the question before their eyes has left. */
export const TERMINAL_CLOSED = "the terminal was closed";
/** Characters of a request: the longest is an answer, with its digest. */
export const MAX_REQUEST: number = 1_024;
/** Characters of a question's line: the longest question with every character escaped. */
export const MAX_LINE: number = 512 * 1024;

/** What names the text a person saw. */
export function digestOfText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function controlLine(message: ControlRequest | QuestionMessage): string {
  return `${JSON.stringify(message)}\n`;
}

/** Undefined for anything that cannot be asked. */
export function readControlRequest(line: string): ControlRequest | undefined {
  const { ask, server, id, shown, answer, by } = recordOf(line) ?? {};
  if (ask === "state" || ask === "remembered") return { ask };
  if (ask === "take back" && isPlace(by)) return typeof id === "string" ? { ask, id, by } : { ask, by };
  if (ask === "questions") return { ask, by: isPlace(by) ? by : "terminal" };
  if ((ask === "restart" || ask === "stop") && typeof server === "string") return { ask, server };
  if (ask !== "answer" || typeof id !== "string" || typeof shown !== "string") return undefined;
  return isAnswer(answer) ? { ask, id, shown, answer, by: isPlace(by) ? by : "terminal" } : undefined;
}

/** Undefined for anything a server does not say of its questions. */
export function readQuestionMessage(line: string): QuestionMessage | undefined {
  const { kind, id, text, remember, secondsLeft, answer, reason, by, counted } = recordOf(line) ?? {};
  if (typeof id !== "string") return undefined;
  if (kind === "settled") {
    const given = { ...(isAnswer(answer) ? { answer } : {}), ...(typeof reason === "string" ? { reason } : {}) };
    return { kind, id, ...given, ...(isPlace(by) ? { by } : {}), counted: counted === true };
  }
  if (kind !== "question" || typeof text !== "string" || typeof secondsLeft !== "number") return undefined;
  return { kind, id, text, secondsLeft, ...(typeof remember === "string" ? { remember } : {}) };
}

export function isAnswer(value: unknown): value is PersonsAnswer {
  return value === "approve" || value === "remember" || value === "deny";
}

export function isPlace(value: unknown): value is AnswerPlace {
  return value === "terminal" || value === "console";
}

/** Cuts what arrives into lines; a line that is too long ends it all. */
export class LineReader {
  readonly #max: number;
  readonly #line: (line: string) => void;
  readonly #tooLong: () => void;
  #rest = "";

  /** @param max Characters of a line. */
  constructor(max: number, line: (line: string) => void, tooLong: () => void) {
    this.#max = max;
    this.#line = line;
    this.#tooLong = tooLong;
  }

  read(text: string): void {
    this.#rest += text;
    for (let end = this.#rest.indexOf("\n"); end >= 0; end = this.#rest.indexOf("\n")) {
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 1);
      if (line.length > this.#max) return this.#tooLong();
      this.#line(line);
    }
    if (this.#rest.length > this.#max) this.#tooLong();
  }
}
