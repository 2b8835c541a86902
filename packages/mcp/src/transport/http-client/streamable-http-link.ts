// A client's end of Streamable HTTP in every revision: each message its own POST, answers as JSON or events.
import type { HttpAuthorizer } from "../../jsonrpc/http-authorizer.js";
import type { Agreement, Link, LinkSink, Outgoing } from "../../jsonrpc/link.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { withLimits } from "../http/http-limits.js";
import { ownHeaders, usableUrl } from "./link-settings.js";
import { HttpCaller } from "./http-caller.js";
import { DEFAULT_HTTP_CLIENT_LIMITS, type HttpClientLimits } from "./http-client-limits.js";
import { shownUrl } from "./http-errors.js";
import type { HttpReply, HttpRequester } from "./http-requester.js";
import { LinkRequests } from "./link-requests.js";
import type { GetOptions, LinkWire, PostOptions } from "./link-wire.js";
import { PostQueue } from "./post-queue.js";
import { RequestExchange, type RequestOutgoing } from "./request-exchange.js";
import { StandingStream } from "./standing-stream.js";

export interface HttpLinkOptions {
  /** Of the MCP endpoint. */
  readonly url: string | URL;
  readonly requester: HttpRequester;
  /** Sent with every request, by name. What the protocol or the authorizer says goes before. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly authorizer?: HttpAuthorizer | undefined;
  readonly limits?: Partial<HttpClientLimits> | undefined;
  /** True: `close` closes the requester too. Default false. */
  readonly ownsRequester?: boolean | undefined;
}

/**
 * Sends nothing before the first message. Requests are answered, or reported `lost`, exactly once by the link's own
 * account; a receiver has to overlook a loss of what it has an answer to, because an error without an id may be both.
 * `send` of a notification or response resolves when the server has taken it. Throws a LocalError INVALID_URL for a URL
 * with user and password or of no scheme for HTTP, and a TypeError for headers that cannot be sent.
 */
export function streamableHttpLink(options: HttpLinkOptions): Link {
  return new StreamableHttpLink(options);
}

// What a session id may be made of; longer ones are no id.
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

