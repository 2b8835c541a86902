// The open questions of all servers of this person: connects to those that ask, and gives one question at a time.
import { readdirSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { digestOfText, LineReader, readToTerminal, type ToTerminal, written } from "../guard/approvals/desk-message.js";
import { SOCKET_SUFFIX } from "../guard/approvals/terminal-desk.js";

/** A question that waits for an answer. */
export interface Waiting {
  readonly id: string;
  readonly text: string;
  /** How long a remembered consent would last, in words; undefined where there is none. */
  readonly remember: string | undefined;
  readonly secondsLeft: number;
  /** Aborted when the question is settled or its server is gone. */
  readonly gone: AbortSignal;
  /** The first answer counts. */
  answer(answer: "approve" | "remember" | "deny"): void;
}

/** Servers asked at once, and questions of each that are kept: more than anybody has. */
const MAX_SERVERS = 64;
const MAX_QUESTIONS = 64;

export class ApprovalsInbox {
  readonly #folder: string;
  readonly #servers = new Map<string, Socket>();
  readonly #waiting: Waiting[] = [];
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
  async next(): Promise<Waiting> {
    for (;;) {
      const first = this.#waiting.shift();
      if (first !== undefined && !first.gone.aborted) return first;
      if (first === undefined) await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
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
      open.get(id)?.abort();
      open.delete(id);
      return;
    }
    if (open.size >= MAX_QUESTIONS) return;
    const gone = new AbortController();
    open.set(id, gone);
    const { text, remember, secondsLeft } = message;
    const shown = digestOfText(text);
    const answer: Waiting["answer"] = (given) => {
      if (!gone.signal.aborted) server.write(written({ kind: "answer", id, shown, answer: given }));
    };
    this.#waiting.push({ id, text, remember, secondsLeft, gone: gone.signal, answer });
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
