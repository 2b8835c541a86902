// Watches a conversation from the client's end and judges every message of the server by the official schema.
import { specValidator } from "./spec-schema.js";

type Message = Record<string, unknown>;

const CLAIM = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const STATELESS = "2026-07-28";
/** Judges what comes before anything is known of the client: the last revision in which an unreadable id is null. */
const UNKNOWN = "2025-06-18";

interface Asked {
  readonly method: string;
  readonly date: string | undefined;
}

/** Learns from what the client sends which revision each answer belongs to, also where two eras share a connection. */
export class WireJudge {
  readonly faults: string[] = [];
  readonly #asked = new Map<unknown, Asked>();
  #session: string | undefined;
  #stateless = false;

  /** Requests that were not answered yet. */
  get open(): number {
    return this.#asked.size;
  }

  /** Told of everything the client sends, messages and noise. */
  sent(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return;
    }
    for (const message of Array.isArray(value) ? value : [value]) this.#note(message as Message);
  }

  /** Told of everything the server sends. Returns the faults of this message, which are also kept in `faults`. */
  received(text: string): string[] {
    if (/[\r\n]/.test(text)) return this.#keep(["a message holds a line break"], text);
    const value = JSON.parse(text) as Message | Message[];
    const faults = Array.isArray(value) ? this.#batch(value) : this.#one(value);
    return this.#keep(faults, text);
  }

  #keep(faults: string[], text: string): string[] {
    this.faults.push(...faults.map((fault) => `${fault}\n    in ${text.slice(0, 400)}`));
    return faults;
  }

  #note(message: Message | null): void {
    if (typeof message !== "object" || message === null || typeof message["method"] !== "string") return;
    const params = message["params"] as Message | undefined;
    const meta = params?.["_meta"] as Message | undefined;
    const claimed = typeof meta === "object" && meta !== null && CLAIM in meta;
    if (claimed) this.#stateless = true;
    // A repeated id is refused without an id of its own, so the first request keeps it.
    if ("id" in message && !this.#asked.has(message["id"])) {
      this.#asked.set(message["id"], { method: message["method"], date: claimed ? STATELESS : undefined });
    }
  }

  #batch(messages: Message[]): string[] {
    const date = this.#session ?? UNKNOWN;
    const methodOf = (id: unknown): string | undefined => this.#asked.get(id)?.method;
    const faults = specValidator(date === UNKNOWN ? "2025-03-26" : date).validateServerMessage(messages, { methodOf });
    for (const { id } of messages) this.#asked.delete(id);
    return faults;
  }

  #one(message: Message): string[] {
    if ("method" in message) {
      const date = this.#dateOfCall(message);
      return specValidator(date).validateServerMessage(message);
    }
    const { id } = message;
    const asked = id === undefined || id === null ? undefined : this.#asked.get(id);
    if (asked === undefined && "result" in message) return ["an answer to no request"];
    this.#asked.delete(id);
    if (asked?.method === "initialize" && asked.date === undefined && "result" in message) {
      this.#session = (message["result"] as Message)["protocolVersion"] as string;
    }
    const date = asked?.date ?? this.#session ?? (this.#stateless && id !== null ? STATELESS : UNKNOWN);
    return specValidator(date).validateServerMessage(message, { requestMethod: asked?.method });
  }

  #dateOfCall(message: Message): string {
    const meta = (message["params"] as Message | undefined)?.["_meta"] as Message | undefined;
    if (meta !== undefined && SUBSCRIPTION in meta) return STATELESS;
    return this.#session ?? (this.#stateless ? STATELESS : UNKNOWN);
  }
}
