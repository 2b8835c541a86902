// Puts questions to the person at a terminal of this machine, who runs `mcp-secure-local approve` there.
//
// While questions are open, a socket in a folder of their owner's only is listened at; a socket there is a server that asks.
// Whoever ran before and was killed has left one at which nobody answers: its questions are gone with it.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { digestOfText, LineReader, readTerminalAnswer, type ToTerminal, terminalLine } from "./terminal-message.js";
import { makeFolder } from "../../audit/make-folder.js";

/** The end of a socket's name. */
export const SOCKET_SUFFIX: string = ".ask";
/** Bytes of a path that every system takes for a socket. */
const MAX_PATH = 103;
/** Terminals one person sits at. */
const MAX_TERMINALS = 8;

interface Open {
  readonly question: ApprovalQuestion;
  readonly ends: number;
  readonly shownAt: Set<Socket>;
  settle(reply: ApprovalReply): void;
}

export class TerminalChannel implements ApprovalChannel {
  readonly #folder: string;
  readonly #say: (line: string) => void;
  readonly #open = new Map<string, Open>();
  readonly #terminals = new Set<Socket>();
  #listening: Promise<Server> | undefined;

  /** @param folder for the sockets; made, for its owner only, with the first question. `say` tells the operator to answer. */
  constructor(folder: string, say: (line: string) => void) {
    this.#folder = folder;
    this.#say = say;
  }

  async ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply> {
    let settle!: (reply: ApprovalReply) => void;
    const reply = new Promise<ApprovalReply>((resolve) => (settle = resolve));
    const ends = performance.now() + question.timeoutMs;
    const open: Open = { question, ends, shownAt: new Set(), settle };
    this.#open.set(question.id, open);
    const withdraw = (): void => this.#settle(open, { answer: undefined, reason: "the question was withdrawn" });
    signal.addEventListener("abort", withdraw);
    try {
      await (this.#listening ??= this.#listen());
      if (signal.aborted) withdraw();
      if (this.#terminals.size === 0) this.#say("a call waits for consent: run mcp-secure-local approve in a terminal");
      for (const terminal of this.#terminals) this.#show(open, terminal);
      return await reply;
    } catch (error) {
      this.#say(`nobody can be asked in a terminal: ${error instanceof Error ? error.message : String(error)}`);
      return { answer: undefined, reason: "the question could not be put to a terminal" };
    } finally {
      signal.removeEventListener("abort", withdraw);
      this.#open.delete(question.id);
      if (this.#open.size === 0) await this.#close();
    }
  }

  async #listen(): Promise<Server> {
    if (process.platform === "win32")
      throw new Error("Windows has no folder that only its owner's programs can listen in");
    ownFolder(this.#folder);
    const path = join(this.#folder, `${process.pid}-${randomBytes(4).toString("hex")}${SOCKET_SUFFIX}`);
    if (Buffer.byteLength(path) > MAX_PATH) throw new Error(`${path} is too long a path for a socket`);
    const server = createServer((terminal) => this.#welcome(terminal));
    server.maxConnections = MAX_TERMINALS;
    server.unref();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    fs.chmodSync(path, 0o600);
    return server;
  }

  /** Closing a server removes its socket. */
  async #close(): Promise<void> {
    const listening = this.#listening;
    this.#listening = undefined;
    const server = await listening?.catch(() => undefined);
    server?.close();
    for (const terminal of this.#terminals) terminal.end();
    this.#terminals.clear();
  }

  #welcome(terminal: Socket): void {
    this.#terminals.add(terminal);
    terminal.unref();
    terminal.setEncoding("utf8");
    const lines = new LineReader(
      (line) => this.#answered(line, terminal),
      () => terminal.destroy(),
    );
    terminal.on("data", (text: string) => lines.read(text));
    terminal.on("error", () => undefined);
    terminal.on("close", () => this.#left(terminal));
    for (const open of this.#open.values()) this.#show(open, terminal);
  }

  #show(open: Open, terminal: Socket): void {
    const { id, text, remember } = open.question;
    const secondsLeft = Math.max(0, (open.ends - performance.now()) / 1_000);
    open.shownAt.add(terminal);
    this.#send(terminal, { kind: "question", id, text, secondsLeft, remember });
  }

  /** Each question takes one answer, from a terminal that was shown all of it. */
  #answered(line: string, terminal: Socket): void {
    const given = readTerminalAnswer(line);
    const open = given && this.#open.get(given.id);
    if (given === undefined || open === undefined || !open.shownAt.has(terminal)) return;
    if (given.shown !== digestOfText(open.question.text)) {
      this.#settle(open, { answer: undefined, reason: "the terminal had shown another text" });
      return;
    }
    const notOffered = given.answer === "remember" && open.question.remember === undefined;
    this.#settle(open, { answer: notOffered ? "deny" : given.answer });
  }

  /** Who had the question before their eyes and goes away has not said yes. */
  #left(terminal: Socket): void {
    this.#terminals.delete(terminal);
    for (const open of this.#open.values()) {
      if (open.shownAt.delete(terminal) && open.shownAt.size === 0)
        this.#settle(open, { answer: undefined, reason: "the terminal was closed" });
    }
  }

  #settle(open: Open, reply: ApprovalReply): void {
    if (!this.#open.delete(open.question.id)) return;
    const { answer } = reply;
    for (const terminal of open.shownAt) this.#send(terminal, { kind: "settled", id: open.question.id, answer });
    open.settle(reply);
  }

  #send(terminal: Socket, message: ToTerminal): void {
    if (terminal.writable) terminal.write(terminalLine(message));
  }
}

/** @throws Error when the folder is somebody else's, or others may look in */
function ownFolder(path: string): void {
  makeFolder(path);
  const found = fs.lstatSync(path);
  const { uid, mode } = found;
  if (!found.isDirectory() || uid !== process.getuid?.()) throw new Error(`${path} is not a folder of yours`);
  if ((mode & 0o077) !== 0) fs.chmodSync(path, 0o700);
}

// What a channel to a person is: where questions are put when the client cannot ask its user.

/** One question. */
export interface ApprovalQuestion {
  /** Names it; random, so that nobody answers a question that was never put. */
  readonly id: string;
  /** The whole text, safe for a terminal. */
  readonly text: string;
  /** How long a remembered consent would last, in words; undefined where consents are not remembered. */
  readonly remember: string | undefined;
  readonly timeoutMs: number;
}

/** What became of a question: an answer, or why there is none. */
export type ApprovalReply =
  | { readonly answer: "approve" | "remember" | "deny" }
  | { readonly answer: undefined; readonly reason: string };

export interface ApprovalChannel {
  /** Puts a question until it is answered or `signal` is aborted. Never rejects. */
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply>;
}
