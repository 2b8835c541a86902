// Completes arguments while they are typed: waits for a pause, keeps answers for a while, copes with partial ones.
import { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { CompleteRequestParams, CompletionReference } from "../protocol/features/completion.js";
import type { CallOptions } from "./call-options.js";
import type { Requests } from "./requests.js";
import type { Wire } from "./wire.js";

export interface CompleteOptions extends CallOptions {
  /** Arguments chosen so far; left out where the revision has no place for them. */
  readonly context?: Readonly<Record<string, string>>;
  /** Milliseconds without a further call for the same argument until this one is sent. Default 0. */
  readonly debounceMs?: number;
}

export interface Completion {
  /** At most 100. */
  readonly values: readonly string[];
  readonly total?: number;
  /** Whether there are more values than these; do not narrow these down instead of asking again. */
  readonly hasMore: boolean;
}

/** What the specification allows in one answer. */
const MOST_VALUES = 100;
/** What was typed a moment ago is typed again after a correction. */
const KEPT_MS = 10_000;
const MOST_KEPT = 100;

export class Completer {
  readonly #requests: Requests;
  readonly #wire: Wire;
  readonly #kept = new Map<string, { completion: Completion; until: number }>();
  readonly #typing = new Map<string, Typing>();

  constructor(requests: Requests, wire: Wire) {
    this.#requests = requests;
    this.#wire = wire;
  }

  async complete(
    ref: CompletionReference,
    argument: CompleteRequestParams["argument"],
    options: CompleteOptions = {},
  ): Promise<Completion> {
    const { revision } = this.#wire.established;
    // The first revision has the method and no capability for it.
    if (revision.serverCapabilities.has("completions")) this.#requests.gate("completions", "completion/complete");
    const { context, debounceMs = 0 } = options;
    const chosen = context !== undefined && revision.rules.completionContext ? { context: { arguments: context } } : {};
    const params: JsonObject = { ref, argument, ...chosen };
    const key = JSON.stringify(params);
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > performance.now()) return kept.completion;
    const ask = async (): Promise<Completion> => {
      const completion = read(await this.#requests.run("completion/complete", params, options));
      this.#keep(key, completion);
      return completion;
    };
    return debounceMs > 0 ? this.#debounced(JSON.stringify([ref, argument.name]), debounceMs, ask) : ask();
  }

  /** Rejects what waits for a pause in typing. */
  stop(): void {
    for (const typing of this.#typing.values()) typing.stop();
    this.#typing.clear();
  }

  /** Forgets all answers. */
  clear(): void {
    this.#kept.clear();
  }

  // Whoever asked for the same argument a moment ago gets the newest answer too: theirs would be out of date.
  #debounced(argument: string, debounceMs: number, ask: () => Promise<Completion>): Promise<Completion> {
    const typing = this.#typing.get(argument) ?? new Typing();
    this.#typing.set(argument, typing);
    typing.restart(debounceMs, () => {
      this.#typing.delete(argument);
      return ask();
    });
    return typing.answer;
  }

  #keep(key: string, completion: Completion): void {
    this.#kept.delete(key);
    this.#kept.set(key, { completion, until: performance.now() + KEPT_MS });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function read(result: JsonObject): Completion {
  const { values, total, hasMore } = result["completion"] as { values: string[]; total?: unknown; hasMore?: unknown };
  const more = hasMore === true || values.length > MOST_VALUES || (typeof total === "number" && total > values.length);
  const counted = typeof total === "number" ? { total } : {};
  return { values: values.slice(0, MOST_VALUES), ...counted, hasMore: more };
}

/** An argument somebody is typing. */
class Typing {
  readonly answer: Promise<Completion>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #settle!: { resolve(completion: Completion | Promise<Completion>): void; reject(error: Error): void };

  constructor() {
    this.answer = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  restart(delayMs: number, ask: () => Promise<Completion>): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#settle.resolve(ask()), delayMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#settle.reject(new LocalError("CLOSED", "completion/complete was not sent: the client was closed"));
  }
}