class StreamableHttpLink implements Link, LinkWire {
  readonly kind = "http";
  readonly limits: HttpClientLimits;
  readonly shown: string;
  readonly #options: HttpLinkOptions;
  readonly #wired: LinkRequests;
  readonly #posts: PostQueue;
  readonly #requests = new Map<RequestId, RequestExchange>();
  #sink: LinkSink | undefined;
  #session: string | undefined;
  // The server has forgotten the session: nothing but a new handshake makes sense.
  #expired = false;
  #agreement: Agreement | undefined;
  #standing: StandingStream | undefined;
  // Taken by the server: strict ones want nothing before that.
  #initialized: Promise<void> = Promise.resolve();
  // Requests wait for it.
  #standingOpened: Promise<void> | undefined;
  #trouble: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: HttpLinkOptions) {
    this.#options = options;
    const url = usableUrl(options.url);
    this.shown = shownUrl(url);
    this.limits = withLimits(DEFAULT_HTTP_CLIENT_LIMITS, options.limits);
    const { limits, shown } = this;
    const { requester, authorizer } = options;
    const caller = new HttpCaller({ requester, authorizer, limits });
    this.#wired = new LinkRequests({ url, shown, headers: ownHeaders(options.headers), caller, limits });
    this.#posts = new PostQueue(this);
  }

  get sink(): LinkSink {
    return this.#sink as LinkSink;
  }

  get resumable(): boolean {
    return this.#agreement?.era !== "stateless";
  }

  get standing(): boolean {
    return this.#standing?.open === true;
  }

  describe(): string {
    return `Streamable HTTP at ${this.shown}`;
  }

  troubles(): string {
    return this.#trouble === undefined ? "" : ` Last trouble: ${this.#trouble}.`;
  }

  open(sink: LinkSink): Promise<void> {
    this.#sink = sink;
    return Promise.resolve();
  }

  send(message: Outgoing): void | Promise<void> {
    const { id } = message;
    if (message.kind === "request" && id !== undefined) this.#request({ ...message, id });
    else {
      const posted = this.#posts.send(message, this.#session);
      if (message.method === "notifications/initialized") this.#initialized = posted;
      return posted;
    }
  }

  forget(id: RequestId): boolean {
    const exchange = this.#requests.get(id);
    this.#requests.delete(id);
    exchange?.cancel();
    return exchange !== undefined && this.#agreement?.era !== "handshake";
  }

  established(agreement: Agreement): void {
    this.#agreement = agreement;
    this.#wired.version = agreement.version;
    if (agreement.era === "handshake") this.#standingOpened = this.#awaitStanding(agreement);
    else this.#session = undefined;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  post(options: PostOptions): Promise<HttpReply> {
    return this.#wired.post(options);
  }

  get(options: GetOptions): Promise<HttpReply> {
    return this.#wired.get(options);
  }

  opened(reply: HttpReply): boolean {
    // An empty one is what some stacks make of none.
    const id = reply.header("mcp-session-id") || undefined;
    if (id !== undefined && !SESSION_ID.test(id)) return false;
    this.#session = id;
    return true;
  }

  expired(session: string): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#expired = true;
    this.#standing?.cancel();
    this.#standing = undefined;
    this.trouble("the server has forgotten the session");
  }

  trouble(what: string): void {
    this.#trouble = what;
  }

  #request(message: RequestOutgoing): void {
    if (message.method === "initialize") this.#startOver();
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      // Not within `send`: the sender may not have noted the request yet.
      queueMicrotask(() => this.sink.lost(message.id, refusal));
      return;
    }
    if (this.#standing?.givenUp === true) void this.#stand();
    const exchange = new RequestExchange(this, message, this.#session);
    this.#requests.set(message.id, exchange);
    const opened = this.#standingOpened;
    if (opened === undefined) void this.#run(message.id, exchange);
    else void opened.then(() => this.#run(message.id, exchange));
  }

  async #run(id: RequestId, exchange: RequestExchange): Promise<void> {
    if (!exchange.cancelled) await exchange.run();
    if (this.#requests.get(id) === exchange) this.#requests.delete(id);
  }

  #refusal(): LocalError | undefined {
    const { requests } = this.limits;
    if (this.#closing !== undefined) return new LocalError("CLOSED", `The link to ${this.shown} is closed`);
    if (this.#requests.size >= requests) {
      return new LocalError(
        "LIMIT",
        `${requests} requests to ${this.shown} wait for an answer already: wait for some, or raise the limit requests`,
      );
    }
    if (!this.#expired) return undefined;
    const what = `${this.shown} does not know the session any more; the message was not sent. Connect again.`;
    return new LocalError("SESSION_EXPIRED", what);
  }

  #startOver(): void {
    this.#session = undefined;
    this.#expired = false;
    this.#agreement = undefined;
    this.#initialized = Promise.resolve();
    this.#wired.version = undefined;
    this.#standing?.cancel();
    this.#standing = undefined;
    this.#standingOpened = undefined;
  }

  /** Requests wait, but not long, until the server knows that the handshake is over and has opened the stream. */
  async #awaitStanding(agreement: Agreement): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.limits.standingWaitMs);
    });
    const answered = this.#initialized.then(() => (this.#agreement === agreement ? this.#stand() : undefined));
    await Promise.race([answered, late]);
    clearTimeout(timer);
    if (this.#agreement === agreement) this.#standingOpened = undefined;
  }

  #stand(): Promise<void> | undefined {
    if (this.#closing !== undefined || this.#expired) return undefined;
    this.#standing?.cancel();
    this.#standing = new StandingStream(this, this.#session);
    return this.#standing.answered;
  }

  async #close(): Promise<void> {
    this.#standing?.cancel();
    for (const exchange of this.#requests.values()) exchange.cancel();
    this.#requests.clear();
    this.#posts.close();
    if (this.#session !== undefined) await this.#wired.end(this.#session);
    this.#session = undefined;
    if (this.#options.ownsRequester === true) this.#options.requester.close();
    this.#sink?.closed();
  }
}
