// A client's end of Streamable HTTP in every revision: each message its own POST, answers as JSON or events.
import type { Agreement, HttpAuthorizer, Transport, MessageSink, Outgoing } from "../../jsonrpc/transport.js";
import { ErrorCode, LocalError, RpcError } from "../../jsonrpc/errors.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { withLimits } from "../../jsonrpc/limits.js";
import { settles } from "../../jsonrpc/outgoing.js";
import {
  Canceller,
  DEFAULT_HTTP_CLIENT_LIMITS,
  Deadline,
  type GetOptions,
  HttpCaller,
  type HttpClientLimits,
  type HttpReply,
  type HttpRequester,
  type LinkWire,
  type PostOptions,
  bodyKind,
  delivered,
  ownHeaders,
  shownUrl,
  statusError,
  usableUrl,
} from "./http-caller.js";
import {
  asLocal,
  EventFeed,
  isResponse,
  Reconnection,
  RequestExchange,
  type RequestOutgoing,
} from "./request-exchange.js";

/** Where and how a client transport sends its requests. */
export interface HttpTransportOptions {
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
 * Sends nothing before the first message. Requests are answered, or reported `lost`, exactly once by the transport's own
 * account; a receiver has to overlook a loss of what it has an answer to, because an error without an id may be both.
 * `send` of a notification or response resolves when the server has taken it. Throws a LocalError INVALID_URL for a URL
 * with user and password or of no scheme for HTTP, and a TypeError for headers that cannot be sent.
 */
export function streamableHttpTransport(options: HttpTransportOptions): Transport {
  return new StreamableHttpTransport(options);
}

// What a session id may be made of; longer ones are no id.
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

class StreamableHttpTransport implements Transport, LinkWire {
  readonly kind = "http";
  readonly shortens = true;
  readonly limits: HttpClientLimits;
  readonly shown: string;
  readonly #options: HttpTransportOptions;
  readonly #wired: LinkRequests;
  readonly #posts: PostQueue;
  readonly #requests = new Map<RequestId, RequestExchange>();
  /** What nobody waits for any more and may still bring something, the oldest first. */
  readonly #left = new Set<RequestExchange>();
  #sink: MessageSink | undefined;
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

