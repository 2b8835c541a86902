// Stands between a client on stdio and a server behind a link: passes messages on both ways, and tells of each of them.
import { once } from "node:events";
import { type Readable, Transform, type Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { Transport } from "@secure-local/mcp/client";
import { LocalError } from "@secure-local/mcp/client/node";
import { unseenEscaped } from "@secure-local/inspection/escape-unseen";
import { TextLink } from "../remote/text-link.js";
import { isRequest, isResponse, messagesOf, type RecordingFile, type Side } from "./recording.js";
import type { CommandTarget } from "../remote/target.js";

/** Who is told of each message. */
interface Observer {
  take(from: Side, line: string): void;
}

/** Longest message of a client: what the servers of our own library take, several times over. */
export const LONGEST_LINE: number = 32 * 1024 * 1024;
const TOO_LONG = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A message is longer than ${LONGEST_LINE} characters"}}`;

/** A client that has said all it wanted may still be waiting for answers. */
const LAST_ANSWERS_MS = 5_000;

/** Resolves when the client has gone and has its answers, or when the server has gone. */
export async function recordLink(
  link: Transport,
  observer: Observer,
  { input, output, noise }: Streams & { readonly noise?: (line: string) => void },
): Promise<void> {
  const open = new OpenRequests();
  const text = new TextLink(link, {
    receive(line) {
      observer.take("server", line);
      open.see("server", line);
      // A server waits while the client is behind with reading.
      if (!output.write(`${line}\n`)) return once(output, "drain").then(() => undefined);
    },
    ...(noise === undefined ? {} : { noise }),
    ended() {
      open.giveUp();
      input.destroy();
    },
  });
  await text.open();
  try {
    for await (const line of linesOf(input)) {
      if (line === undefined) {
        output.write(`${TOO_LONG}\n`);
        continue;
      }
      observer.take("client", line);
      open.see("client", line);
      await text.send(line);
    }
    await open.settled(LAST_ANSWERS_MS);
  } finally {
    await text.close();
  }
}

/** Each line that is not empty; undefined for one that is too long, of which nothing more is kept. Ends when the input does. */
export async function* linesOf(input: Readable): AsyncGenerator<string | undefined> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let skipping = false;
  try {
    for await (const chunk of input) {
      const lines = `${rest}${decoder.write(chunk as Buffer)}`.split("\n");
      rest = lines.pop() as string;
      for (const line of lines) {
        if (!skipping && line.trim() !== "") yield line.replace(/\r$/, "");
        skipping = false;
      }
      if (rest.length <= LONGEST_LINE) continue;
      if (!skipping) yield undefined;
      skipping = true;
      rest = "";
    }
  } catch (error) {
    // The input was given up because the server is gone.
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
  if (!skipping && rest.trim() !== "") yield rest;
}

/** The client's requests that have no answer yet. */
class OpenRequests {
  readonly #ids: Set<unknown> = new Set();
  #empty: (() => void) | undefined;

  see(from: Side, line: string): void {
    for (const message of messagesOf({ at: 0, from, message: parsed(line) })) {
      if (from === "client" && isRequest(message)) this.#ids.add(message["id"]);
      if (from === "server" && isResponse(message)) this.#ids.delete(message["id"]);
    }
    if (this.#ids.size === 0) this.#empty?.();
  }

  giveUp(): void {
    this.#ids.clear();
    this.#empty?.();
  }

  settled(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#ids.size === 0) return resolve();
      const timer = setTimeout(resolve, ms);
      this.#empty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

// Lets bytes through as they are, and tells of each line in them.

/** More than this of one line is not kept in memory; the line is told of as far as it was kept. */
const MOST_KEPT = 16 * 1024 * 1024;

function lineObserver(take: (line: string) => void): Transform {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const observe = (text: string): void => {
    const lines = text.split("\n");
    lines[0] = `${rest}${lines[0]}`;
    rest = (lines.pop() as string).slice(0, MOST_KEPT);
    for (const line of lines) if (line.trim() !== "") take(line.replace(/\r$/, ""));
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      observe(decoder.write(chunk));
      done(undefined, chunk);
    },
    flush(done) {
      if (rest.trim() !== "") take(rest);
      done();
    },
  });
}

// Stands between a client and the server it wanted to start: passes everything on as it is, and writes it down.

interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

/** A server whose input has ended gets this long until it is told to end, and this long again until it is killed. */
const PATIENCE_MS = 5_000;
const SIGNAL_CODE = 128;

/** Resolves with the server's exit code when it has ended. Rejects with SPAWN_FAILED. */
export async function recordChild(
  { command, args, env, cwd }: CommandTarget,
  recording: RecordingFile,
  { input, output }: Streams,
): Promise<number> {
  // The client has set up our environment for the server.
  const child = spawn(command, [...args], {
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stderr.pipe(unseenEscaped()).pipe(process.stderr, { end: false });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new LocalError("SPAWN_FAILED", `Cannot start ${command}: ${(error as Error).message}`, { cause: error });
  }
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", pass).on("SIGTERM", pass);
  const timers: NodeJS.Timeout[] = [];
  input.once("end", () => {
    timers.push(setTimeout(pass, PATIENCE_MS, "SIGTERM"), setTimeout(pass, 2 * PATIENCE_MS, "SIGKILL"));
  });
  // Whoever stops reading ends the other side, not us.
  child.stdin.on("error", () => undefined);
  input.pipe(lineObserver((line) => recording.take("client", line))).pipe(child.stdin);
  child.stdout.pipe(lineObserver((line) => recording.take("server", line))).pipe(output, { end: false });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  for (const timer of timers) clearTimeout(timer);
  process.removeListener("SIGINT", pass).removeListener("SIGTERM", pass);
  input.unpipe();
  input.destroy();
  return code ?? SIGNAL_CODE + constants.signals[signal ?? "SIGTERM"];
}
