// Connects the client to a real server in memory, writes down every message, and judges what the client wrote.
import { expect, onTestFinished } from "vitest";
import { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { Transport, MessageSink, Outgoing } from "../../src/jsonrpc/transport.js";
import type { Server } from "../../src/server/server.js";
import { serve } from "../../src/serve/serve.js";
import { memoryTransports } from "../../src/transport/memory.js";
import { specValidator } from "../support/spec-schema.js";
import { Volatile } from "../transcripts/volatile.js";

type Message = Record<string, unknown>;

/** Watches one link: `→` is what the client wrote, `←` what the server wrote. */
class WatchedLink implements Transport {
  readonly kind = "memory";
  readonly #link: Transport;
  readonly #note: (arrow: "→" | "←", text: string) => void;

  constructor(link: Transport, note: (arrow: "→" | "←", text: string) => void) {
    this.#link = link;
    this.#note = note;
  }

  describe(): string {
    return this.#link.describe?.() ?? "";
  }

  start(sink: MessageSink): void | Promise<void> {
    return this.#link.start({
      ...sink,
      receive: (text, info) => {
        this.#note("←", text);
        return sink.receive(text, info);
      },
    });
  }

  send(message: Outgoing): void | Promise<void> {
    this.#note("→", message.text);
    return this.#link.send(message);
  }

  forget(id: string | number): boolean {
    return this.#link.forget?.(id) === true;
  }

  close(): Promise<void> {
    return this.#link.close();
  }
}

/** What the client wrote, judged by the official schema of the revision it was written in. */
export class ClientJudge {
  readonly faults: string[] = [];
  readonly #date: string;
  readonly #asked = new Map<unknown, string>();

  constructor(date: string) {
    this.#date = date;
  }

  note(arrow: "→" | "←", text: string): void {
    const message = JSON.parse(text) as Message;
    if (arrow === "←") {
      if (message["id"] !== undefined && typeof message["method"] === "string")
        this.#asked.set(message["id"], message["method"]);
      return;
    }
    const date = message["method"] === "server/discover" ? "2026-07-28" : this.#date;
    // Methods of the tasks extension, which is not in the schema of the revision.
    if (date === "2026-07-28" && String(message["method"]).startsWith("tasks/")) return;
    const requestMethod = "method" in message ? undefined : this.#asked.get(message["id"]);
    const faults = specValidator(date).validateClientMessage(message, { requestMethod });
    this.faults.push(...faults.map((fault) => `${fault}\n    in ${text.slice(0, 300)}`));
  }
}

export interface Watched {
  readonly client: Client;
  /** Every line so far, volatile values named. */
  readonly lines: string[];
}

/** The test fails at its end if the client wrote anything its revision forbids. The client is closed then. */
export async function watch(server: Server, revision: string, options: ClientOptions = {}): Promise<Watched> {
  const lines: string[] = [];
  const judge = new ClientJudge(revision);
  const volatile = new Volatile(new Map());
  const note = (arrow: "→" | "←", text: string): void => {
    judge.note(arrow, text);
    lines.push(`${arrow} ${volatile.hide(text)}`);
  };
  const link = (): Transport => {
    const [ours, theirs] = memoryTransports();
    serve(server, theirs);
    return new WatchedLink(ours, note);
  };
  const client = await Client.connect({ link }, { revision, clientInfo: { name: "c", version: "1" }, ...options });
  onTestFinished(async () => {
    await client.close();
    expect(judge.faults).toEqual([]);
  });
  return { client, lines };
}
