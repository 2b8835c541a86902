// The limits of an HTTP endpoint, each with its default and the reason for it; and who may come in, as people write it.
import { LocalError } from "../../jsonrpc/errors.js";

/** Every bound of an HTTP endpoint, in bytes, milliseconds or pieces. Over one a client gets an HTTP status, never silence. */
export interface HttpLimits {
  /**
   * Open connections. When nearly all places are taken, the oldest connection that waits for nothing gives up its place, one that has
   * sent no whole request first; where none does, further ones are dropped when they come. Node only.
   */
  readonly connections: number;
  /** Bytes of a request's headers. Node only. */
  readonly headerBytes: number;
  /** Headers of a request. Node only. */
  readonly headers: number;
  /** Milliseconds a client may take to send its headers. Node only. */
  readonly headersMs: number;
  /** Milliseconds a client may take to send a whole request. Node only. */
  readonly requestMs: number;
  /** Milliseconds an idle connection is kept. Node only. */
  readonly keepAliveMs: number;
  /** Requests of one connection being served at once; further ones wait for the replies before them to be read. Node only. */
  readonly pipelined: number;
  /** Requests of one principal being served at once while the process is busy; further ones wait, its connections in turn. */
  readonly turns: number;
  /** Requests outside sessions being served at once; further ones are answered 503. */
  readonly inFlight: number;
  /** Bytes of request bodies over 64 KiB that are received or served at once; further ones are answered 503. Node only. */
  readonly bodyBytes: number;
  /** Listen requests open at once on the endpoint. */
  readonly listens: number;
  /** Bytes a connection may hold unsent before notifications nobody waits for are dropped. */
  readonly bufferedBytes: number;
  /** Milliseconds a reader may take nothing before its stream is cut. */
  readonly stallMs: number;
  /** Milliseconds of silence after which a stream gets a comment. */
  readonly keepAliveCommentMs: number;
  /** Milliseconds that what runs may take to finish once `close` is called. */
  readonly drainMs: number;
}

/** The defaults of `HttpLimits`, for `toFetch`, `toNodeHandler` and `serveHttp`. */
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  // A third of the usual bound on descriptors of a service; slow clients are gone long before they fill it.
  connections: 10_000,
  // Node's own bound: mirrored arguments and tokens fit, floods do not.
  headerBytes: 16 * 1024,
  // A browser sends 20, an annotated tool a dozen more.
  headers: 100,
  // Headers are one packet: ten seconds are for the worst of networks.
  headersMs: 10_000,
  // 4 MiB at a slow 1.2 Mbit/s.
  requestMs: 30_000,
  // Clients call again within seconds; longer than the usual proxy's minute would only keep dead sockets.
  keepAliveMs: 30_000,
  // Replies leave one after the other, so more than a few at once only pile up. Hardly any client pipelines at all.
  pipelined: 4,
  // What keeps a processor busy whatever the calls wait for, and holds others up by no more than so many of them.
  turns: 64,
  // Four times what one conversation may have open: enough for all clients of one process.
  inFlight: 4_096,
  // Sixty-four of the longest messages. While it is served a message takes several times its length in memory.
  bodyBytes: 256 * 1024 * 1024,
  // Each costs a connection and a few kilobytes.
  listens: 10_000,
  // One large answer: enough to keep a connection busy, small enough to multiply by the connections.
  bufferedBytes: 1024 * 1024,
  // Nobody who still reads takes nothing for half a minute.
  stallMs: 30_000,
  // Below the 30 s after which impatient proxies give a silent stream up.
  keepAliveCommentMs: 15_000,
  // What a supervisor waits between SIGTERM and SIGKILL, less a little for the exit itself.
  drainMs: 25_000,
};

/** Bounds of sessions: how many, for how long, and what is kept for a client that comes back (basic/transports). */
export interface SessionLimits {
  /** Sessions open at once; further ones are answered 503. */
  readonly max: number;
  /** Milliseconds without a request or an open stream after which a session ends. */
  readonly idleMs: number;
  /** Milliseconds after which a session ends whatever happens. */
  readonly absoluteMs: number;
  /** GET streams of one session. */
  readonly streams: number;
  /** Messages kept for a session that has never had a GET stream. */
  readonly held: number;
  /** Sent events kept for resumption: how many of one session, bytes of one session, bytes of all, and how long. */
  readonly eventsKept: number;
  readonly eventBytes: number;
  readonly allEventBytes: number;
  readonly eventsMs: number;
}

/** The defaults of `SessionLimits`. */
export const DEFAULT_SESSION_LIMITS: SessionLimits = {
  // A few kilobytes each, so tens of megabytes at most.
  max: 10_000,
  // A lunch break; clients open a new session by themselves afterwards.
  idleMs: 30 * 60_000,
  // A day's work: a stolen id is not good for ever.
  absoluteMs: 24 * 3_600_000,
  // One for each window a client may have on one session.
  streams: 4,
  // What a server says between the handshake and the client's GET.
  held: 32,
  // A long run with progress; more belongs into a resource.
  eventsKept: 1_000,
  eventBytes: 1024 * 1024,
  allEventBytes: 64 * 1024 * 1024,
  // Longer than any reconnection delay, shorter than a session.
  eventsMs: 5 * 60_000,
};

