// Acts as the client of a recording: says what it said then, and compares the answers.
import type { Link } from "@secure-local/mcp/client";
import { TextLink } from "../remote/text-link.js";
import { differences } from "./differences.js";
import { exchangesOf, isRequest, isResponse, keyOf } from "./exchange.js";
import { type Entry, type Message, messagesOf } from "./recording.js";

export interface Comparison {
  /** Method and params. */
  readonly request: string;
  /** Empty: the answer is the same, but for ids and times. */
  readonly differences: readonly string[];
}

/** Rejects with the link's error when it cannot be opened. */
export async function replayClient(link: Link, entries: readonly Entry[], timeoutMs: number): Promise<Comparison[]> {
  const conversation = new Replayed(link, entries, timeoutMs);
  try {
    return await conversation.run();
  } finally {
    await conversation.close();
  }
}

class Replayed {
  readonly #text: TextLink;
  readonly #entries: readonly Entry[];
  readonly #timeoutMs: number;
  /** What the recorded client answered to the server's questions, in order. */
  readonly #answers: Message[];
  readonly #waiting: Map<unknown, (answer: Message | undefined) => void> = new Map();

  constructor(link: Link, entries: readonly Entry[], timeoutMs: number) {
    this.#text = new TextLink(link, { receive: (text) => this.#receive(text), ended: () => this.#end() });
    this.#entries = entries;
    this.#timeoutMs = timeoutMs;
    this.#answers = entries
      .filter(({ from }) => from === "client")
      .flatMap(messagesOf)
      .filter(isResponse);
  }

  async run(): Promise<Comparison[]> {
    await this.#text.open();
    const recorded = new Map(exchangesOf(this.#entries).map(({ request, steps }) => [request, steps.find(isResponse)]));
    const comparisons: Comparison[] = [];
    for (const message of this.#entries.filter(({ from }) => from === "client").flatMap(messagesOf)) {
      if (isResponse(message)) continue;
      const expected = recorded.get(message);
      if (!isRequest(message) || expected === undefined) {
        await this.#text.send(JSON.stringify(message));
        continue;
      }
      const answer = await this.#ask(message);
      const found = answer === undefined ? ["no answer came"] : differences(outcome(expected), outcome(answer));
      comparisons.push({ request: keyOf(message), differences: found });
    }
    return comparisons;
  }

  close(): Promise<void> {
    return this.#text.close();
  }

  #ask(message: Message): Promise<Message | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), this.#timeoutMs);
      const settle = (answer: Message | undefined): void => {
        clearTimeout(timer);
        this.#waiting.delete(message["id"]);
        resolve(answer);
      };
      this.#waiting.set(message["id"], settle);
      void this.#text.send(JSON.stringify(message));
    });
  }

  #receive(text: string): void {
    for (const message of messagesOf({ at: 0, from: "server", message: JSON.parse(text) as unknown })) {
      if (isResponse(message)) this.#waiting.get(message["id"])?.(message);
      else if (isRequest(message)) this.#answer(message);
    }
  }

  #answer({ id }: Message): void {
    const recorded = this.#answers.shift() ?? {
      error: { code: -32601, message: "The recording has no answer to this" },
    };
    void this.#text.send(JSON.stringify({ jsonrpc: "2.0", ...recorded, id }));
  }

  #end(): void {
    for (const settle of [...this.#waiting.values()]) settle(undefined);
  }
}

function outcome({ result, error }: Message): Message {
  return error === undefined ? { result } : { error };
}
