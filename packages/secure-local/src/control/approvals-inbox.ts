// The open questions of all servers of this person, by their control sockets: given one by one or all, and what became of them.
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { removeDeadSocket, socketsIn } from "./control-client.js";
import {
  controlLine,
  digestOfText,
  LineReader,
  MAX_LINE,
  type AnswerPlace,
  type PersonsAnswer,
  type QuestionMessage,
  readQuestionMessage,
  SERVER_GONE,
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

/** A question that is open here. Servers that share with others show those of the others too, so it may come from several. */
interface Heard {
  readonly over: AbortController;
  readonly text: string;
  readonly servers: Set<Socket>;
}

export class ApprovalsInbox {
  readonly #folder: string;
  readonly #by: AnswerPlace;
  readonly #open = new Map<string, Heard>();
  readonly #servers = new Map<string, Socket>();
  /** Of a version that tells no questions: not asked again. */
  readonly #deaf = new Set<string>();
  readonly #settled = new Map<string, SettledQuestion & { readonly at: number }>();
  #waiting: PendingQuestion[] = [];
  /** Whether a server has ended since the last look. */
  #left = false;
  #arrived: (() => void) | undefined;

  /**
   * @param folder where control sockets are.
   * @param by where the answers are given, for the record and for whoever has the same questions before their eyes.
   */
  constructor(folder: string, by: AnswerPlace) {
    this.#folder = folder;
    this.#by = by;
  }

  /** Connects to servers that have begun since the last look. @returns whether any has, or one has ended since */
  look(): boolean {
    let found = this.#left;
    this.#left = false;
    const names = socketsIn(this.#folder);
    for (const name of this.#deaf) if (!names.includes(name)) this.#deaf.delete(name);
    for (const name of names) {
      if (this.#servers.has(name) || this.#deaf.has(name) || this.#servers.size >= MAX_SERVERS) continue;
      this.#connect(name, join(this.#folder, name));
      found = true;
    }
    return found;
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
    const server = connect(path, () => server.write(controlLine({ ask: "questions", by: this.#by })));
    this.#servers.set(name, server);
    server.setEncoding("utf8");
    const heard = (line: string): void => {
      const message = readQuestionMessage(line);
      if (message === undefined) this.#deaf.add(name);
      else if (message.kind === "settled") this.#over(server, message);
      else this.#asked(message, server);
    };
    const lines = new LineReader(MAX_LINE, heard, () => server.destroy());
    server.on("data", (text: string) => lines.read(text));
    server.on("error", (error) => removeDeadSocket(path, error));
    server.on("close", () => {
      this.#servers.delete(name);
      this.#left = true;
      for (const [id, { servers }] of this.#open) {
        if (servers.size > 1) servers.delete(server);
        else this.#over(server, { id, reason: SERVER_GONE, counted: false });
      }
    });
  }

  #over(server: Socket, message: SettledQuestion & { readonly id: string }): void {
    const { id, answer, reason, by, counted } = message;
    const heard = this.#open.get(id);
    if (heard?.servers.has(server) !== true) return;
    this.#open.delete(id);
    const settled = { answer, reason, by, counted };
    this.#settled.set(id, { ...settled, at: Date.now() });
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > MAX_SETTLED && oldest !== undefined) this.#settled.delete(oldest);
    heard.over.abort(settled);
  }

  #asked({ id, text, remember, secondsLeft }: Extract<QuestionMessage, { kind: "question" }>, server: Socket): void {
    const heard = this.#open.get(id);
    if (heard !== undefined) {
      // The one that asks and those that show it say the same; whoever says another thing asks nothing here.
      if (heard.text === text) heard.servers.add(server);
      return;
    }
    if ([...this.#open.values()].filter(({ servers }) => servers.has(server)).length >= MAX_QUESTIONS) return;
    const over = new AbortController();
    const gone = over.signal;
    const servers = new Set([server]);
    this.#open.set(id, { over, text, servers });
    const shown = digestOfText(text);
    let answered = false;
    const answer: PendingQuestion["answer"] = async (given) => {
      const first = !answered;
      answered = true;
      const said = controlLine({ ask: "answer", id, shown, answer: given, by: this.#by });
      if (first && !gone.aborted) for (const each of servers) each.write(said);
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
