// The open questions of all servers of this person: connects to those that ask, and gives the questions one by one or all.
import { readdirSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import {
  digestOfText,
  LineReader,
  type PersonsAnswer,
  readToTerminal,
  type ToTerminal,
  terminalLine,
} from "./terminal-message.js";
import { SOCKET_SUFFIX } from "./terminal-channel.js";

/** A question that waits for an answer. */
export interface PendingQuestion {
  readonly id: string;
  readonly text: string;
  /** How long a remembered consent would last, in words; undefined where there is none. */
  readonly remember: string | undefined;
  readonly secondsLeft: number;
  /** Milliseconds since 1970 at which nobody's answer counts any more. */
  readonly until: number;
  /** Aborted when the question is settled, with the answer that counted as the reason, or its server is gone. */
  readonly gone: AbortSignal;
  /** Sends the first answer that is given here, and says whether this is the one. */
  answer(answer: PersonsAnswer): boolean;
}

/** Servers asked at once, and questions of each that are kept: more than anybody has. */
const MAX_SERVERS = 64;
const MAX_QUESTIONS = 64;

export class ApprovalsInbox {
  readonly #folder: string;
  readonly #servers = new Map<string, Socket>();
  #waiting: PendingQuestion[] = [];
  #arrived: (() => void) | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Connects to servers that have begun to ask. */
  look(): void {
    for (const name of socketsIn(this.#folder)) {
      if (this.#servers.has(name) || this.#servers.size >= MAX_SERVERS) continue;
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

  close(): void {
    for (const server of this.#servers.values()) server.destroy();
  }

  #connect(name: string, path: string): void {
    const open = new Map<string, AbortController>();
    const server = connect(path);
    this.#servers.set(name, server);
    server.setEncoding("utf8");
    const lines = new LineReader(
      (line) => this.#heard(readToTerminal(line), server, open),
      () => server.destroy(),
    );
    server.on("data", (text: string) => lines.read(text));
    server.on("error", (error: NodeJS.ErrnoException) => {
      // Its server was killed; whoever asks now has another name.
      if (error.code === "ECONNREFUSED") rmSync(path, { force: true });
    });
    server.on("close", () => {
      this.#servers.delete(name);
      for (const gone of open.values()) gone.abort();
    });
  }

  #heard(message: ToTerminal | undefined, server: Socket, open: Map<string, AbortController>): void {
    if (message === undefined) return;
    const { id } = message;
    if (message.kind === "settled") {
      open.get(id)?.abort(message.answer);
      open.delete(id);
      return;
    }
    if (open.size >= MAX_QUESTIONS) return;
    const gone = new AbortController();
    open.set(id, gone);
    const { text, remember, secondsLeft } = message;
    const shown = digestOfText(text);
    let answered = false;
    const answer: PendingQuestion["answer"] = (given) => {
      if (answered || gone.signal.aborted) return false;
      answered = true;
      server.write(terminalLine({ kind: "answer", id, shown, answer: given }));
      return true;
    };
    const until = Date.now() + secondsLeft * 1_000;
    this.#waiting.push({ id, text, remember, secondsLeft, until, gone: gone.signal, answer });
    this.#arrived?.();
  }
}

function socketsIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(SOCKET_SUFFIX));
  } catch {
    // Nobody has asked yet.
    return [];
  }
}
