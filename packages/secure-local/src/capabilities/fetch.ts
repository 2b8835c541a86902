// The only network power of a tool: one request, decided by the policy, to an address that was checked.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Buffer } from "node:buffer";
import { PassThrough, type Transform } from "node:stream";
import { dial, type Resolve, resolveAllowed, resolveBySystem } from "./resolve.js";
import { type DecideEgress, type EgressTarget, parseTarget } from "./egress-target.js";
import { FetchError } from "./refusals.js";
import type { SecretBroker } from "./secret-broker.js";
import type { SecretExchange } from "./secret-exchange.js";

/** An answer that arrived whole. `status` is whatever the server said; names in `headers` are lower case. */
export interface PolicyResponse {
  readonly status: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
  /** The body as UTF-8, faults replaced. */
  text(): string;
}

/** @throws FetchError for everything but an abort by the caller's signal, whose reason is thrown as it is. */
export type PolicyFetch = (url: string, request?: FetchRequest) => Promise<PolicyResponse>;

export interface FetchOptions {
  /** Bytes of one body, as sent and as decoded; 2 MiB holds any page a model can use. */
  readonly maxBytes?: number;
  /** Milliseconds for everything, redirects included. */
  readonly timeoutMs?: number;
  readonly maxRedirects?: number;
  readonly resolve?: Resolve;
  /** Puts values in place of placeholders where they belong, and placeholders in place of values that come back. */
  readonly secrets?: SecretBroker;
}

const MAX_BYTES = 2_097_152;
const TIMEOUT_MS = 15_000;
const MAX_REDIRECTS = 5;

/** A call under way: what it is bound to, and the one signal that ends it. */
type Call = Settings & { readonly decide: DecideEgress; readonly signal: AbortSignal };
type Settings = Required<Omit<FetchOptions, "secrets">> & Pick<FetchOptions, "secrets">;

/** Returns a `fetch` bound to a policy. It follows no redirect without asking `decide` again, and ignores proxy variables. */
export function createFetch(decide: DecideEgress, options: FetchOptions = {}): PolicyFetch {
  const settings: Settings = {
    maxBytes: options.maxBytes ?? MAX_BYTES,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    maxRedirects: options.maxRedirects ?? MAX_REDIRECTS,
    resolve: options.resolve ?? resolveBySystem,
    ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
  };
  return async (url, request = {}) => {
    request.signal?.throwIfAborted();
    const timeoutMs = Math.min(request.timeoutMs ?? settings.timeoutMs, settings.timeoutMs);
    const maxBytes = Math.min(request.maxBytes ?? settings.maxBytes, settings.maxBytes);
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
    try {
      return await untilAborted(follow({ ...settings, maxBytes, decide, signal }, url, request), signal);
    } catch (error) {
      request.signal?.throwIfAborted();
      if (deadline.aborted) throw new FetchError("timeout", `No complete answer within ${timeoutMs} milliseconds.`);
      throw error;
    }
  };
}

async function follow(call: Call, url: string, first: FetchRequest): Promise<PolicyResponse> {
  let target = parseTarget(url);
  let request = first;
  const { origin } = target.url;
  let strayed = false;
  for (let hops = 0; ; hops += 1) {
    strayed ||= target.url.origin !== origin;
    const answer = await send(call, target, { ...request, strayed });
    const next = request.redirect === "manual" ? undefined : nextHop(target, request, answer);
    if (next === undefined) return answer;
    if (hops === call.maxRedirects) throw new FetchError("redirect", `More than ${hops} redirects.`);
    await request.onward?.(next.target.url.href);
    ({ target, request } = next);
  }
}

/** `strayed`: a redirect led to another origin, so what the body says is no longer meant for who gets it. */
type Sent = FetchRequest & { readonly strayed: boolean };

async function send(call: Call, target: EgressTarget, request: Sent): Promise<PolicyResponse> {
  const addresses = await resolveAllowed(target, call.decide, call.resolve);
  await request.sending?.({ url: target.url.href, method: request.method ?? "GET", body: request.body });
  const socket = await dial(target, addresses, call.signal);
  const hangUp = (): void => void socket.destroy();
  call.signal.addEventListener("abort", hangUp, { once: true });
  try {
    call.signal.throwIfAborted();
    const secrets = await call.secrets?.at(target);
    const response = await exchange(target, request, { socket, secrets });
    const read = await readBody(response, call.maxBytes);
    const filter = secrets?.filter();
    const body = filter?.bytes(read) ?? read;
    const headers = filter?.headers(response.headers) ?? response.headers;
    const text = (): string => new TextDecoder().decode(body);
    return { status: response.statusCode ?? 0, url: target.url.href, headers, body, text };
  } finally {
    call.signal.removeEventListener("abort", hangUp);
    socket.destroy();
  }
}

interface Over {
  readonly socket: Socket;
  readonly secrets: SecretExchange | undefined;
}

