// A client's end of HTTP+SSE, 2024-11-05's transport: one GET is the session, messages are posted where it says.
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import type { Transport, MessageSink, Outgoing } from "../../jsonrpc/transport.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { startTimer } from "../../jsonrpc/outgoing.js";
import { withLimits } from "../../jsonrpc/limits.js";
import {
  Canceller,
  DEFAULT_HTTP_CLIENT_LIMITS,
  Deadline,
  HttpCaller,
  type HttpClientLimits,
  type HttpReply,
  bodyKind,
  ownHeaders,
  quote,
  shownUrl,
  statusError,
  usableUrl,
  delivered,
} from "./http-caller.js";
import { answers, asLocal, EventFeed, idText, isRepeatable, isResponse } from "./request-exchange.js";
import type { SseEvent } from "./sse-reader.js";
import type { HttpTransportOptions } from "./streamable-http-transport.js";

/**
 * `url` is that of the stream. `open` rejects when the server does not say within the limit `openMs` where messages go,
 * or names another origin. The end of the stream is the end of the connection. Throws as `streamableHttpTransport` does.
 */
export function sseTransport(options: HttpTransportOptions): Transport {
  return new SseTransport(options);
}

class SseTransport implements Transport {
  readonly kind = "sse";
  readonly #url: string;
  readonly #shown: string;
  readonly #options: HttpTransportOptions;
  readonly #limits: HttpClientLimits;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #caller: HttpCaller;
  readonly #feed: EventFeed;
  #sink: MessageSink | undefined;
  #posts: SsePosts | undefined;
  readonly #canceller = new Canceller();
  #onEndpoint: ((data: string) => void) | undefined;
  #trouble: string | undefined;
  #closed = false;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#url = usableUrl(options.url);
    this.#shown = shownUrl(this.#url);
    this.#limits = withLimits(DEFAULT_HTTP_CLIENT_LIMITS, options.limits);
    this.#headers = ownHeaders(options.headers);
    const { requester, authorizer } = options;
    this.#caller = new HttpCaller({ requester, authorizer, limits: this.#limits });
    this.#feed = new EventFeed(this.#limits.messageBytes, {
      event: (event) => this.#event(event),
      oversized: () => this.#oversized(),
    });
  }

  describe(): string {
    return `HTTP+SSE at ${this.#shown}`;
  }

  troubles(): string {
    return this.#trouble === undefined ? "" : ` Last trouble: ${this.#trouble}.`;
  }

  async start(sink: MessageSink): Promise<void> {
    this.#sink = sink;
    const { openMs } = this.#limits;
    let late = false;
    const timer = startTimer(() => {
      late = true;
      this.#canceller.cancel();
    }, openMs);
    try {
      const reply = await this.#get();
      const url = this.#endpoint(await this.#firstEvent(reply));
      this.#posts = new SsePosts({
        url,
        sink,
        headers: this.#headers,
        caller: this.#caller,
        limits: this.#limits,
        trouble: (what) => (this.#trouble = what),
      });
    } catch (error) {
      this.#closed = true;
      this.#canceller.cancel();
      this.#release();
      if (!late) throw asLocal(error);
      throw new LocalError("TIMEOUT", `${this.#shown} did not say within ${openMs} ms where messages are to be posted`);
    } finally {
      clearTimeout(timer);
    }
  }

  send(message: Outgoing): void | Promise<void> {
    if (this.#posts !== undefined && !this.#closed) return this.#posts.send(message);
    const { id } = message;
    if (message.kind !== "request" || id === undefined) return undefined;
    queueMicrotask(() => this.#sink?.lost(id, new LocalError("CLOSED", `The link to ${this.#shown} is closed`)));
  }

  /** The stream is everybody's: the server has to be told by a message. */
  forget(id: RequestId): boolean {
    this.#posts?.forget(id);
    return false;
  }

  close(): Promise<void> {
    this.#end();
    return Promise.resolve();
  }

  #get(): Promise<HttpReply> {
    const headers = { ...this.#headers, accept: "text/event-stream", "accept-encoding": "identity" };
    const { started } = this.#canceller;
    return this.#caller.call({ method: "GET", url: this.#url, headers, repeatable: true, started });
  }

  async #firstEvent(reply: HttpReply): Promise<string> {
    const { status } = reply;
    const contentType = reply.header("content-type");
    if (status !== 200) {
      throw statusError(status, this.#shown, await reply.text(this.#limits.errorBytes).catch(() => ""));
    }
    if (bodyKind(contentType) !== "events") {
      const what = contentType === undefined ? "something without a content type" : quote(contentType);
      throw new LocalError(
        "INVALID_RESPONSE",
        `${this.#shown} answered with ${what}, not with an event stream: is it the MCP endpoint?`,
      );
    }
    const endpoint = new Promise<string>((resolve) => {
      this.#onEndpoint = resolve;
    });
    const ended = this.#feed.read(reply).then(
      () => this.#ended("the server ended the stream"),
      (error: unknown) => this.#ended(asLocal(error).message),
    );
    return Promise.race([endpoint, ended.then((error) => Promise.reject(error))]);
  }

  #endpoint(data: string): string {
    let url: URL | undefined;
    try {
      url = new URL(data, this.#url);
    } catch {
      url = undefined;
    }
    const said = `${this.#shown} wants messages posted to ${url === undefined ? quote(data) : shownUrl(url.href)}`;
    if (url === undefined) throw new LocalError("INVALID_RESPONSE", `${said}, which is not a URL`);
    if (url.origin !== new URL(this.#url).origin || url.username !== "" || url.password !== "") {
      throw new LocalError("INVALID_RESPONSE", `${said}, which is another origin: nothing was sent there`);
    }
    url.hash = "";
    return url.href;
  }

  #event({ type, data }: SseEvent): void | Promise<void> {
    if (this.#closed) return undefined;
    if (type === "endpoint") this.#onEndpoint?.(data);
    else if (type === "message" && data !== "") return this.#sink?.receive(data, { status: 200 });
  }

  #oversized(): void {
    const what = `Message refused: an event longer than ${this.#limits.messageBytes} bytes`;
    this.#sink?.unreadable(new RpcError(ErrorCode.InvalidRequest, what), { status: 200 });
  }

  #ended(why: string): LocalError {
    const error = new LocalError("CLOSED", `The session with ${this.#shown} is over: ${why}. Connect again.`);
    // Before there was an endpoint it is `open` that fails.
    if (this.#posts !== undefined) this.#end(error);
    return error;
  }

  #end(error?: LocalError): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#posts?.close();
    this.#canceller.cancel();
    this.#release();
    this.#sink?.closed(error);
  }

  #release(): void {
    if (this.#options.ownsRequester === true) this.#options.requester.close();
  }
}

