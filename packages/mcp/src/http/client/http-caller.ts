// Sends requests with authorization over the small interface of a requester, follows redirects within one origin, and
// refuses replies nobody can read.

import type { HttpAuthorizer, MessageSink, OutgoingKind, Shortener } from "../../jsonrpc/transport.js";
import { isPassing, LocalError } from "../../jsonrpc/errors.js";
import { CLIENT_LIMITS } from "../../jsonrpc/limits.js";
import { quotedWords, type RequestId, visibleText } from "../../jsonrpc/message.js";
import { startTimer } from "../../jsonrpc/outgoing.js";

/** One request as a requester sends it: headers by lower-case name, the body as text. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /**
   * May reach the server twice without harm: sent again, once, when a kept connection proves to be closed. Default
   * false: nobody can tell whether a request on such a connection was served.
   */
  readonly repeatable?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called, before anything is sent, with what ends the request in whatever state it is. Cheaper than a signal. */
  readonly started?: ((cancel: () => void) => void) | undefined;
}

/** A reply whose head has come. Its body is read once, by `text` or by `each`, or cancelled. */
export interface HttpReply {
  readonly status: number;
  /** By lower-case name; several lines of one header joined by ", ". */
  header(name: string): string | undefined;
  /** How the body is encoded, when it has to be undone and nobody will. */
  readonly encoding: string | undefined;
  /**
   * The whole body. Rejects with a LocalError: LIMIT over `maxBytes`, INVALID_RESPONSE when it is not UTF-8,
   * OUTCOME_UNKNOWN when it was cut, CANCELLED.
   */
  text(maxBytes: number): Promise<string>;
  /**
   * The whole body as `text` has it, given to `take` at once and kept by nobody: a promise that has waited for a long text would hold it
   * until V8's next full collection. Rejects as `text` does, and with what `take` threw. Where it is absent `text` is called. A long body
   * is given to `shortener` first, where there is one.
   */
  textTo?(
    maxBytes: number,
    take: (text: string) => void | Promise<void>,
    shortener?: Partial<Shortener>,
  ): Promise<void>;
  /**
   * Gives each chunk as it comes; after a promise the next one is read when that has resolved. Resolves at the end.
   * Rejects with OUTCOME_UNKNOWN when the body was cut, with CANCELLED, or with what `take` threw.
   */
  each(take: (chunk: Uint8Array) => void | Promise<void>): Promise<void>;
  /** Ends the connection when there is still something to come. */
  cancel(): void;
}

/** Sends HTTP requests; give one of your own for a proxy or a runtime without fetch. */
export interface HttpRequester {
  /**
   * Sends, and resolves with the head of the reply. Follows no redirects. Rejects with a LocalError: UNREACHABLE when
   * nothing reached the server, OUTCOME_UNKNOWN when it may have, INVALID_RESPONSE when the reply is not HTTP,
   * NOT_SUPPORTED for a URL it cannot reach, CANCELLED.
   */
  request(request: HttpRequest): Promise<HttpReply>;
  /** Ends idle connections, and others when their request ends. Safe to call again; a later request opens a new one. */
  close(): void;
}

// Tells what a body is from its Content-Type.

/** "unknown" where there is no Content-Type. */
type BodyKind = "json" | "events" | "unknown" | "other";

export function bodyKind(contentType: string | undefined): BodyKind {
  if (contentType === "application/json") return "json";
  if (contentType === undefined || contentType.trim() === "") return "unknown";
  const semicolon = contentType.indexOf(";");
  const type = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  if (type === "text/event-stream") return "events";
  if (type === "application/json" || /^application\/[\w.-]+\+json$/.test(type)) return "json";
  return "other";
}

interface CallerOptions {
  readonly requester: HttpRequester;
  readonly authorizer: HttpAuthorizer | undefined;
  readonly limits: HttpClientLimits;
}

export class HttpCaller {
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /**
   * The reply to `request`, whatever its status; redirects are followed for 307 and 308, and for every redirect of a GET,
   * within the origin. Rejects with a LocalError.
   */
  async call(request: HttpRequest): Promise<HttpReply> {
    const { limits } = this.#options;
    let current = request;
    for (let followed = 0; ; followed++) {
      const reply = await this.#authorized(current);
      if (reply.encoding !== undefined) {
        reply.cancel();
        const what = `${shownUrl(current.url)} sent its answer encoded (${quote(reply.encoding)}), unasked`;
        throw new LocalError("INVALID_RESPONSE", `${what}: turn compression off for this path.`);
      }
      if (reply.status < 300 || reply.status > 399 || reply.status === 304) return reply;
      reply.cancel();
      const url = target(current, reply, followed < limits.redirects);
      current = { ...current, url };
    }
  }

