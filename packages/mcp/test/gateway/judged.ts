// Watches one hop: every message of both sides is held against the official schema of the revision they speak.
import type { Dialer } from "../../src/client/options.js";
import { isJsonObject, type JsonObject } from "../../src/jsonrpc/message.js";
import type { Transport, MessageSink, Outgoing } from "../../src/jsonrpc/transport.js";
import { specValidator } from "../support/spec-schema.js";
import { WireJudge } from "../support/wire-judge.js";

const STATELESS = "2026-07-28";
const CLAIM = "io.modelcontextprotocol/protocolVersion";

/** The faults of one hop; empty while every message was valid. */
export class Hop {
  readonly faults: string[] = [];
  messages = 0;

  /** The same links, watched. */
  judged(dialer: Dialer): Dialer {
    const { fallback } = dialer;
    return {
      link: (limits) => new JudgedLink(dialer.link(limits), this),
      ...(fallback === undefined ? {} : { fallback: (limits) => new JudgedLink(fallback(limits), this) }),
    };
  }
}

class JudgedLink implements Transport {
  readonly kind: string;
  readonly #link: Transport;
  readonly #hop: Hop;
  readonly #judge = new WireJudge();
  /** What the server asked, by id: answers are judged by it. */
  readonly #asked = new Map<unknown, string>();
  #version: string | undefined;

  constructor(link: Transport, hop: Hop) {
    this.kind = link.kind;
    this.#link = link;
    this.#hop = hop;
  }

  describe(): string {
    return this.#link.describe?.() ?? "";
  }

  troubles(): string {
    return this.#link.troubles?.() ?? "";
  }

  start(sink: MessageSink): void | Promise<void> {
    return this.#link.start({
      ...sink,
      receive: (text, info) => {
        this.#hop.messages++;
        const message = JSON.parse(text) as JsonObject;
        if (typeof message["method"] === "string" && "id" in message) this.#asked.set(message["id"], message["method"]);
        this.#hop.faults.push(...this.#judge.received(text).map((fault) => `from the server: ${fault} in ${text}`));
        return sink.receive(text, info);
      },
    });
  }

  send(message: Outgoing): void | Promise<void> {
    this.#hop.messages++;
    this.#judge.sent(message.text);
    this.#judgeOwn(JSON.parse(message.text) as JsonObject, message.text);
    return this.#link.send(message);
  }

  forget(id: string | number): boolean {
    return this.#link.forget?.(id) === true;
  }

  established(agreement: { readonly era: "handshake" | "stateless"; readonly version: string }): void {
    this.#version = agreement.version;
    this.#link.established?.(agreement);
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  #judgeOwn(message: JsonObject, text: string): void {
    const params = isJsonObject(message["params"]) ? message["params"] : {};
    const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
    const claimed = meta[CLAIM] ?? params["protocolVersion"] ?? this.#version;
    // The extension of tasks has no official schema of requests.
    const extension = claimed === STATELESS && String(message["method"]).startsWith("tasks/");
    if (typeof claimed !== "string" || extension) return;
    const faults = specValidator(claimed).validateClientMessage(message, {
      requestMethod: this.#asked.get(message["id"]),
    });
    this.#hop.faults.push(...faults.map((fault) => `from the client: ${fault} in ${text}`));
  }
}