// The messages of an HTTP+SSE session on their way to the server; answers come on the session's stream.

interface SsePostsOptions {
  /** Where the server wants messages. */
  readonly url: string;
  readonly sink: MessageSink;
  readonly headers: Readonly<Record<string, string>>;
  readonly caller: HttpCaller;
  readonly limits: HttpClientLimits;
  /** Told of what cannot be told of any request. */
  readonly trouble: (what: string) => void;
}

class SsePosts {
  readonly #options: SsePostsOptions;
  readonly #shown: string;
  readonly #cancellers = new Map<RequestId | symbol, Canceller>();
  #closed = false;

  constructor(options: SsePostsOptions) {
    this.#options = options;
    this.#shown = shownUrl(options.url);
  }

  /** For notifications: resolves when the server has taken it, or will not. A response may be held, and nothing waits for that. */
  send(message: Outgoing): void | Promise<void> {
    const { limits } = this.#options;
    const key = message.kind === "request" && message.id !== undefined ? message.id : Symbol("post");
    if (this.#cancellers.size >= limits.requests + limits.posts) {
      const what = `${this.#cancellers.size} messages to ${this.#shown} wait already. Await some first.`;
      queueMicrotask(() => this.#failed(message, new LocalError("LIMIT", what)));
      return undefined;
    }
    // Some servers accept a request only when it is done: those wait as long as the caller does.
    const canceller =
      typeof key === "symbol"
        ? new Deadline(message.kind === "response" ? limits.answerMs : limits.postMs)
        : new Canceller();
    this.#cancellers.set(key, canceller);
    const posted = this.#post(message, canceller).then(() => {
      if (this.#cancellers.get(key) === canceller) this.#cancellers.delete(key);
    });
    if (message.kind === "notification") return posted;
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
      const post = {
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
      } as const;
      await delivered(
        message.kind,
        async () => {
          const reply = await caller.call(post);
          await this.#judge(message, reply.status, await reply.text(limits.messageBytes).catch(() => ""));
        },
        { canceller },
      );
    } catch (error) {
      const timeout = `${this.#shown} did not accept it in time: ${asLocal(error).message}`;
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
