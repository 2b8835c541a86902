// What sends one HTTP request and reads its reply: the small interface transports and authorization are written against.

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
