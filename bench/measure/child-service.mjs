// A child process that is told what to do over its IPC channel and whose words and end are kept.
import { fork } from "node:child_process";

/** Enough of stderr to find the sentence that says why a child failed. */
const STDERR_CHARS = 8_000;
/** A child that does not answer for this long has failed. */
const SILENCE_MS = 180_000;
/** What a child may take to end and to write what it was asked to write at its end. */
const PATIENCE_MS = 5_000;

export class ChildService {
  #heard = [];
  #waiting;
  #stderr = "";

  constructor(path, { args = [], env = process.env, execArgv = [] } = {}) {
    this.child = fork(path, args, { env, execArgv, stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.pid = this.child.pid;
    this.exited = new Promise((resolve) => {
      this.child.once("exit", (code, signal) => resolve(signal ?? code));
      this.child.once("error", resolve);
    });
    this.child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#stderr = (this.#stderr + text).slice(0, STDERR_CHARS);
    });
    this.child.on("message", (message) => {
      if (this.#waiting === undefined) this.#heard.push(message);
      else this.#waiting.resolve(message);
    });
    void this.exited.then((how) => this.#waiting?.reject(new Error(`the process ended (${how})${this.complaint()}`)));
  }

  /** What the child said on stderr about its trouble: the line that names an error, else the last one. */
  complaint() {
    const lines = this.#stderr.trim().split("\n");
    const said = lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
    return said === "" ? "" : `: ${said.trim().slice(0, 300)}`;
  }

  /** The next message of the child; rejects when it ends or is silent for too long. */
  hear() {
    if (this.#heard.length > 0) return Promise.resolve(this.#heard.shift());
    return new Promise((resolve, reject) => {
      const settle = (settler) => (value) => {
        clearTimeout(timer);
        this.#waiting = undefined;
        settler(value);
      };
      this.#waiting = { resolve: settle(resolve), reject: settle(reject) };
      const timer = setTimeout(() => this.#waiting?.reject(new Error("no answer from the process")), SILENCE_MS);
    });
  }

  /** Sends a message and resolves to the next one that comes. */
  ask(message) {
    this.child.send(message);
    return this.hear();
  }

  /** Has a job done that answers `{ value }` or `{ failed }`. */
  async run(job, options) {
    const { value, failed } = await this.ask({ job, options });
    if (failed !== undefined) throw new Error(failed);
    return value;
  }

  /** Lets the child end by itself, as it should when its channel closes, then ends it by force. */
  async stop() {
    if (this.child.connected) this.child.disconnect();
    const force = setTimeout(() => this.child.kill("SIGKILL"), PATIENCE_MS);
    await this.exited;
    clearTimeout(force);
  }
}
