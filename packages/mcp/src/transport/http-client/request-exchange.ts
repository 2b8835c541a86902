// One request of the client: its POST, the answer as JSON or events, and the stream taken up again after a cut.
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import type { Outgoing } from "../../jsonrpc/link.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { answers, idText, isErrorWith, isResponse } from "./answer-text.js";
import { Canceller } from "./canceller.js";
import { EventFeed } from "./event-feed.js";
import { looksLikeHtml, quote, statusError } from "./http-errors.js";
import type { HttpReply } from "./http-requester.js";
import type { LinkWire } from "./link-wire.js";
import { bodyKind } from "./media-type.js";
import { Reconnection } from "./reconnection.js";
import { isRepeatable } from "./repeatable.js";
import type { SseEvent } from "./sse-reader.js";

export interface RequestOutgoing extends Outgoing {
  readonly id: RequestId;
}

export class RequestExchange {
  readonly #wire: LinkWire;
  readonly #message: RequestOutgoing;
  readonly #session: string | undefined;
  readonly #written: string;
  readonly #canceller = new Canceller();
  #reconnection: Reconnection | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;
  #answered = false;
  #status = 0;

  constructor(wire: LinkWire, message: RequestOutgoing, session: string | undefined) {
    this.#wire = wire;
    this.#message = message;
    this.#session = session;
    this.#written = idText(message.id);
  }

  /** Resolves when nothing more will come of it; the sink has then been given the answer, or told that there is none. */
  async run(): Promise<void> {
    try {
      const reply = await this.#wire.post({
        text: this.#message.text,
        headers: this.#message.headers,
        repeatable: isRepeatable(this.#message.method),
        session: this.#session,
        started: this.#canceller.started,
      });
      if (this.cancelled) reply.cancel();
      else await this.#take(reply);
    } catch (error) {
      const local = asLocal(error);
      this.#lose(local.code === "OUTCOME_UNKNOWN" ? this.#unknown(local) : local);
    }
    clearTimeout(this.#linger);
  }

  /** Nobody wants to hear of it any more. */
  get cancelled(): boolean {
    return this.#canceller.cancelled;
  }

  /** Ends it; the sink hears nothing more. */
  cancel(): void {
    this.#canceller.cancel();
    this.#reconnection?.cancel();
  }

