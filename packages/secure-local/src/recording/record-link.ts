// Stands between a client on stdio and a server at a URL: passes messages on, and writes them down.
import { createInterface, type Interface } from "node:readline";
import type { Link } from "@secure-local/mcp/client";
import { TextLink } from "../remote/text-link.js";
import { isRequest, isResponse } from "./exchange.js";
import type { Streams } from "./record-child.js";
import { messagesOf, type RecordingFile, type Side } from "./recording.js";

/** A client that has said all it wanted may still be waiting for answers. */
const LAST_ANSWERS_MS = 5_000;

/** Resolves when the client has gone and has its answers, or when the server has gone. */
export async function recordLink(link: Link, recording: RecordingFile, { input, output }: Streams): Promise<void> {
  const open = new OpenRequests();
  let lines: Interface | undefined;
  const text = new TextLink(link, {
    receive(line) {
      recording.take("server", line);
      output.write(`${line}\n`);
      open.see("server", line);
    },
    ended() {
      open.giveUp();
      lines?.close();
    },
  });
  await text.open();
  try {
    lines = createInterface({ input, crlfDelay: Infinity });
    for await (const line of lines) {
      if (line.trim() === "") continue;
      recording.take("client", line);
      open.see("client", line);
      await text.send(line);
    }
    await open.settled(LAST_ANSWERS_MS);
  } finally {
    await text.close();
  }
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
