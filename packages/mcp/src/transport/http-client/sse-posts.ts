// The messages of an HTTP+SSE session on their way to the server; answers come on the session's stream.
import type { LinkSink, Outgoing } from "../../jsonrpc/link.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { answers, idText, isResponse } from "./answer-text.js";
import { Canceller, Deadline } from "./canceller.js";
import type { HttpCaller } from "./http-caller.js";
import type { HttpClientLimits } from "./http-client-limits.js";
import { shownUrl, statusError } from "./http-errors.js";
import { isRepeatable } from "./repeatable.js";
import { asLocal } from "./request-exchange.js";

export interface SsePostsOptions {
  /** Where the server wants messages. */
  readonly url: string;
  readonly sink: LinkSink;
  readonly headers: Readonly<Record<string, string>>;
  readonly caller: HttpCaller;
  readonly limits: HttpClientLimits;
  /** Told of what cannot be told of any request. */
  readonly trouble: (what: string) => void;
}

export class SsePosts {
  readonly #options: SsePostsOptions;
  readonly #shown: string;
  readonly #cancellers = new Map<RequestId | symbol, Canceller>();
  #closed = false;

  constructor(options: SsePostsOptions) {
    this.#options = options;
    this.#shown = shownUrl(options.url);
  }

  /** For notifications and responses: resolves when the server has taken it, or will not. */
  send(message: Outgoing): void | Promise<void> {
    const { limits } = this.#options;
    const key = message.kind === "request" && message.id !== undefined ? message.id : Symbol("post");
    if (this.#cancellers.size >= limits.requests + limits.posts) {
      const what = `${this.#cancellers.size} messages are on their way to ${this.#shown} already: wait for some`;
      queueMicrotask(() => this.#failed(message, new LocalError("LIMIT", what)));
      return undefined;
    }
    // Some servers accept a request only when it is done: those wait as long as the caller does.
    const canceller = typeof key === "symbol" ? new Deadline(limits.postMs) : new Canceller();
    this.#cancellers.set(key, canceller);
    const posted = this.#post(message, canceller).then(() => {
      if (this.#cancellers.get(key) === canceller) this.#cancellers.delete(key);
    });
    if (typeof key === "symbol") return posted;
  }

  forget(id: RequestId): void {
    const canceller = this.#cancellers.get(id);
    this.#cancellers.delete(id);
    canceller?.cancel();
  }

  close(): void {
    this.#closed = true;
    for (const canceller of this.#cancellers.values()) canceller.cancel();
    this.#cancellers.clear();
  }

  async #post(message: Outgoing, canceller: Canceller): Promise<void> {
    const { url, caller, limits, headers } = this.#options;
    const deadline = canceller instanceof Deadline ? canceller : undefined;
    try {
      const reply = await caller.call({
        method: "POST",
        url,
        headers: {
          ...headers,
          ...message.headers,
          accept: "application/json, text/event-stream",
          "accept-encoding": "identity",
          "content-type": "application/json",
        },
        body: message.text,
        repeatable: isRepeatable(message.method),
        started: canceller.started,
      });
      await this.#judge(message, reply.status, await reply.text(limits.messageBytes).catch(() => ""));
    } catch (error) {
      const timeout = `${this.#shown} did not accept it within ${limits.postMs} ms`;
      if (deadline?.late === true) this.#failed(message, new LocalError("TIMEOUT", timeout));
      else if (!canceller.cancelled) this.#failed(message, asLocal(error));
    }
    deadline?.stop();
  }

  async #judge(message: Outgoing, status: number, text: string): Promise<void> {
    const { sink } = this.#options;
    const accepted = status >= 200 && status <= 299;
    const told = message.kind === "request" && /^\s*[[{]/.test(text) && isResponse(text);
    // The answer belongs on the stream; servers that put it here mean well.
    if (told) await sink.receive(text, { status, forRequest: message.id });
    const answered = told && message.id !== undefined && answers(text, message.id, idText(message.id));
    if (!accepted && !answered) throw statusError(status, this.#shown, text);
  }

  #failed(message: Outgoing, error: LocalError): void {
    if (this.#closed) return;
    if (message.kind === "request" && message.id !== undefined) this.#options.sink.lost(message.id, error);
    else this.#options.trouble(`${message.method ?? message.kind} was not delivered: ${error.message}`);
  }
}