  constructor(options: HttpTransportOptions) {
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

  get sink(): MessageSink {
    return this.#sink as MessageSink;
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

  start(sink: MessageSink): Promise<void> {
    this.#sink = sink;
    return Promise.resolve();
  }

  send(message: Outgoing): void | Promise<void> {
    const { id } = message;
    if (message.kind === "request" && id !== undefined) this.#request({ ...message, id });
    else {
      const posted = this.#posts.send(message, this.#session);
      if (message.method === "notifications/initialized") this.#initialized = posted;
      // A server may hold an answer until whoever has asked is reached again: nothing else waits for that.
      return message.kind === "response" ? undefined : posted;
    }
  }

  forget(id: RequestId): boolean {
    const exchange = this.#requests.get(id);
    // In a session the server is told by a message: what it takes back for that comes on this stream.
    const lasts = this.#agreement?.era === "handshake";
    if (lasts) exchange?.leave();
    else exchange?.cancel();
    this.#requests.delete(id);
    return exchange !== undefined && !lasts;
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

  left(id: RequestId): void {
    const exchange = this.#requests.get(id) as RequestExchange;
    this.#requests.delete(id);
    this.#left.add(exchange);
    const [oldest = exchange] = this.#left;
    // As many as may be waited for: each has a connection.
    if (this.#left.size > this.limits.requests) {
      this.#left.delete(oldest);
      oldest.cancel();
    }
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
    this.#left.delete(exchange);
  }

  #refusal(): LocalError | undefined {
    const { requests } = this.limits;
    if (this.#closing !== undefined) return new LocalError("CLOSED", `The link to ${this.shown} is closed`);
    if (this.#requests.size >= requests) {
      return new LocalError(
        "LIMIT",
        `${requests} requests to ${this.shown} wait for an answer already. Await some first.`,
      );
    }
    if (!this.#expired) return undefined;
    const what = `${this.shown} does not know the session any more; the message was not sent. Connect again.`;
    return new LocalError("SESSION_EXPIRED", what, { unsent: true });
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
    const answered = this.#initialized.then(() => (this.#agreement === agreement ? this.#stand() : undefined));
    await settles(answered, this.limits.standingWaitMs);
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
    for (const exchange of [...this.#requests.values(), ...this.#left]) exchange.cancel();
    this.#requests.clear();
    this.#posts.close();
    if (this.#session !== undefined) await this.#wired.end(this.#session);
    this.#session = undefined;
    if (this.#options.ownsRequester === true) this.#options.requester.close();
    this.#sink?.closed();
  }
}

// The three requests a Streamable HTTP transport makes, with the headers each of them carries.

interface LinkRequestsOptions {
  readonly url: string;
  /** The URL, fit to be shown. */
  readonly shown: string;
  /** Carried by all of them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly caller: HttpCaller;
  readonly limits: HttpClientLimits;
}

const BOTH = "application/json, text/event-stream";

class LinkRequests {
  readonly #options: LinkRequestsOptions;
  /** Said by what carries no message of the protocol: GET and DELETE. */
  version: string | undefined;

  constructor(options: LinkRequestsOptions) {
    this.#options = options;
  }

  post({ text, headers, repeatable, session, started }: PostOptions): Promise<HttpReply> {
    const all: Record<string, string> = { ...this.#options.headers };
    for (const name in headers) all[name] = headers[name] as string;
    all["accept"] = BOTH;
    all["accept-encoding"] = "identity";
    all["content-type"] = "application/json";
    if (session !== undefined) all["mcp-session-id"] = session;
    const { caller, url } = this.#options;
    return caller.call({ method: "POST", url, headers: all, body: text, repeatable, started });
  }

  /** Rejects with TIMEOUT when the reply's head does not come in time. */
  async get({ cursor, session, started }: GetOptions): Promise<HttpReply> {
    const { limits, shown, caller, url } = this.#options;
    const headers = this.#bodiless(session);
    headers["accept"] = "text/event-stream";
    if (cursor !== undefined) headers["last-event-id"] = cursor;
    const deadline = new Deadline(limits.openMs);
    const note = (how: () => void): void => {
      deadline.started(how);
      started(how);
    };
    try {
      return await caller.call({ method: "GET", url, headers, repeatable: true, started: note });
    } catch (error) {
      if (!deadline.late) throw error;
      throw new LocalError("TIMEOUT", `${shown} did not answer a GET within ${limits.openMs} ms`, { cause: error });
    } finally {
      deadline.stop();
    }
  }

  /**
   * Tells the server that the session is over, and waits for its answer as long as `closeMs`. Servers that keep no
   * sessions by request say 405; those that do not answer have had their chance. Never rejects.
   */
  async end(session: string): Promise<void> {
    const canceller = new Canceller();
    // Authorization may take longer than anybody wants to wait now.
    if (!(await settles(this.#delete(session, canceller), this.#options.limits.closeMs))) canceller.cancel();
  }

  async #delete(session: string, { started }: Canceller): Promise<void> {
    const { limits, caller, url } = this.#options;
    const headers = this.#bodiless(session);
    try {
      const reply = await caller.call({ method: "DELETE", url, headers, repeatable: true, started });
      await reply.text(limits.errorBytes);
    } catch {
      // However it ended, the session is none of ours any more.
    }
  }

  #bodiless(session: string | undefined): Record<string, string> {
    const headers: Record<string, string> = { ...this.#options.headers, "accept-encoding": "identity" };
    if (session !== undefined) headers["mcp-session-id"] = session;
    if (this.version !== undefined) headers["mcp-protocol-version"] = this.version;
    return headers;
  }
}

// Posts what expects no answer (notifications, and responses to the server): a few at once, the rest in order.

interface Waiting {
  readonly message: Outgoing;
  readonly session: string | undefined;
  readonly done: () => void;
}

class PostQueue {
  readonly #wire: LinkWire;
  readonly #waiting: Waiting[] = [];
  readonly #deadlines = new Set<Deadline>();
  #running = 0;
  /** Answers that are posted again in a moment. */
  #resting = 0;
  #closed = false;

  constructor(wire: LinkWire) {
    this.#wire = wire;
  }

  /** Resolves when the server has taken it, or will not. Never rejects. */
  send(message: Outgoing, session: string | undefined): Promise<void> {
    const { waitingPosts } = this.#wire.limits;
    if (this.#closed) return Promise.resolve();
    if (this.#waiting.length + this.#resting >= waitingPosts) {
      this.#wire.trouble(`more than ${waitingPosts} messages wait: ${message.method ?? message.kind} was dropped`);
      return Promise.resolve();
    }
    return new Promise((done) => {
      this.#waiting.push({ message, session, done });
      this.#next();
    });
  }

  close(): void {
    this.#closed = true;
    for (const { done } of this.#waiting.splice(0)) done();
    for (const deadline of this.#deadlines) deadline.cancel();
  }

  #next(): void {
    while (this.#running < this.#wire.limits.posts) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) return;
      this.#running++;
      void this.#post(waiting).then(() => {
        this.#running--;
        waiting.done();
        this.#next();
      });
    }
  }

  async #post({ message, session }: Waiting): Promise<void> {
    const { limits, shown } = this.#wire;
    const ms = message.kind === "response" ? limits.answerMs : limits.postMs;
    const deadline = new Deadline(ms);
    this.#deadlines.add(deadline);
    try {
      const { text, headers, kind } = message;
      const post = { text, headers, repeatable: false, session, started: deadline.started };
      await delivered(kind, async () => this.#judge(await this.#wire.post(post), session), {
        canceller: deadline,
        rests: (rests) => this.#rest(rests),
      });
    } catch (error) {
      const { message: last } = asLocal(error);
      const why = deadline.late ? `${shown} did not accept it within ${ms} ms: ${last}` : last;
      if (!this.#closed) this.#wire.trouble(`${message.method ?? message.kind} was not delivered: ${why}`);
    }
    deadline.stop();
    this.#deadlines.delete(deadline);
  }

  /** What rests holds up nothing that waits. */
  #rest(rests: boolean): void {
    this.#resting += rests ? 1 : -1;
    this.#running -= rests ? 1 : -1;
    if (rests) this.#next();
  }

  async #judge(reply: HttpReply, session: string | undefined): Promise<void> {
    const { status } = reply;
    const { limits, shown, sink } = this.#wire;
    const accepted = status >= 200 && status <= 299;
    // Read whatever it is, so that the connection can be used again.
    const text = await reply.text(limits.errorBytes).catch(() => "");
    if (accepted) return;
    if (status === 404 && session !== undefined) {
      this.#wire.expired(session);
      throw new LocalError("SESSION_EXPIRED", `${shown} does not know the session any more (HTTP 404)`);
    }
    if (isResponse(text)) await sink.receive(text, { status });
    throw statusError(status, shown, text);
  }
}

// The GET stream of a session, on which a server says what belongs to no request: opened once, taken up after each end.

class StandingStream {
  readonly #wire: LinkWire;
  readonly #session: string | undefined;
  readonly #reconnection: Reconnection;
  readonly #feed: EventFeed;
  readonly #canceller = new Canceller();
  #served = false;
  #settle!: () => void;
  /** Resolves once the server has answered the first GET, whatever it said. */
  readonly answered: Promise<void>;
  /** Resolves when it will not be taken up again. */
  readonly ended: Promise<void>;
  /** Being read now. */
  open = false;
  /** The server has opened it once, and it was given up later. */
  givenUp = false;

  constructor(wire: LinkWire, session: string | undefined) {
    this.#wire = wire;
    this.#session = session;
    this.#reconnection = new Reconnection(wire.limits);
    const { messageBytes } = wire.limits;
    this.#feed = new EventFeed(messageBytes, {
      event: ({ type, data }) => {
        if (!this.#canceller.cancelled && type === "message" && data !== "")
          return wire.sink.receive(data, { status: 200 });
      },
      oversized: () => {
        const what = `Message refused: an event longer than ${messageBytes} bytes`;
        wire.sink.unreadable(new RpcError(ErrorCode.InvalidRequest, what), { status: 200 });
      },
    });
    this.answered = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.ended = this.#run();
  }

  cancel(): void {
    this.#canceller.cancel();
    this.#reconnection.cancel();
    this.#settle();
  }

  async #run(): Promise<void> {
    for (;;) {
      const reply = await this.#connect();
      this.#settle();
      if (reply === "never" || this.#canceller.cancelled) return;
      if (reply !== undefined) await this.#read(reply);
      if (this.#canceller.cancelled) return;
      const why = this.#reconnection.giveUp(this.#feed.retryMs);
      if (why !== undefined) {
        this.givenUp = this.#served;
        return this.#wire.trouble(`the stream for what the server says by itself is closed: ${why}`);
      }
      if (!(await this.#reconnection.wait(this.#feed.retryMs))) return;
    }
  }

  /** A stream to read; undefined after a failure that may pass; "never" when the server has no such stream. */
  async #connect(): Promise<HttpReply | undefined | "never"> {
    const { cursor } = this.#feed;
    const { started } = this.#canceller;
    let reply: HttpReply;
    try {
      reply = await this.#wire.get({ cursor, session: this.#session, started });
    } catch (error) {
      const { code, message } = asLocal(error);
      this.#reconnection.failed();
      if (code === "UNREACHABLE" || code === "OUTCOME_UNKNOWN" || code === "TIMEOUT") return undefined;
      if (!this.#canceller.cancelled) this.#wire.trouble(message);
      return "never";
    }
    if (reply.status === 200 && bodyKind(reply.header("content-type")) === "events") {
      this.#served = true;
      return reply;
    }
    const { status } = reply;
    void reply.text(this.#wire.limits.errorBytes).catch(() => undefined);
    if (status >= 500 || status === 429 || status === 409) {
      this.#reconnection.failed();
      return undefined;
    }
    if (status === 404 && this.#served && this.#session !== undefined) this.#wire.expired(this.#session);
    return this.#forgetCursor(status) ? undefined : "never";
  }

  /** What came after the cursor is lost; what is still to come is worth having. */
  #forgetCursor(status: number): boolean {
    if (status !== 400 || this.#feed.cursor === undefined) return false;
    this.#feed.forgetCursor();
    return true;
  }

  async #read(reply: HttpReply): Promise<void> {
    this.open = true;
    try {
      await this.#feed.read(reply);
      this.#reconnection.ended(this.#feed.events);
    } catch (error) {
      // A cut is as good as an end, but an event without end would only come again.
      if (asLocal(error).code === "LIMIT") this.#reconnection.failed();
      else this.#reconnection.ended(this.#feed.events);
    }
    this.open = false;
  }
}
