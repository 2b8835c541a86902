// One conversation with the built server as a child process: every line is shown with an arrow and every answer judged.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Longest line shown; what is longer ends in an ellipsis. */
const WIDTH = Math.max(60, Math.min(process.stdout.columns ?? 160, 200));
/** An answer that takes longer will not come. */
const PATIENCE_MS = 5_000;

export class Conversation {
  /** Sentences about what was wrong. */
  faults = [];
  answers = 0;
  #ids = 0;
  #child;
  #waiting = new Map();

  /** Starts `program` (a script for this Node) with `args`. */
  constructor(program, args) {
    this.#child = spawn(process.execPath, [program, ...args], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#heard(line));
    this.#child.on("exit", () => this.#lost("the server ended"));
  }

  /** Sends a request, waits for its answer and judges it: `judge` throws, or returns false for a wrong one. */
  async ask(method, params, what, judge) {
    const id = (this.#ids += 1);
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    const timer = setTimeout(() => this.#lost(`no answer to ${method}`), PATIENCE_MS);
    this.#send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    const message = await answer;
    clearTimeout(timer);
    this.answers += 1;
    const fault = faultOf(message, judge);
    if (fault !== undefined) this.faults.push(`${method}: expected ${what}${fault}`);
    print(fault === undefined ? `  ok: ${what}` : `  WRONG: expected ${what}${fault}`);
    return message;
  }

  tell(method) {
    this.#send({ jsonrpc: "2.0", method });
  }

  /** Ends the input, as a client does, and waits until the server has gone. */
  async close() {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, "exit");
    if (this.#child.exitCode !== 0) this.faults.push(`the server's exit code was ${this.#child.exitCode}, not 0`);
  }

  #send(message) {
    const line = JSON.stringify(message);
    print(`→ ${line}`);
    this.#child.stdin.write(`${line}\n`);
  }

  #heard(line) {
    print(`← ${line}`);
    const message = JSON.parse(line);
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }

  #lost(why) {
    for (const resolve of this.#waiting.values()) resolve({ lost: why });
    this.#waiting.clear();
  }
}

/** Prints one line, as wide as fits. */
export function print(text) {
  console.log(text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text);
}

function faultOf(message, judge) {
  if (message.lost !== undefined) return ` (${message.lost})`;
  try {
    return judge(message) === false ? "" : undefined;
  } catch (error) {
    return ` (${error.message})`;
  }
}