  async #authorized(request: HttpRequest): Promise<HttpReply> {
    const { requester, authorizer, limits } = this.#options;
    if (authorizer === undefined) return requester.request(request);
    const { method, url } = request;
    for (let challenges = 0; ; challenges++) {
      const sent = await authorizer.headers({ method, url });
      const reply = await requester.request({ ...request, headers: { ...request.headers, ...sent } });
      const response = { method, url, sent, status: reply.status, header: (name: string) => reply.header(name) };
      if (reply.status !== 401 && reply.status !== 403) {
        authorizer.answered?.(response);
        return reply;
      }
      let again: boolean;
      try {
        again = challenges < limits.challenges && (await authorizer.challenged(response));
      } catch (error) {
        // Nobody reads it any more: unread it would hold its connection, and the connection the process.
        reply.cancel();
        throw error;
      }
      if (!again) return reply;
      // Read, so that the connection can be used again.
      await reply.text(limits.errorBytes).catch(() => undefined);
    }
  }
}

// Where a redirect leads, if it may be followed; throws what to do otherwise.
function target(request: HttpRequest, reply: HttpReply, more: boolean): string {
  const location = reply.header("location");
  const from = shownUrl(request.url);
  let to: URL | undefined;
  try {
    to = location === undefined ? undefined : new URL(location, request.url);
  } catch {
    to = undefined;
  }
  const status = `${from} answered with the redirect HTTP ${reply.status}`;
  if (to === undefined) throw new LocalError("INVALID_RESPONSE", `${status} without a usable Location: check the URL.`);
  // No more of it than a person needs to know it again: the rest is a stranger's text.
  const shown = quotedWords(shownUrl(to.href));
  if (to.origin !== new URL(request.url).origin || to.origin === "null") {
    throw new LocalError(
      "REDIRECTED",
      `${status} to another origin, ${shown}, not followed: connect to that URL if you trust it.`,
    );
  }
  const keepsMethod = reply.status === 307 || reply.status === 308;
  if (!keepsMethod && (request.method !== "GET" || reply.status === 300)) {
    throw new LocalError("REDIRECTED", `${status} to ${shown}, which would lose the message: connect to that URL.`);
  }
  if (!more) throw new LocalError("REDIRECTED", `${status} once too often, now to ${shown}: check the URL.`);
  return to.href;
}

// Ends a request in whatever state it is, one that has not begun among them.

export class Canceller {
  cancelled = false;
  #how: (() => void) | undefined;

  /** Given to the requester, as often as the request is sent. */
  readonly started = (how: () => void): void => {
    this.#how = how;
    if (this.cancelled) how();
  };

  cancel(): void {
    this.cancelled = true;
    this.#how?.();
  }
}

/** A canceller that cancels itself after `ms`, unless `stop` was called before. */
export class Deadline extends Canceller {
  /** Time ran out. */
  late = false;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number) {
    super();
    this.#timer = startTimer(() => {
      this.late = true;
      this.cancel();
    }, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

// What may be posted again.

/** Milliseconds before an answer is posted again, the first time; each time twice as long, up to the second. */
const ANSWER_PAUSE_MS = 100;
const MOST_PAUSE_MS = 5_000;

/**
 * Posts a message once; an answer to a question again and again until `canceller` ends it, where that may go otherwise in a moment: it
 * counts once however often it comes, and whoever has asked waits for it. Rejects with what the last trial rejected with.
 * `rests` is told when nothing is under way for it, and when something is again.
 */
export async function delivered(
  kind: OutgoingKind,
  post: () => Promise<void>,
  { canceller, rests }: { readonly canceller: Canceller; readonly rests?: (rests: boolean) => void },
): Promise<void> {
  for (let pause = ANSWER_PAUSE_MS; ; pause = Math.min(2 * pause, MOST_PAUSE_MS)) {
    try {
      return await post();
    } catch (error) {
      if (kind !== "response" || canceller.cancelled || !isPassing(error)) throw error;
      rests?.(true);
      await rested(pause, canceller);
      rests?.(false);
      if (canceller.cancelled) throw error;
    }
  }
}

