// What a caller may say about a connection.
import { LocalError } from "../jsonrpc/errors.js";
import type { KnownMembers, MembersOf } from "../schema/schema.js";
import { CLIENT_LIMITS, type JsonRpcLimits, resolveLimits } from "../jsonrpc/limits.js";
import type { Transport } from "../jsonrpc/transport.js";
import {
  checkOptions,
  type ClientCapabilities,
  type Implementation,
  IMPLEMENTATION_MEMBERS,
  type ServerCapabilities,
} from "../protocol/capabilities.js";
import type {
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  Root,
} from "../protocol/features/elicitation.js";
import { isJsonObject, type JsonObject, type RequestId } from "../jsonrpc/message.js";
import type { LogMessage, PingOptions } from "./server-watch.js";
import type { CacheOptions } from "./caches.js";
import { MemoryVerdicts, type VerdictStore, Versions } from "./versions.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";
import type { Meta } from "../protocol/meta.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "../protocol/features/sampling.js";
import type { ClientDescription } from "../era/codec.js";

/** How links to one server are made. */
export interface Dialer {
  /** A new transport, which need not bring longer messages than these limits allow; called again when the first did not survive being asked who it is, and after a crash. */
  link(limits: JsonRpcLimits): Transport;
  /** A transport of the older kind (HTTP+SSE), tried when the first kind turns out not to be served. */
  fallback?(limits: JsonRpcLimits): Transport;
  /** Names the target in the cache of verdicts; undefined: nothing is remembered. */
  readonly key?: string | undefined;
}

/** How a lost connection is made again. */
export interface ReconnectOptions {
  /** Attempts in a row until the client gives up and closes. Default 3. */
  readonly attempts?: number;
  /** Milliseconds before the first attempt at most, doubled before each further one; chance takes up to half away. Default 250. */
  readonly delayMs?: number;
}

/** What a caller may say about a connection; everything has a default. */
export interface ClientOptions {
  /** Who the client is; shown to servers. Default: `mcp-client`. */
  readonly clientInfo?: Implementation;
  /** Capabilities beside those that follow from `elicit`, `sample` and `roots`. What is named here replaces those. */
  readonly capabilities?: ClientCapabilities;
  /** Date of the only revision to speak; INCOMPATIBLE if the server does not. Default: the newest both speak. */
  readonly revision?: string;
  /** The only era to speak. Default `auto`. */
  readonly era?: "auto" | "handshake" | "stateless";
  /** Server capabilities without which there is no connection: NOT_SUPPORTED names those that are missing. */
  readonly require?: readonly (keyof ServerCapabilities)[];
  /** Milliseconds a call waits without answer or progress. Default 60,000. */
  readonly timeoutMs?: number;
  /** Milliseconds a call may take whatever its progress. Default 600,000. */
  readonly maxTimeoutMs?: number;
  /**
   * Milliseconds until a process that has not said which era it speaks is asked whether it is there; four times as long until one
   * that has said nothing at all is asked the older way too. No slow start changes what is spoken in the end. Default 1,500.
   */
  readonly probeTimeoutMs?: number;
  /** Milliseconds the handshake may take, a process that first has to be installed included. Default 60,000. */
  readonly connectTimeoutMs?: number;
  /** Answers questions to the person. Without it none are declared, and none are answered. */
  readonly elicit?: Elicit;
  /** Answers questions to the model. Without it none are declared, and none are answered. */
  readonly sample?: Sample;
  /** Folders to work in (`file://` URIs), or how to find them. Without it none are declared. */
  readonly roots?: readonly Root[] | (() => readonly Root[] | Promise<readonly Root[]>);
  /** Told of each log message of the server. `client.logs` keeps the latest. */
  readonly onLog?: (message: LogMessage) => void;
  /** Told of lines the server wrote where messages belong. */
  readonly onNoise?: (line: string) => void;
  /** Told of each change of a list. Declares interest where the era wants that. */
  readonly onListChanged?: (change: Change) => void;
  /** Told of notifications that are no words of the specification: what the server says with `notify`. */
  readonly onNotification?: (method: string, params: JsonObject) => void;
  /** Around every request of the client's caller, the first outermost: to log, to time, to refuse, to change params. */
  readonly middleware?: readonly ClientMiddleware[];
  /** Told what is wrong without being fatal: invalid tools, stale state, answers that do not fit. */
  readonly onWarning?: (text: string) => void;
  /** Pings an idle session. Default: no pings. */
  readonly ping?: PingOptions;
  /** What happens to structured content that does not fit its tool's output schema. Default `strict`: INVALID_OUTPUT. */
  readonly validateOutput?: "strict" | "warn" | "off";
  /** Keeps results as long as the server allows. Default: kept for this client alone; false: never. */
  readonly cache?: CacheOptions | false;
  /** Where it is remembered how servers spoke. Default: in memory, for the whole program; false: nowhere. */
  readonly verdicts?: VerdictStore | false;
  /**
   * What happens when a process ends, a connection breaks, or a server over HTTP answers that it does not know the session any more.
   * Default: processes have 3 attempts, a session is opened anew, once for a request, which is then sent again. `false`: nothing is
   * opened and nothing is spoken in another revision: the request rejects (EXITED, CLOSED, SESSION_EXPIRED) and the client closes, a
   * session's when the requests under way are over. Whoever compares what a server offers before it is used wants that.
   */
  readonly reconnect?: ReconnectOptions | false;
  /**
   * Limits of what is taken in. Defaults: messages of 16 MiB (`messageBytes`) with 200,000 object members (`members`) and a million
   * values (`values`), nested 64 deep (`depth`). What breaks one fails the call it answers, and the connection goes on.
   */
  readonly limits?: Partial<JsonRpcLimits>;
  /** Aborting it gives up connecting: CANCELLED. */
  readonly signal?: AbortSignal;
}