async function exchange(target: EgressTarget, request: Sent, { socket, secrets }: Over): Promise<IncomingMessage> {
  const { request: open } = await import("node:http");
  const { pathname, search, host } = target.url;
  const given = request.body === undefined ? undefined : Buffer.from(request.body);
  const filled = given !== undefined && !request.strayed && secrets?.body(given, request.headers ?? {});
  const body = filled || given;
  const length = body === undefined ? {} : { "content-length": String(body.length) };
  const own = { ...length, host, "accept-encoding": ACCEPTED_ENCODINGS, connection: "close" };
  const headers = { ...(secrets?.headers(request.headers ?? {}) ?? request.headers), ...own };
  const path = secrets?.path(pathname + search) ?? pathname + search;
  return await new Promise((resolve, reject) => {
    const method = request.method ?? "GET";
    const broken = (): void => reject(new FetchError("broken", `${target.host} broke off or does not speak HTTP.`));
    // A connected socket is handed over, so no agent and no proxy has a say.
    const sent = open({ method, path, headers, createConnection: () => socket });
    sent.once("response", resolve);
    sent.on("error", broken);
    sent.on("close", broken);
    sent.end(body);
  });
}

/** Settles when `work` does or as soon as the signal is aborted: resolving names cannot be interrupted. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

// Works out the request that a redirect asks for.

/** A request as it leaves, its secrets not yet put in. */
export interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly body: string | undefined;
}

/** One request of a tool. `host`, `connection` and encodings are set by `fetch`. */
export interface FetchRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Each at most what the capability was made with. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Asked before a redirect is followed; what it throws ends the request. */
  readonly onward?: (to: string) => Promise<void>;
  /** Told of each request that is allowed, redirects among them, before anything is sent; what it throws ends it. */
  readonly sending?: (sent: SentRequest) => Promise<void>;
  /** `manual` returns a redirect as any other answer. */
  readonly redirect?: "follow" | "manual";
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** What may be told to another origin; everything else may identify the user. */
const HARMLESS: ReadonlySet<string> = new Set(["accept", "accept-language", "content-type", "user-agent"]);
const ABOUT_BODY: ReadonlySet<string> = new Set(["content-type", "content-language"]);

/**
 * Returns the next target and request, or undefined when `answer` is no redirect.
 * @throws FetchError `redirect` from https to http, `bad-url`
 */
export function nextHop(
  from: EgressTarget,
  request: FetchRequest,
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string | string[] | undefined>> },
): { target: EgressTarget; request: FetchRequest } | undefined {
  const location = answer.headers["location"];
  if (!REDIRECTS.has(answer.status) || typeof location !== "string") return undefined;
  const target = parseTarget(location, from.url);
  if (from.scheme === "https" && target.scheme === "http") {
    throw new FetchError("redirect", `${from.host} redirects from https to http.`);
  }
  const { body, ...rest } = request;
  const keepsBody = answer.status === 307 || answer.status === 308;
  const sameOrigin = target.url.origin === from.url.origin;
  const headers = Object.entries(request.headers ?? {}).filter(
    ([name]) => (sameOrigin || HARMLESS.has(name.toLowerCase())) && (keepsBody || !ABOUT_BODY.has(name.toLowerCase())),
  );
  const next: FetchRequest = { ...rest, headers: Object.fromEntries(headers) };
  if (keepsBody) return { target, request: body === undefined ? next : { ...next, body } };
  return { target, request: { ...next, method: request.method === "HEAD" ? "HEAD" : "GET" } };
}

// Reads the body of an answer: one content encoding undone, every byte counted before it is kept.

/** What `fetch` offers in `accept-encoding`, and all it undoes. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** What a body may be decoded to, as a multiple of what was sent; honest pages are a tenth of it. */
const MAX_RATIO = 100;
/** Bytes that may be decoded whatever was sent: repetitive pages of this size are honest. */
const RATIO_FREE = 262_144;
/** Pieces one body may come in: each costs as much as a hundred bytes. */
const MAX_PIECES = 100_000;

/**
 * Returns at most `maxBytes` bytes as sent and as decoded.
 *
 * @throws FetchError `too-large`, also for what is decoded to more than a hundred times its size; `encoding`, `broken`
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(response.headers["content-length"]);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const decoder = (await decoderFor(response.headers["content-encoding"])) ?? new PassThrough();
  const sent = counted(response, maxBytes);
  response.once("error", (error) => decoder.destroy(error));
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.pipe(decoder) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      if (size > RATIO_FREE && size > sent.bytes * MAX_RATIO) throw bomb();
      chunks.push(chunk);
    }
  } catch (error) {
    response.destroy();
    if (error instanceof FetchError) throw error;
    throw new FetchError("broken", "The answer broke off or could not be decoded.");
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
}

/** Bytes on the wire are limited too: a decoder may swallow any amount without giving out one. So are their pieces. */
function counted(response: IncomingMessage, maxBytes: number): { readonly bytes: number } {
  const sent = { bytes: 0 };
  let pieces = 0;
  response.on("data", (chunk: Buffer) => {
    sent.bytes += chunk.length;
    pieces += 1;
    if (sent.bytes > maxBytes) response.destroy(tooLarge(maxBytes));
    else if (pieces > MAX_PIECES) response.destroy(new FetchError("too-large", "The answer comes in too many pieces."));
  });
  return sent;
}

function bomb(): FetchError {
  return new FetchError("too-large", `The answer is decoded to more than ${MAX_RATIO} times its size.`);
}

async function decoderFor(encoding: string | undefined): Promise<Transform | undefined> {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return undefined;
  const zlib = await import("node:zlib");
  switch (name) {
    case "gzip":
    case "x-gzip":
      return zlib.createGunzip();
    case "br":
      return zlib.createBrotliDecompress();
    default:
      throw new FetchError("encoding", "The answer has a content encoding that was not asked for.");
  }
}

function tooLarge(maxBytes: number): FetchError {
  return new FetchError("too-large", `The answer is larger than ${maxBytes} bytes.`);
}