function rested(ms: number, canceller: Canceller): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(resolve, ms);
    canceller.started(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

// The limits of an HTTP transport, each with its default and the reason for it.

/** Bounds of a client's HTTP connection: bytes of messages, requests at once, attempts. */
export interface HttpClientLimits {
  /** Bytes of a JSON answer, and of an event. */
  readonly messageBytes: number;
  /** Bytes read of a body that is only quoted in an error, or thrown away. */
  readonly errorBytes: number;
  /** Requests waiting for an answer at once, each with a connection. */
  readonly requests: number;
  /** Notifications and responses being posted at once; further ones wait. */
  readonly posts: number;
  /** Notifications and responses waiting; further ones are dropped. */
  readonly waitingPosts: number;
  /** Milliseconds a notification may take to be accepted. */
  readonly postMs: number;
  /** The same of a response: it is posted again where the server is away for a while. */
  readonly answerMs: number;
  /** Milliseconds until a GET stream has to be answered. */
  readonly openMs: number;
  /** Milliseconds requests wait for the standing stream to be open. */
  readonly standingWaitMs: number;
  /** Milliseconds a stream may stay open behind the answer it was for. */
  readonly lingerMs: number;
  /** Milliseconds `close` waits for the server to end the session. */
  readonly closeMs: number;
  /** Failed attempts in a row to take up a stream again. */
  readonly failures: number;
  /** Reconnections in a row that brought nothing. */
  readonly emptyRounds: number;
  /** Longest wait a server may ask for with `retry`, in milliseconds. */
  readonly retryMs: number;
  /** Redirects followed within one origin. */
  readonly redirects: number;
  /** Times one message is sent again because the authorizer says so. */
  readonly challenges: number;
}

export const DEFAULT_HTTP_CLIENT_LIMITS: HttpClientLimits = {
  messageBytes: CLIENT_LIMITS.messageBytes,
  // Any error page; of which a few hundred characters are shown.
  errorBytes: 64 * 1024,
  // As many as a conversation may have pending.
  requests: CLIENT_LIMITS.pendingRequests,
  // A server's burst of questions is answered at once, a storm of cancellations keeps few connections.
  posts: 64,
  waitingPosts: 1_024,
  // Accepting a message is no work: half a minute is for the worst of networks.
  postMs: 30_000,
  // As long as servers wait for people; a restart or a store that is away is over sooner.
  answerMs: 5 * 60_000,
  openMs: 30_000,
  // A round trip around the world; servers that open the stream with its first event only cost this once.
  standingWaitMs: 500,
  // The end of the body follows its last event; a server that forgets it keeps no connection.
  lingerMs: 1_000,
  // As long as people wait for a program to end.
  closeMs: 2_000,
  // With the delays between them 15 s: a restart of the server or a change of network.
  failures: 5,
  // Polling servers hang up every second or so: a quarter of an hour without a word is their end.
  emptyRounds: 1_000,
  // Nobody waits longer for a call; a server that says so is mistaken.
  retryMs: 10 * 60_000,
  redirects: 3,
  // A token, a wider scope, a nonce for each, and one more.
  challenges: 5,
};

// The errors of HTTP transports: what went wrong, at which URL, and what to do; without secrets and control characters.

/** Who asks is not known; or is, and may not. */
const REFUSED: Readonly<Record<number, string>> = { 401: "UNAUTHORIZED", 403: "FORBIDDEN" };

/** A reply that refuses. `code` is UNAUTHORIZED for 401, FORBIDDEN for 403 and HTTP_STATUS for every other. */
class HttpStatusError extends LocalError {
  override readonly name: string = "HttpStatusError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(REFUSED[status] ?? "HTTP_STATUS", message);
    this.status = status;
  }
}

// As much as two lines of a terminal show.
const QUOTED = 300;

/** The start of foreign text on one line, fit to be printed. */
export function quote(text: string): string {
  return visibleText(text.trim(), QUOTED);
}

/** A URL as it may be shown: without user, password, fragment and the values of its query. */
export function shownUrl(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return quote(url.replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//"));
  }
  const { protocol, host, pathname, hash } = parsed;
  // The fragment of a unix: URL is the path at the server.
  const base = host === "" ? `${protocol}//${pathname}${hash}` : `${protocol}//${host}${pathname}`;
  const names = [...parsed.searchParams.keys()].map((name) => `${encodeURIComponent(name)}=…`);
  return quote(names.length === 0 ? base : `${base}?${names.join("&")}`);
}