/** The members of `ClientOptions`. */
export const CLIENT_MEMBERS: MembersOf<ClientOptions> = {
  clientInfo: IMPLEMENTATION_MEMBERS,
  capabilities: "object",
  revision: "text",
  era: ["=auto", "=handshake", "=stateless"],
  require: "each experimental extensions logging completions prompts resources tools tasks",
  timeoutMs: "ms",
  maxTimeoutMs: "ms",
  probeTimeoutMs: "ms",
  connectTimeoutMs: "ms",
  elicit: "function",
  sample: "function",
  roots: ["list", "function"],
  onLog: "function",
  onNoise: "function",
  onListChanged: "function",
  onNotification: "function",
  middleware: "functions",
  onWarning: "function",
  ping: { intervalMs: "ms", timeoutMs: "ms", failures: "whole", onFailure: ["=close", "=warn"] },
  validateOutput: ["=strict", "=warn", "=off"],
  cache: ["false", { store: "get() set()", identity: "text", server: "text" }],
  verdicts: ["false", "get() set()"],
  reconnect: ["false", { attempts: "number", delayMs: "ms" }],
  limits: CLIENT_LIMITS,
  signal: "addEventListener()",
};

/** A request on its way to the server. `params` may be replaced before `next()`. */
export interface SentRequest {
  readonly method: string;
  params: JsonObject | undefined;
}

/** Goes around requests: resolves with the result that `next()` does, another one, or rejects. `next` may be called again to try again. */
export type ClientMiddleware = (request: SentRequest, next: () => Promise<JsonObject>) => Promise<JsonObject>;

/** Sends a request through the middleware. Rejects with BAD_OPTIONS where one of them gives no result back. */
export async function through(
  middleware: readonly ClientMiddleware[],
  request: SentRequest,
  send: () => Promise<JsonObject>,
): Promise<JsonObject> {
  const [first, ...rest] = middleware;
  if (first === undefined) return send();
  const answer: unknown = await first(request, () => {
    const sent = through(rest, request, send);
    // Whoever forgets to return it is told below, and the program does not end by what became of it.
    sent.catch(() => undefined);
    return sent;
  });
  if (isJsonObject(answer)) return answer;
  const what = `The client's middleware gave no result back for ${request.method}`;
  throw new LocalError("BAD_OPTIONS", `${what}, but ${typeof answer}: write return await next()`);
}

// What a caller may say about one request.

