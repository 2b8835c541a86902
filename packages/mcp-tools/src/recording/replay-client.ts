// Acts as the client of a recording: says what it said then, and compares the answers.
import type { Transport } from "@secure-local/mcp/client";
import { type Message, TextLink } from "../remote/text-link.js";
import {
  messageDifferences,
  type RecordedLine,
  type Exchange,
  exchangesOf,
  isRequest,
  isResponse,
  keyOf,
  messagesOf,
  progressTokenOf,
} from "./recording.js";

export interface Comparison {
  /** Method and params. */
  readonly request: string;
  /** Empty: the answer is the same, but for ids and times. */
  readonly differences: readonly string[];
}

/** Rejects with the link's error when it cannot be opened. */
export async function replayClient(
  link: Transport,
  entries: readonly RecordedLine[],
  timeoutMs: number,
): Promise<Comparison[]> {
  const conversation = new Replayed(link, entries, timeoutMs);
  try {
    return await conversation.run();
  } finally {
    await conversation.close();
  }
}

class Replayed {
  readonly #text: TextLink;
  readonly #entries: readonly RecordedLine[];
  readonly #timeoutMs: number;
  /** What the recorded client answered to the server's questions, in order. */
  readonly #answers: Message[];
  readonly #waiting: Map<unknown, (answer: Message | undefined) => void> = new Map();

  constructor(link: Transport, entries: readonly RecordedLine[], timeoutMs: number) {
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
      const found = answer === undefined ? ["no answer came"] : messageDifferences(outcome(expected), outcome(answer));
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

// Acts as the server of a recording: answers what was asked then as it was answered then.

const INTERNAL_ERROR = -32603;

interface ReplayOptions {
  /** Only in the recorded order: everything else is refused, and noted in `deviations`. */
  readonly strict?: boolean;
  readonly send: (message: Message) => void;
}

export class ReplayServer {
  /** What a strict replay refused, as sentences. */
  readonly deviations: string[] = [];
  readonly #exchanges: readonly Exchange[];
  readonly #used: Set<Exchange> = new Set();
  /** Requests and notifications of the recorded client that are still to come. */
  readonly #expected: Message[];
  readonly #options: ReplayOptions;
  /** What goes on when the client has answered a question, by the question's id. */
  readonly #asked: Map<unknown, () => void> = new Map();

  constructor(entries: readonly RecordedLine[], options: ReplayOptions) {
    this.#exchanges = exchangesOf(entries);
    this.#options = options;
    const said = entries.filter(({ from }) => from === "client").flatMap(messagesOf);
    this.#expected = said.filter(({ method }) => typeof method === "string");
  }

  /** One line of the client. */
  receive(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#options.send({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "This is not JSON" } });
      return;
    }
    for (const message of messagesOf({ at: 0, from: "client", message: value })) this.#take(message);
  }

  #take(message: Message): void {
    if (isResponse(message)) {
      const goOn = this.#asked.get(message["id"]);
      this.#asked.delete(message["id"]);
      goOn?.();
      return;
    }
    const strange = this.#options.strict === true ? this.#deviation(message) : undefined;
    if (strange !== undefined) this.deviations.push(strange);
    if (!isRequest(message)) return;
    const exchange = strange === undefined ? this.#find(message) : undefined;
    if (exchange !== undefined) {
      this.#used.add(exchange);
      this.#play(exchange, message, 0);
    } else if (message["method"] === "ping") this.#options.send({ jsonrpc: "2.0", id: message["id"], result: {} });
    else this.#refuse(message, strange ?? `The recording has no answer to ${described(message)}`);
  }

  /** The next one not replayed yet; when all were, the last one again. */
  #find(message: Message): Exchange | undefined {
    const key = keyOf(message);
    const fitting = this.#exchanges.filter(({ request }) => keyOf(request) === key);
    return fitting.find((each) => !this.#used.has(each)) ?? fitting.at(-1);
  }

  #play({ request, steps }: Exchange, asked: Message, from: number): void {
    for (let at = from; at < steps.length; at++) {
      const step = steps[at] as Message;
      if (isResponse(step)) {
        this.#options.send({ ...step, id: asked["id"] });
        continue;
      }
      this.#options.send(withToken(step, progressTokenOf(request), progressTokenOf(asked)));
      if (!isRequest(step)) continue;
      // What came after a question came when it was answered.
      this.#asked.set(step["id"], () => this.#play({ request, steps }, asked, at + 1));
      return;
    }
  }

  #deviation(message: Message): string | undefined {
    const expected = this.#expected[0];
    if (expected !== undefined && keyOf(expected) === keyOf(message)) {
      this.#expected.shift();
      return undefined;
    }
    const wanted = expected === undefined ? "nothing any more" : described(expected);
    return `The recording expects ${wanted} here, not ${described(message)}`;
  }

  #refuse({ id }: Message, message: string): void {
    this.#options.send({ jsonrpc: "2.0", id, error: { code: INTERNAL_ERROR, message } });
  }
}

function withToken(step: Message, recorded: unknown, asked: unknown): Message {
  const params = step["params"] as Message | undefined;
  if (recorded === undefined || asked === undefined || params?.["progressToken"] !== recorded) return step;
  return { ...step, params: { ...params, progressToken: asked } };
}

const SHOWN = 120;

function described(message: Message): string {
  const text = keyOf(message);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
