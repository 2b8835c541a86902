// `mcp-secure-local approve`: shows the calls that wait for a person's consent, one at a time, and takes the answers.
import { readdirSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { cleanText } from "../guard/cleaning/clean-text.js";
import { approvalsFolder } from "./approvals-folder.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { complain, ExitCode, print, styled } from "./terminal.js";
import { digestOfText, LineReader, readToTerminal, type ToTerminal, written } from "../guard/approvals/desk-message.js";
import { SOCKET_SUFFIX } from "../guard/approvals/terminal-desk.js";

/** Milliseconds between two looks for servers that ask: a person does not notice, a machine neither. */
const LOOK_MS = 500;
/** Characters of a question's name that allow its call: what was typed ahead does not fit. */
const CODE = 4;

/** Puts one line to the person; rejects when `signal` is aborted. */
export type AskLine = (prompt: string, signal: AbortSignal) => Promise<string>;

/** Resolves when the person leaves. @throws UsageError where there is no person */
export async function approveCommand(line: CommandLine): Promise<number> {
  if (line.words.length > 0) throw new UsageError(`approve takes nothing, not "${line.words[0]}"`);
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new UsageError("approve is answered by a person: run it in a terminal, without pipes");
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const left = new Promise<void>((resolve) => lines.on("close", resolve));
  const inbox = new ApprovalsInbox(approvalsFolder());
  inbox.look();
  const looking = setInterval(() => inbox.look(), LOOK_MS);
  print(styled("dim", "Calls that need consent appear here. Leave with Ctrl-C; what is open then is refused."));
  const ask: AskLine = (prompt, signal) => lines.question(prompt, { signal });
  await Promise.race([left, answerAll(inbox, ask)]);
  clearInterval(looking);
  inbox.close();
  lines.close();
  return ExitCode.Ok;
}

async function answerAll(inbox: ApprovalsInbox, ask: AskLine): Promise<void> {
  for (;;) await answerOne(await inbox.next(), ask);
}

/** Only the question's own code allows the call; anything else refuses it. */
export async function answerOne(waiting: Waiting, ask: AskLine): Promise<void> {
  const code = waiting.id.slice(0, CODE);
  const { remember, gone } = waiting;
  // What a server sends is harmless as it is; one that sends anything else gets no consent.
  if (cleanText(waiting.text) !== waiting.text) return waiting.answer("deny");
  complain(`\n${waiting.text}`);
  const keep = remember === undefined ? "" : `, ${styled("bold", `${code} keep`)} for this very call ${remember}`;
  try {
    const typed = await ask(`Type ${styled("bold", code)} to allow it${keep}; anything else refuses: `, gone);
    const given = typed.trim().toLowerCase().replace(/\s+/g, " ");
    const keeps = remember !== undefined && given === `${code} keep`;
    const answer = keeps ? "remember" : given === code ? "approve" : "deny";
    if (!gone.aborted)
      complain(answer === "deny" ? styled("red", "refused", "stderr") : styled("green", "allowed", "stderr"));
    waiting.answer(answer);
  } catch (error) {
    if (!gone.aborted) throw error;
    complain(styled("yellow", "\nno longer open"));
  }
}

// The open questions of all servers of this person: connects to those that ask, and gives one question at a time.

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
