// Stands between a client on stdio and a server behind a link: passes messages on both ways, and tells of each of them.
import { once } from "node:events";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { Link } from "@secure-local/mcp/client";
import { TextLink } from "../remote/text-link.js";
import { isRequest, isResponse } from "./exchange.js";
import type { Streams } from "./record-child.js";
import { messagesOf, type Side } from "./recording.js";

/** Who is told of each message. */
export interface Observer {
  take(from: Side, line: string): void;
}

/** Longest message of a client: what the servers of our own library take, several times over. */
const LONGEST_LINE = 32 * 1024 * 1024;
const TOO_LONG = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A message is longer than ${LONGEST_LINE} characters"}}`;

/** A client that has said all it wanted may still be waiting for answers. */
const LAST_ANSWERS_MS = 5_000;

/** Resolves when the client has gone and has its answers, or when the server has gone. */
export async function recordLink(
  link: Link,
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
async function* linesOf(input: Readable): AsyncGenerator<string | undefined> {
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