/** One report of progress; `progress` grows from report to report. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a caller may say about one request. */
export interface CallOptions {
  /** Asks the server for progress and is told of it. Each report restarts `timeoutMs`. */
  readonly onProgress?: (progress: Progress) => void;
  /** Aborting it rejects the call with CANCELLED and tells the server to stop. */
  readonly signal?: AbortSignal;
  /** Milliseconds without an answer or progress until TIMEOUT. Default: the connection's, 60,000. */
  readonly timeoutMs?: number;
  /** Milliseconds until TIMEOUT whatever progress is made. Default: the connection's, 600,000. */
  readonly maxTimeoutMs?: number;
  /** Lowest level of log messages wanted for this request (stateless era; sessions have `setLogLevel`). */
  readonly logLevel?: LoggingLevel;
  /** Goes into `params._meta` beside what the protocol puts there. */
  readonly meta?: Meta;
  /**
   * Answers what the server asks within this call, instead of what `connect` was given; it can be asked only what the connection
   * declared. In a session over a pipe a question names no call: there it is this one's while no other such call is under way.
   */
  readonly answers?: Answers;
  /**
   * Leaves the questions of a server without sessions to the caller: a result that asks (`resultType: "input_required"`) is given
   * back as it came, and the next call brings the answers and the server's state in here. `{}` begins.
   */
  readonly round?: Round;
  /** Told the id of each request that is sent for this call: one that is sent again has an id of its own. */
  readonly onRequest?: (id: RequestId) => void;
  /**
   * Told of log messages of this call. `named`: whether the server said that it is this call's; where nothing says whose a message is,
   * every such call under way is told.
   */
  readonly onLog?: (message: LogMessage, named: boolean) => void;
}

/** The members of `CallOptions`, and of what is built on them. */
export const CALL_MEMBERS: MembersOf<CallOptions> & KnownMembers = {
  onProgress: "function",
  signal: "addEventListener()",
  timeoutMs: "ms",
  maxTimeoutMs: "ms",
  logLevel: ["=debug", "=info", "=notice", "=warning", "=error", "=critical", "=alert", "=emergency"],
  meta: "object",
  answers: "object",
  round: "object",
  onRequest: "function",
  onLog: "function",
};

/** Throws BAD_OPTIONS for what a call cannot be given. */
export type CallCheck = (args: unknown, options: unknown) => void;

/** Beside those of `CallOptions`: the schema of a typed call, and what other layers of the library give (`SendOptions`). */
const FURTHER = {
  output: "any",
  mirrored: "any",
  tasks: "any",
  stop: "any",
  onSent: "any",
  taker: "any",
  unseenTaker: "any",
  once: "any",
  bounded: "any",
};
const TYPED_CALL_MEMBERS: KnownMembers = { ...CALL_MEMBERS, ...FURTHER };
const OFFERED_MEMBERS: KnownMembers = { ...CALL_MEMBERS, output: "any" };
const ARGUMENTS = { args: "object" };

export const checkCall: CallCheck = (args, options) => {
  checkOptions("call(name, args, options)", { args }, ARGUMENTS);
  const unknown = Object.keys(Object(options) as object).find((name) => !Object.hasOwn(TYPED_CALL_MEMBERS, name));
  if (unknown !== undefined && /^(?:elicit|sample|roots)$/.test(unknown)) {
    const text = `call(name, args, options): "${unknown}" stands in "answers": write answers: { ${unknown} }`;
    throw new LocalError("BAD_OPTIONS", text);
  }
  // What layers give each other is nobody's to write, and is not offered.
  if (unknown !== undefined) checkOptions("call(name, args, options)", { [unknown]: true }, OFFERED_MEMBERS);
  checkOptions("call(name, args, options)", options, TYPED_CALL_MEMBERS);
  const { output } = Object(options) as { readonly output?: unknown };
  if (output === undefined || "~standard" in Object(output)) return;
  const what = 'call(name, args, options): "output" is a Standard Schema';
  throw new LocalError(
    "BAD_OPTIONS",
    `${what}, as z.object({ ... }) of zod makes one, not ${output === null ? "null" : typeof output}`,
  );
};

/** Throws BAD_OPTIONS for roots that are none. */
export function checkRoots(roots: unknown): void {
  if (!Array.isArray(roots)) return;
  const odd: unknown = roots.find((root) => typeof (Object(root) as Partial<Root>).uri !== "string");
  if (odd === undefined && !roots.includes(undefined)) return;
  const meant =
    typeof odd === "string" && odd.startsWith("/")
      ? `file://${odd}`
      : typeof odd === "string" && odd.startsWith("file://")
        ? odd
        : "file:///work";
  const shown = typeof odd === "string" ? JSON.stringify(odd) : String(odd);
  throw new LocalError(
    "BAD_OPTIONS",
    `"roots" has ${shown}, which is no root: write { uri: ${JSON.stringify(meant)} }`,
  );
}

/** What one round brings of the round before. */
export interface Round {
  /** By the keys of the questions. */
  readonly inputResponses?: JsonObject;
  readonly requestState?: string;
}

