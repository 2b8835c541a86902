// A client that costs as little as possible: it writes prepared lines, counts newlines and looks into answers afterwards.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

const NEWLINE = 10;
/** A server that says nothing for this long has failed; the slowest honest answer measured takes 0.2 s. */
const SILENCE_MS = 30_000;
/** Enough of stderr to find the sentence that says why a server did not start. */
const STDERR_CHARS = 8_000;

/** Starts `command args`, its standard input and output in the hands of the returned client. */
export function startServer({ command = process.execPath, args, env = process.env, cwd }) {
  return new RawClient(spawn(command, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"] }));
}

export class RawClient {
  constructor(child) {
    this.child = child;
    this.pid = child.pid;
    this.stderr = "";
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve(signal ?? code));
      child.once("error", resolve);
    });
    this.consume = undefined;
    this.fail = undefined;
    /** Answers `pump` has counted so far, those of a pump that failed included. */
    this.answers = 0;
    child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr = (this.stderr + text).slice(0, STDERR_CHARS)));
    child.stdout.on("data", (chunk) => this.consume?.(chunk));
    child.stdin.on("error", () => {}); // the exit, reported below, is the better news
    void this.exited.then((how) => this.fail?.(new Error(`the server ended (${how})${this.complaint()}`)));
  }

  /** What the server said on stderr about its trouble: the line that names an error, else the last one. */
  complaint() {
    const lines = this.stderr.trim().split("\n");
    const said = lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
    return said === "" ? "" : `: ${said.trim().slice(0, 300)}`;
  }

  /** Gives every chunk to `onChunk(chunk, done)` until it calls `done(value)`; fails on silence and on exit. */
  read(onChunk) {
    return new Promise((resolve, reject) => {
      let heard = true;
      const finish = (settle, value) => {
        clearInterval(watchdog);
        this.consume = this.fail = undefined;
        settle(value);
      };
      const watchdog = setInterval(() => {
        if (!heard) this.fail?.(new Error(`no answer for ${SILENCE_MS / 1000} s${this.complaint()}`));
        heard = false;
      }, SILENCE_MS);
      const done = (value) => finish(resolve, value);
      this.fail = (error) => finish(reject, error);
      this.consume = (chunk) => {
        heard = true;
        onChunk(chunk, done);
      };
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        this.fail(new Error(`the server has ended${this.complaint()}`));
      }
    });
  }

  /** Sends `text` and resolves to the next line that has an `id`, as the buffers it came in. */
  async exchange(text) {
    const parts = [];
    const answered = this.read((chunk, done) => {
      parts.push(chunk);
      if (chunk[chunk.length - 1] === NEWLINE) done();
    });
    this.child.stdin.write(text);
    await answered;
    return Buffer.concat(parts);
  }

  /** One request and its answer, parsed. Notifications that come first are passed over. */
  async request(message) {
    let text = `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
    for (;;) {
      const lines = (await this.exchange(text)).toString("utf8").trimEnd().split("\n");
      const answer = lines.map((line) => JSON.parse(line)).find((candidate) => candidate.id === message.id);
      if (answer !== undefined) return answer;
      text = "";
    }
  }

  notify(method) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method })}\n`);
  }

  /** The handshake of 2025-11-25, which every server here speaks. */
  async initialize() {
    const answer = await this.request(INITIALIZE);
    if (answer.result === undefined) throw new Error(`initialize was refused: ${JSON.stringify(answer.error)}`);
    this.notify("notifications/initialized");
    return answer.result;
  }

  /**
   * Sends every line of `requests`, never more than `inFlight` unanswered, writing once for each chunk that freed places.
   * Resolves to what came back when as many lines came as were sent.
   */
  async pump(requests, inFlight) {
    const chunks = [];
    let sent = Math.min(inFlight, requests.length);
    let answered = 0;
    const finished = this.read((chunk, done) => {
      chunks.push(chunk);
      const lines = countLines(chunk);
      answered += lines;
      this.answers += lines;
      if (answered >= requests.length) return done();
      const until = Math.min(answered + inFlight, requests.length);
      if (until > sent) this.child.stdin.write(requests.slice(sent, until).join(""));
      sent = Math.max(sent, until);
    });
    this.child.stdin.write(requests.slice(0, sent).join(""));
    await finished;
    return chunks;
  }

  /** Ends the server politely, then by force; resolves when it is gone. */
  async stop() {
    this.child.stdin.end();
    const gone = await Promise.race([this.exited.then(() => true), delay(500, false, { ref: false })]);
    if (!gone) this.child.kill("SIGKILL");
    await this.exited;
  }
}

export const INITIALIZE = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } },
};

/** Milliseconds an empty program takes from spawn to exit. */
export async function runToExit(args, env = process.env) {
  const from = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  await once(child, "exit");
  return performance.now() - from;
}

export function countLines(chunk) {
  let lines = 0;
  for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}
