// What a client's HTTP requests are authorized by, as the transport sees it.

/** A request about to be sent, or that was sent. */
export interface AuthorizedRequest {
  readonly method: string;
  readonly url: string;
}

/** The head of a response. */
export interface AuthorizedResponse extends AuthorizedRequest {
  readonly status: number;
  /** The headers that `headers` gave for this request; without them a token renewed meanwhile may be renewed again. */
  readonly sent?: Readonly<Record<string, string>> | undefined;
  /** By lower-case name; several lines of one header joined by ", ". */
  header(name: string): string | undefined;
}

export interface HttpAuthorizer {
  /** Headers for this request, by lower-case name. Asked for each request anew: proofs are bound to it. Rejects with a LocalError. */
  headers(request: AuthorizedRequest): Promise<Readonly<Record<string, string>>>;
  /**
   * Told of a 401 or 403. True: send the request again, with new headers. False: give the response to the caller.
   * Rejects with a LocalError when authorization was tried and failed. It bounds its own attempts.
   */
  challenged(response: AuthorizedResponse): Promise<boolean>;
  /** Told of every other response, for what travels in its headers (nonces). */
  answered?(response: AuthorizedResponse): void;
}