/** Says what a refusing status usually means here, and what to do about it. `shown` is a URL fit to be shown. */
export function statusError(status: number, shown: string, body: string): HttpStatusError {
  const said = body.trim();
  // Between quotation marks: what a stranger wrote must not read as if we had.
  const answer = said === "" ? "" : looksLikeHtml(body) ? ": an HTML page" : `: ${quotedWords(said)}`;
  return new HttpStatusError(status, `${shown} answered with HTTP ${status}${answer}. ${advice(status, said)}`);
}

/** Refused by the name that was asked for, or by the page that asked: no scope changes that. */
const OF_ITS_PLACE = /\b(?:host|origin)\b/i;

function advice(status: number, said: string): string {
  if (status === 401) return "It wants authorization: give a token in `headers`, or an authorizer.";
  if (status === 403 && OF_ITS_PLACE.test(said)) return "It refuses this host or origin.";
  if (status === 403) return "Check the client's scopes, or the server's allowed origins.";
  if (status === 404 || status === 405) return "Is it the MCP endpoint? Its path is often /mcp or /sse.";
  if (status === 407) return "The proxy wants authorization: put user and password into its URL.";
  if (status === 413) return "Send less, or raise its limit or its proxy's (nginx: client_max_body_size).";
  if (status === 429 || status === 503) return "It cannot serve this now: try again in a moment.";
  if (status >= 500) return "Look into the server's log.";
  return "Check the URL and the headers.";
}

export function looksLikeHtml(text: string): boolean {
  return /^\s*(?:<!doctype html|<html)/i.test(text.slice(0, 200));
}

// What people give an HTTP transport, checked before anything is sent.

const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "unix:", "http+unix:"]);

/** The URL as text. Throws a LocalError INVALID_URL that says what is wrong with it. */
export function usableUrl(url: string | URL): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new LocalError("INVALID_URL", `${shownUrl(String(url))} is not a URL: write it like https://host/mcp`);
  }
  const shown = shownUrl(parsed.href);
  if (!SCHEMES.has(parsed.protocol)) {
    throw new LocalError("INVALID_URL", `${shown} is not a URL for HTTP: write it like https://host/mcp`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    const what = "has a user or password, which would end up in logs";
    throw new LocalError("INVALID_URL", `${shown} ${what}: give the header authorization instead`);
  }
  return parsed.href;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
// These belong to the connection and the body: a wrong one makes two requests of one.
const FRAMING: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "expect",
]);

/** Headers by lower-case name. Throws a TypeError naming the one that cannot be sent. */
export function ownHeaders(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const checked: Record<string, string> = {};
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (!TOKEN.test(name) || FRAMING.has(name)) throw new TypeError(`"${quote(given)}" cannot be given as a header`);
    if (typeof value !== "string" || !VALUE.test(value)) {
      throw new TypeError(`The value of the header ${name} has characters no header can hold`);
    }
    checked[name] = value;
  }
  return checked;
}

// What the streams of one HTTP transport share.

export interface PostOptions {
  readonly text: string;
  /** What the protocol wants for this message. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly repeatable: boolean;
  /** The session it belongs to. */
  readonly session: string | undefined;
  readonly started: (cancel: () => void) => void;
}

export interface GetOptions {
  /** Value of Last-Event-ID. */
  readonly cursor: string | undefined;
  readonly session: string | undefined;
  readonly started: (cancel: () => void) => void;
}

export interface LinkWire {
  readonly sink: MessageSink;
  readonly limits: HttpClientLimits;
  /** The URL, fit to be shown. */
  readonly shown: string;
  /** A cut stream can be taken up again. */
  readonly resumable: boolean;
  /** A standing stream is open, on which anything may come. */
  readonly standing: boolean;
  /** Rejects with a LocalError. */
  post(options: PostOptions): Promise<HttpReply>;
  /** Asks for an event stream. Rejects with a LocalError, TIMEOUT among them. */
  get(options: GetOptions): Promise<HttpReply>;
  /** The reply to `initialize` says which session was opened. False: in a way that cannot be sent back. */
  opened(reply: HttpReply): boolean;
  /** The server does not know the session any more. */
  expired(session: string): void;
  /** Nobody waits for the answer of this request any more, and its stream is still read. Told once. */
  left(id: RequestId): void;
  /** Something is wrong that no message can be blamed for. */
  trouble(what: string): void;
}