/** How clients of sessions are asked whether they are still there. */
export interface PingLimits {
  /** Milliseconds between two pings of a session that has a stream open. */
  readonly everyMs: number;
  /** Milliseconds a client may take to answer. */
  readonly timeoutMs: number;
  /** Pings in a row that may stay unanswered; with the last of them the session ends. */
  readonly misses: number;
}

/** The defaults of `PingLimits`, where the option `pings` is true. */
export const DEFAULT_PINGS: PingLimits = {
  // As often as impatient proxies want to see traffic; more would only cost.
  everyMs: 30_000,
  // The worst of networks answers within that.
  timeoutMs: 10_000,
  // A laptop that sleeps for a minute comes back to its session.
  misses: 3,
};

/** How much each sender may send. */
export interface RateLimits {
  /** Requests a second that one may send for as long as it likes. */
  readonly perSecond: number;
  /** Requests one may send at once after some silence. */
  readonly burst: number;
  /** Senders remembered; beyond it whoever was silent for longest is forgotten. */
  readonly callers: number;
}

/** The defaults of `RateLimits`, where the option `rate` leaves them out. */
export const DEFAULT_RATE: RateLimits = {
  // More than any model or person asks for, less than a loop gone wild.
  perSecond: 50,
  // A client that starts up lists and reads everything it can.
  burst: 200,
  // As many as may be connected.
  callers: 10_000,
};

// Hosts and origins as people write them: refused at the start where no request could ever match.

/** What says who may come in. */
interface DoorOptions {
  readonly allowedHosts?: readonly string[] | undefined;
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly publicHosts?: readonly string[] | undefined;
  readonly cors?: boolean | undefined;
  /** What an origin is named in, where that is not `allowedOrigins`. */
  readonly originOption?: string | undefined;
}

/** A name or an address, and maybe a port, as the Host header has it. */
const HOST = /^(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
/** As a browser writes an origin: those of programs and extensions have schemes of their own. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Throws BAD_OPTIONS for a host or an origin that no request can have, and for options of which one makes the other useless. */
export function checkDoor(options: DoorOptions): void {
  const { allowedHosts, allowedOrigins, publicHosts, cors, originOption = "allowedOrigins" } = options;
  if (allowedHosts !== undefined && publicHosts !== undefined)
    throw badDoor(
      "Give allowedHosts or publicHosts: publicHosts are served beside this machine's names, allowedHosts instead",
    );
  if (allowedHosts?.length === 0)
    throw badDoor(
      'allowedHosts is empty, so that nobody is served: name the hosts, as in ["mcp.example.com"], or leave it out',
    );
  for (const host of allowedHosts ?? []) checkHost("allowedHosts", host);
  for (const host of publicHosts ?? []) checkHost("publicHosts", host);
  for (const origin of allowedOrigins ?? []) checkOrigin(originOption, origin);
  if (cors === true && allowedOrigins === undefined)
    throw badDoor(
      `cors answers the web pages of ${originOption}, and there are none: name them, as in ["https://app.example.com"]`,
    );
}

function checkHost(option: string, host: string): void {
  if (HOST.test(host)) return;
  const is = `${option} has ${JSON.stringify(host)}, which no Host header is`;
  if (host.includes("*")) throw badDoor(`${is}: there are no patterns, name each host`);
  const meant = hostOf(host);
  throw badDoor(
    `${is}: write ${meant === undefined ? 'the name, and the port where there is one, as in "mcp.example.com:8443"' : JSON.stringify(meant)}`,
  );
}

function checkOrigin(option: string, origin: string): void {
  const meant = originOf(origin);
  // Pages in a sandbox and of files send this word.
  if (origin === "null" || (ORIGIN.test(origin) && (meant === undefined || meant === origin.toLowerCase()))) return;
  const is = `${option} has ${JSON.stringify(origin)}, which no Origin header is`;
  if (origin.includes("*")) throw badDoor(`${is}: there are no patterns, name each origin`);
  throw badDoor(
    `${is}: write ${meant === undefined ? 'the scheme, the host, and the port where there is one, as in "https://app.example.com"' : JSON.stringify(meant)}`,
  );
}

/** As it would be sent, as far as it is to be seen what was meant. */
function originOf(text: string): string | undefined {
  const whole = text.trim();
  const url = urlOf(/^[a-z][a-z0-9+.-]*:\/\//i.test(whole) ? whole : `https://${whole}`);
  return url === undefined || url.host === "" || url.origin === "null" ? undefined : url.origin;
}

function hostOf(text: string): string | undefined {
  const bare = text.trim().replace(/^[a-z][a-z0-9+.-]*:\/\//i, "");
  // A scheme without a usual port: the one that was written stays.
  const port = /:(\d{1,5})(?=[/?#]|$)/.exec(bare)?.[1];
  const url = urlOf(`http://${bare}`);
  if (url === undefined || url.hostname === "") return undefined;
  return port === undefined ? url.hostname : `${url.hostname}:${port}`;
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function badDoor(text: string): LocalError {
  return new LocalError("BAD_OPTIONS", text);
}