  async #take(reply: HttpReply): Promise<void> {
    const { status } = reply;
    this.#status = status;
    if (status < 200 || status > 299) return this.#refused(reply);
    if (this.#message.method === "initialize" && !this.#wire.opened(reply)) {
      reply.cancel();
      throw this.#invalid("opened a session with an id that no header can hold");
    }
    const kind = bodyKind(reply.header("content-type"));
    if (kind === "events") return this.#events(reply);
    if (kind === "other") {
      reply.cancel();
      throw this.#invalid(`answered with ${quote(reply.header("content-type") ?? "")}: is it the MCP endpoint?`);
    }
    const text = await reply.text(this.#wire.limits.messageBytes);
    if (text.trim() === "") return this.#empty(status);
    if (kind === "unknown" && !/^\s*[[{]/.test(text)) {
      const what = looksLikeHtml(text) ? "HTML" : "something that is not JSON";
      throw this.#invalid(`answered with ${what}, without a content type: is it the MCP endpoint?`);
    }
    await this.#deliver(text);
    if (!this.#answered) throw this.#invalid(`answered with a message that is not the response: ${quote(text)}`);
  }

  /** Accepted without an answer: it may still come on the standing stream. */
  #empty(status: number): void {
    if (status === 202 && this.#wire.standing) return;
    throw this.#invalid(`answered with HTTP ${status} and no body`);
  }

  async #refused(reply: HttpReply): Promise<void> {
    const { limits, shown, sink } = this.#wire;
    const { status } = reply;
    const text = await reply.text(limits.messageBytes).catch(() => "");
    if (status === 404 && this.#session !== undefined && !isErrorWith(text, ErrorCode.MethodNotFound)) {
      this.#wire.expired(this.#session);
      const what = `${shown} does not know the session any more (HTTP 404); the message was not served. Connect again.`;
      throw new LocalError("SESSION_EXPIRED", what);
    }
    const error = statusError(status, shown, text);
    if (status === 401 || !isResponse(text)) throw error;
    await sink.receive(text, { status, forRequest: this.#message.id });
    // Where the refusal bears no id the receiver may not have known whose it is.
    if (!answers(text, this.#message.id, this.#written)) throw error;
    this.#answered = true;
  }

  async #deliver(text: string): Promise<void> {
    const isAnswer = answers(text, this.#message.id, this.#written);
    await this.#wire.sink.receive(text, { status: this.#status, forRequest: this.#message.id });
    if (isAnswer) this.#answered = true;
  }

  async #events(first: HttpReply): Promise<void> {
    const feed = new EventFeed(this.#wire.limits.messageBytes, {
      event: (event) => this.#event(event),
      oversized: () => this.#tooLong(),
    });
    let cut = await this.#read(feed, first);
    while (!this.#answered && !this.cancelled) {
      const reconnection = (this.#reconnection ??= new Reconnection(this.#wire.limits));
      const why = feed.cursor === undefined || !this.#wire.resumable ? cut : reconnection.giveUp(feed.retryMs);
      if (why !== undefined) throw new LocalError("OUTCOME_UNKNOWN", why);
      if (!(await reconnection.wait(feed.retryMs))) return;
      const reply = await this.#resume(feed, reconnection);
      if (reply !== undefined) cut = await this.#read(feed, reply);
    }
  }

  /** Reads to the end; how it ended, in words. */
  async #read(feed: EventFeed, reply: HttpReply): Promise<string> {
    let how = "its stream ended without it";
    try {
      await feed.read(reply);
    } catch (error) {
      how = asLocal(error).message;
    }
    this.#reconnection?.ended(feed.events);
    return how;
  }

  /** The stream's next connection, or undefined after a failure that may pass. */
  async #resume(feed: EventFeed, reconnection: Reconnection): Promise<HttpReply | undefined> {
    let reply: HttpReply;
    try {
      reply = await this.#wire.get({ cursor: feed.cursor, session: this.#session, started: this.#canceller.started });
    } catch (error) {
      const { code, message } = asLocal(error);
      const passes = code === "UNREACHABLE" || code === "OUTCOME_UNKNOWN" || code === "TIMEOUT";
      if (!passes) throw new LocalError("OUTCOME_UNKNOWN", message, { cause: error });
      reconnection.failed();
      return undefined;
    }
    if (reply.status === 200 && bodyKind(reply.header("content-type")) === "events") return reply;
    const { status } = reply;
    const text = await reply.text(this.#wire.limits.errorBytes).catch(() => "");
    if (status >= 500 || status === 429) {
      reconnection.failed();
      return undefined;
    }
    // Whether a 404 means the session or the GET is for the next POST to find out.
    const why = statusError(status, this.#wire.shown, text).message;
    throw new LocalError("OUTCOME_UNKNOWN", `the stream cannot be taken up again: ${why}`);
  }

  #event({ type, data }: SseEvent): void | Promise<void> {
    if (this.cancelled || type !== "message" || data === "") return undefined;
    const { id } = this.#message;
    if (!this.#answered && answers(data, id, this.#written)) {
      this.#answered = true;
      this.#linger = setTimeout(() => this.#canceller.cancel(), this.#wire.limits.lingerMs);
    }
    return this.#wire.sink.receive(data, { status: this.#status, forRequest: id });
  }

  /** It may be the answer, and would come again on every stream taken up: nothing more is read. */
  #tooLong(): void {
    const error = new RpcError(ErrorCode.InvalidRequest, `Message refused: ${this.#limit()}`);
    this.#wire.sink.unreadable(error, { status: this.#status, forRequest: this.#message.id });
    this.#lose(
      new LocalError("LIMIT", `${this.#wire.shown} sent ${this.#limit()}. Ask for less, or raise limits.messageBytes.`),
    );
    this.cancel();
  }

  #limit(): string {
    return `an event longer than ${this.#wire.limits.messageBytes} bytes`;
  }

  #invalid(what: string): LocalError {
    return new LocalError("INVALID_RESPONSE", `${this.#wire.shown} ${what}`);
  }

  #unknown(cause: LocalError): LocalError {
    const why = cause.message.replace(/\.$/, "");
    const what = `The answer of ${this.#wire.shown} to ${this.#message.method ?? "a request"} did not come: ${why}.`;
    const advice = "The request may have been served: look before sending it again.";
    return new LocalError("OUTCOME_UNKNOWN", `${what} ${advice}`, { cause });
  }

  #lose(error: LocalError): void {
    if (!this.#answered && !this.cancelled) this.#wire.sink.lost(this.#message.id, error);
  }
}

/** What was thrown, as a LocalError. */
export function asLocal(error: unknown): LocalError {
  if (error instanceof LocalError) return error;
  return new LocalError("OUTCOME_UNKNOWN", quote(String(error)), { cause: error });
}