/** Who answers the questions of one call. */
export type Answers = Pick<ClientOptions, "elicit" | "sample" | "roots"> & {
  /**
   * Whether only questions that name the call, by its stream or in its answer, are its. A question that names none is then the client's
   * own; a server may ask it for a call that is over. Default: it is the call's while that is the only one under way.
   */
  readonly named?: boolean;
};

// Names what changed on a server.

/** A list changed, or what can be read under a URI. After a reconnection everything watched is said to have changed. */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" }
  | { readonly kind: "resource"; readonly uri: string };

/** Changes wait until somebody reads them: a longer URI is not worth it, and no resource has one. */
const LONGEST_URI = 8_192;

const LISTS: Readonly<Record<string, Change>> = {
  "notifications/tools/list_changed": { kind: "tools" },
  "notifications/prompts/list_changed": { kind: "prompts" },
  "notifications/resources/list_changed": { kind: "resources" },
};

/** The change a notification tells of; undefined for all others. */
export function changeOf(method: string, params: { readonly [name: string]: unknown }): Change | undefined {
  if (method !== "notifications/resources/updated") return LISTS[method];
  const { uri } = params;
  return typeof uri === "string" && uri.length <= LONGEST_URI ? { kind: "resource", uri } : undefined;
}

// The types of those who answer a server's questions.

/** What is known of a question beside its params. */
export interface QuestionContext {
  /**
   * Aborted when the server takes its question back, the call it belongs to ends, or the client closes. Over HTTP in a session the
   * end of a call reaches a question with the server's word alone.
   */
  readonly signal: AbortSignal;
  /** Who asks, by its own account. */
  readonly server: Implementation;
}

/** A form has `mode: "form"`, whatever the revision. */
export type ElicitRequest = (ElicitRequestFormParams & { mode: "form" }) | ElicitRequestURLParams;

/**
 * Answers a question to the person. The values of an accepted form are checked against its schema, and defaults filled
 * in for those that are missing. A URL must never be opened without consent, nor fetched before.
 */
export type Elicit = (request: ElicitRequest, context: QuestionContext) => ElicitResult | Promise<ElicitResult>;

/** Answers a question to the model; undefined refuses it (the server is told -1). */
export type Sample = (
  request: CreateMessageRequestParams,
  context: QuestionContext,
) => CreateMessageResult | undefined | Promise<CreateMessageResult | undefined>;

// Fills in the defaults of a client's options, once.

export interface Settings {
  readonly identity: ClientDescription;
  readonly versions: Versions;
  readonly limits: JsonRpcLimits;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly verdicts: VerdictStore | undefined;
  readonly validateOutput: "strict" | "warn" | "off";
  readonly middleware: readonly ClientMiddleware[];
}

const SHARED_VERDICTS = new MemoryVerdicts();

/** Throws a RangeError for a limit or a time that makes no sense, UNKNOWN_REVISION and INCOMPATIBLE for the pins. */
export function settingsOf(options: ClientOptions): Settings {
  const { timeoutMs = 60_000, maxTimeoutMs = Math.max(600_000, timeoutMs) } = options;
  const { probeTimeoutMs = 1_500, connectTimeoutMs = 60_000 } = options;
  for (const [name, value] of Object.entries({ timeoutMs, maxTimeoutMs, probeTimeoutMs, connectTimeoutMs })) {
    if (!(value > 0)) throw new RangeError(`${name} must be a positive number of milliseconds, not ${value}`);
  }
  const { clientInfo = { name: "mcp-client", version: "1.0.0" } } = options;
  return {
    identity: { clientInfo, capabilities: capabilitiesOf(options) },
    versions: new Versions(options),
    limits: resolveLimits(options.limits, CLIENT_LIMITS),
    timeoutMs,
    maxTimeoutMs,
    probeTimeoutMs,
    connectTimeoutMs,
    verdicts: options.verdicts === false ? undefined : (options.verdicts ?? SHARED_VERDICTS),
    validateOutput: options.validateOutput ?? "strict",
    middleware: options.middleware ?? [],
  };
}

// What nobody answers is not declared, whatever the options say: a server would wait for the answer.
function capabilitiesOf({ capabilities = {}, elicit, sample, roots }: ClientOptions): ClientCapabilities {
  const { elicitation, sampling, roots: declaredRoots, ...rest } = capabilities;
  const declared: ClientCapabilities = { ...rest };
  if (elicit !== undefined) declared.elicitation = elicitation ?? { form: {} };
  if (sample !== undefined) declared.sampling = sampling ?? {};
  if (roots !== undefined) declared.roots = declaredRoots ?? { listChanged: true };
  return declared;
}
