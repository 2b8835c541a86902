// Acts as the server of a recording: answers what was asked then as it was answered then.
import { type Exchange, exchangesOf, isRequest, isResponse, keyOf, tokenOf } from "./exchange.js";
import { type Entry, type Message, messagesOf } from "./recording.js";

const INTERNAL_ERROR = -32603;

export interface ReplayOptions {
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

  constructor(entries: readonly Entry[], options: ReplayOptions) {
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
      this.#options.send(withToken(step, tokenOf(request), tokenOf(asked)));
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
