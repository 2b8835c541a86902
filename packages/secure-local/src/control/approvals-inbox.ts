// The open questions of all servers of this person, by their control sockets: given one by one or all, and what became of them.
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { removeDeadSocket, socketsIn } from "./control-client.js";
import {
  controlLine,
  digestOfText,
  LineReader,
  MAX_LINE,
  type PersonsAnswer,
  type QuestionMessage,
  readQuestionMessage,
  type SettledQuestion,
} from "./control-messages.js";

/** A question that waits for an answer. */
export interface PendingQuestion {
  readonly id: string;
  readonly text: string;
  /** How long a remembered consent would last, in words; undefined where there is none. */
  readonly remember: string | undefined;
  readonly secondsLeft: number;
  /** Milliseconds since 1970 at which nobody's answer counts any more. */
  readonly until: number;
  /** Aborted when the question is over, with a `SettledQuestion` as the reason. */
  readonly gone: AbortSignal;
  /** Sends the first answer that is given here. @returns what became of the question; undefined while its server is silent */
  answer(answer: PersonsAnswer): Promise<SettledQuestion | undefined>;
}

/** Servers asked at once, and questions of each that are kept: more than anybody has. */
const MAX_SERVERS = 64;
const MAX_QUESTIONS = 64;
/** Questions that are over, of which it is known what became: an answer to an older one comes from a page of hours ago. */
const MAX_SETTLED = 256;
/** Milliseconds a server has to say that it has heard an answer: it is on this machine, and may be busy. */
const HEARD_MS = 3_000;

export class ApprovalsInbox {
  readonly #folder: string;
  readonly #servers = new Map<string, Socket>();
  /** Of a version that tells no questions: not asked again. */
  readonly #deaf = new Set<string>();
  readonly #settled = new Map<string, SettledQuestion & { readonly at: number }>();
  #waiting: PendingQuestion[] = [];
  #arrived: (() => void) | undefined;

  /** @param folder where control sockets are. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Connects to servers that have begun since the last look. */
  look(): void {
    const names = socketsIn(this.#folder);
    for (const name of this.#deaf) if (!names.includes(name)) this.#deaf.delete(name);
    for (const name of names) {
      if (this.#servers.has(name) || this.#deaf.has(name) || this.#servers.size >= MAX_SERVERS) continue;
      this.#connect(name, join(this.#folder, name));
    }
  }

  /** The next question that is still open; resolves when there is one. */
  async next(): Promise<PendingQuestion> {
    for (;;) {
      const first = this.#waiting.shift();
      if (first !== undefined && !first.gone.aborted) return first;
      if (first === undefined) await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }

  /** All questions that are open, the oldest first. They stay; `next` takes them out. */
  open(): readonly PendingQuestion[] {
    this.#waiting = this.#waiting.filter(({ gone }) => !gone.aborted);
    return this.#waiting;
  }

  /** Questions that are over, by their ids, the oldest first, with the time in milliseconds since 1970. */
  get settled(): ReadonlyMap<string, SettledQuestion & { readonly at: number }> {
    return this.#settled;
  }

  close(): void {
    for (const server of this.#servers.values()) server.destroy();
  }

  #connect(name: string, path: string): void {
    const open = new Map<string, AbortController>();
    const server = connect(path, () => server.write(controlLine({ ask: "questions" })));
    this.#servers.set(name, server);
    server.setEncoding("utf8");
    const heard = (line: string): void => {
      const message = readQuestionMessage(line);
      if (message === undefined) this.#deaf.add(name);
      else if (message.kind === "settled") this.#over(open, message);
      else this.#asked(message, server, open);
    };
    const lines = new LineReader(MAX_LINE, heard, () => server.destroy());
    server.on("data", (text: string) => lines.read(text));
    server.on("error", (error) => removeDeadSocket(path, error));
    server.on("close", () => {
      this.#servers.delete(name);
      for (const id of open.keys()) this.#over(open, { id, reason: "its server is gone", counted: false });
    });
  }

  #over(open: Map<string, AbortController>, message: SettledQuestion & { readonly id: string }): void {
    const { id, answer, reason, counted } = message;
    const gone = open.get(id);
    if (gone === undefined) return;
    open.delete(id);
    const settled = { answer, reason, counted };
    this.#settled.set(id, { ...settled, at: Date.now() });
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > MAX_SETTLED && oldest !== undefined) this.#settled.delete(oldest);
    gone.abort(settled);
  }

  #asked(
    { id, text, remember, secondsLeft }: Extract<QuestionMessage, { kind: "question" }>,
    server: Socket,
    open: Map<string, AbortController>,
  ): void {
    if (open.size >= MAX_QUESTIONS) return;
    const over = new AbortController();
    const gone = over.signal;
    open.set(id, over);
    const shown = digestOfText(text);
    let answered = false;
    const answer: PendingQuestion["answer"] = async (given) => {
      const first = !answered;
      answered = true;
      if (first && !gone.aborted) server.write(controlLine({ ask: "answer", id, shown, answer: given }));
      const settled = await becameOf(gone);
      return settled && { ...settled, counted: first && settled.counted };
    };
    const until = Date.now() + secondsLeft * 1_000;
    this.#waiting.push({ id, text, remember, secondsLeft, until, gone, answer });
    this.#arrived?.();
  }
}

function becameOf(gone: AbortSignal): Promise<SettledQuestion | undefined> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve(gone.aborted ? (gone.reason as SettledQuestion) : undefined);
    };
    const timer = setTimeout(done, HEARD_MS);
    if (gone.aborted) done();
    else gone.addEventListener("abort", done, { once: true });
  });
}
