// The limits of an HTTP link, each with its default and the reason for it.
import { CLIENT_LIMITS } from "../../jsonrpc/limits.js";

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
  /** Milliseconds a notification or a response may take to be accepted. */
  readonly postMs: number;
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
