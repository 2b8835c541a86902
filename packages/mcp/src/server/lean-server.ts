// The part of a server that every program needs: tools, registered once and served to every revision.
import { type Answer, type Handler, Later, type Middleware } from "../endpoint/call.js";
import { requireOwnMethod } from "../endpoint/progress.js";
import type { StandardSchema } from "../schema/standard-schema.js";
import { LocalError, SERVE } from "../jsonrpc/errors.js";
import type { Transport } from "../jsonrpc/transport.js";
import { LOGGING_LEVELS, type LoggingLevel } from "../protocol/features/lifecycle.js";
import { checkOptions, type Icon, iconsFault } from "../protocol/capabilities.js";
import { isSpecifiedMethod, NEWEST } from "../protocol/revisions/newest.js";
import { definitionFault, type Form, renamedTo } from "./definition-fault.js";
import type { Kind, MembersOf } from "../schema/schema.js";
import { DEFAULT_SERVER_LIMITS, resolveServerLimits, type ServerLimits } from "./limits.js";
import { isReservedMetaKey } from "../protocol/meta.js";
import type { Meta } from "../protocol/meta.js";
import type { Registration, Unlisted, Visibility } from "./registry.js";
import type { Tells } from "./subscription.js";
import { type Reporter, reporterOf } from "./reporter.js";
import { type CapabilityOptions, ServerCore } from "./core.js";
import type { ServeOptions, Serving } from "./conversation.js";
import type { Seal } from "./sealing.js";
import type { EndedSession, LiveSession, OnSession } from "./session.js";
import type { TaskStore } from "./tasks/task-store.js";
import { type AnyInput, type SchemaReader, type ToolDefinition, badTool, toolEntry } from "./tools.js";
import { type Awaitable, isJsonObject, isThenable, type JsonObject } from "../jsonrpc/message.js";
import { isPlain } from "./content.js";
import { returnedValues } from "./interactive.js";
import { type AskServices, Context } from "./context.js";
import { mirroredParams } from "../era/stateless/headers.js";
import type { Tool } from "../protocol/features/tools.js";

/** Who the server is, and how it behaves. Only `name` and `version` are needed. */
export interface ServerOptions {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Icon[];
  /** Told to the client at the start, for its model. */
  readonly instructions?: string;
  /** What cannot be derived from what is registered. */
  readonly capabilities?: CapabilityOptions;
  /** Bounds; the defaults are in `DEFAULT_SERVER_LIMITS`. */
  readonly limits?: Partial<ServerLimits>;
  /** Seals request states. Default: a random key, so states die with the process. */
  readonly seal?: Seal;
  /** Milliseconds a client may keep a list (stateless era). Default 0. */
  readonly listTtlMs?: number;
  /** Hides things from some callers: from the lists, and from use. What one thing needs is better said where it is registered. */
  readonly visible?: Visibility;
  /**
   * Leaves things out of the lists that can be used all the same: where a list would be longer than models read, and a tool finds what
   * is not in it. Asked again whenever something of that kind comes, goes or changes.
   */
  readonly unlisted?: Unlisted;
  /** What may still be told of to whoever subscribed to it. Default: all of it. */
  readonly tells?: Tells;
  /**
   * Told what only the operator should know: exceptions with their error ids, cancellations, stray messages. Default: warnings
   * and errors go to standard error, exceptions with their stacks. False: nobody is told.
   */
  readonly report?: Reporter | false;
  /**
   * Told of every session of the handshake era once its client is ready: to ask for its roots, or to tell it something between requests.
   * What it returns is called when the session is over. Clients of 2026-07-28 open no sessions.
   */
  readonly onSession?: OnSession;
  /** Told of every session of the handshake era when it is over, whatever ended it: for measuring. */
  readonly onSessionEnd?: (ended: EndedSession) => void;
  /**
   * How handlers go on after a question in the stateless era. "park" keeps the handler for the client's retry, in this
   * process; "replay" keeps nothing and runs it again with the answers so far, wherever the retry arrives (give all processes
   * one `seal`): then only handlers that say `replay: true`, or are annotated read-only or idempotent, can ask. Default
   * "park", and "replay" on Cloudflare Workers, where no request may go on with the work of another.
   */
  readonly questions?: "park" | "replay";
  /** Where tasks are kept. Default: in memory, within the limits `tasks`, `tasksPerPrincipal` and `taskBytes`. */
  readonly tasks?: { readonly store: TaskStore };
}

/** The members of `ServerOptions`. `any`: judged in the constructor. */
export const SERVER_MEMBERS: MembersOf<ServerOptions> = {
  name: "any",
  version: "any",
  title: "text",
  description: "text",
  websiteUrl: "text",
  icons: "any",
  instructions: "text",
  capabilities: "any",
  limits: DEFAULT_SERVER_LIMITS,
  seal: "seal() open()",
  listTtlMs: "number",
  visible: "function",
  unlisted: "function",
  tells: "function",
  report: ["function", "false"],
  onSession: "function",
  onSessionEnd: "function",
  tasks: { store: "get() put()" },
  questions: ["=park", "=replay"],
};

const SERVER_FORM: Form = {
  runs: undefined,
  renamed: { ...renamedTo("report", ["logger", "onError", "onerror"]), ...renamedTo("icons", ["icon"]) },
};

const CAPABILITIES_FORM: Form = {
  runs: undefined,
  renamed: {},
  unknown: (name) =>
    `"${name}" is not said here: what is registered says it, and "expect" what will be registered later`,
};

/** The members of `CapabilityOptions`. */
export const CAPABILITY_MEMBERS: MembersOf<CapabilityOptions> = {
  expect: "each tools prompts resources completions",
  logging: "flag",
  experimental: "object",
  extensions: "object",
};

const TOOLS_ALONE = "needs `Server`: a LeanServer has tools alone";

let readCore: (server: LeanServer) => ServerCore;

/**
 * A server of tools alone for every revision of the protocol, for programs that are sent over a network or started often: it reads no
 * JSON Schema, so tools bring a Standard Schema that exports its own (zod from 4.2, arktype from 2.1.28) or `inputJsonSchema` beside it;
 * it has no prompts, no resources and no tasks. `Server` has them, and is the same otherwise.
 */
export class LeanServer {
  readonly #core: ServerCore;

  static {
    readCore = (server) => {
      // Somebody in JavaScript may have left it out, or has two copies of the package.
      if (typeof server === "object" && server !== null && #core in server) return server.#core;
      const first = "Give a server of this package first: ";
      const compat = typeof (Object(server) as { readonly coreServer?: unknown }).coreServer === "function";
      const what = compat
        ? "of one of /compat that is server.coreServer()"
        : "new Server({ name, version }), of the same copy";
      throw new LocalError("BAD_SERVER", first + what);
    };
    const value = function (this: LeanServer, transport: Transport, options: ServeOptions = {}): Serving {
      return serveLater(this.#core, transport, options);
    };
    Object.defineProperty(LeanServer.prototype, SERVE, { value });
    // Called in JavaScript, by whoever has not heard that these are of another class.
    for (const name of ["prompt", "resource", "resourceTemplate"]) {
      const missing = (): never => {
        throw new LocalError("BAD_SERVER", `${name}(...) ${TOOLS_ALONE}`);
      };
      Object.defineProperty(LeanServer.prototype, name, { value: missing });
    }
  }

  /** Throws BAD_SERVER for a member that does not exist and for icons no client should show, RangeError for a limit that is not a positive integer. */
  constructor(options: ServerOptions, more?: undefined) {
    const lean = new.target === LeanServer;
    const what = `new ${lean ? "LeanServer" : "Server"}(...)`;
    const wrong =
      definitionFault(SERVER_FORM, options, SERVER_MEMBERS, more) ??
      (options.capabilities === undefined
        ? undefined
        : definitionFault(CAPABILITIES_FORM, options.capabilities, CAPABILITY_MEMBERS));
    if (wrong !== undefined) throw new LocalError("BAD_SERVER", `${what}: ${wrong}`);
    const { name, version }: { readonly name?: unknown; readonly version?: unknown } = options;
    if (typeof name !== "string" || name === "" || typeof version !== "string")
      throw new LocalError("BAD_SERVER", `${what} needs both: { name: "greeter", version: "1.0.0" }`);
    const {
      instructions,
      capabilities = {},
      limits,
      seal,
      listTtlMs = 0,
      visible,
      unlisted,
      tells,
      report,
      onSession,
      onSessionEnd,
      tasks,
      questions = sharesNoMemory() ? "replay" : "park",
      ...identity
    } = options;
    const other = tasks === undefined ? capabilities.expect?.find((each) => each !== "tools") : "tasks";
    const fault = iconsFault(options.icons) ?? (lean && other ? `"${other}" ${TOOLS_ALONE}` : undefined);
    if (fault !== undefined) throw new LocalError("BAD_SERVER", `${what} ${options.name}: ${fault}`);
    this.#core = new ServerCore({
      identity,
      instructions,
      capabilities,
      limits: resolveServerLimits(limits),
      seal,
      listTtlMs,
      report: reporterOf(identity.name, report),
      hooks: { onSession, onSessionEnd },
      visible,
      unlisted,
      tells,
      replays: questions === "replay",
    });
  }

  /**
   * Registers a tool. Throws BAD_TOOL (its `cause` is the schema's own error) or DUPLICATE, saying what to change. Arguments mirrored in
   * headers that make clients drop the tool, or that are named like secrets, are reported.
   */
  tool<const I extends StandardSchema | undefined = undefined, const O extends StandardSchema | undefined = undefined>(
    name: string,
    definition: ToolDefinition<I, O>,
    more?: undefined,
  ): Registration<ToolDefinition<I, O>> {
    return addTool<ToolDefinition<I, O>>(this.#core, undefined, name, definition, more);
  }

  /** Adds middleware around every request; the first added is the outermost. */
  use(middleware: Middleware): this {
    mustFit("use(middleware)", { middleware }, "function");
    this.#core.middleware.push(middleware);
    return this;
  }

  /** Serves a method of your own. Throws RESERVED for a name that belongs to the specification. */
  method(name: string, handler: CustomHandler): this {
    if (isSpecifiedMethod(name)) {
      throw new LocalError("RESERVED", `"${name}" is a method of the specification: use a name of your own`);
    }
    mustFit("method(name, handler)", { handler }, "function");
    const served: Handler = customHandler(this.#core, handler);
    this.#core.custom.set(name, served);
    return this;
  }

  /** Hears a notification of your own. */
  notification(name: string, handler: (params: unknown) => void): this {
    mustFit("notification(name, handler)", { handler }, "function");
    this.#core.notifications.set(name, handler);
    return this;
  }

  /** Sends a log message to every session whose level admits it. Never put secrets or personal data into `data`. */
  log(level: LoggingLevel, data: unknown, logger?: string): void {
    mustFit("log(level, data)", { level }, LOG_LEVELS);
    this.#core.log(level, { level, ...(logger === undefined ? {} : { logger }), data });
  }

  /** The sessions of the handshake era whose clients are ready, of this process, in the order in which they were. */
  sessions(): readonly LiveSession[] {
    return this.#core.sessions?.all ?? [];
  }

  /** Sends a notification of your own to every session of this process. Throws RESERVED for one of the specification's. */
  notify(method: string, params: object = {}): void {
    requireOwnMethod(method, params);
    for (const session of this.sessions()) session.notify(method, params);
  }

  /** Ends the tasks that run, for when the program stops: each is kept as failed and says why. Resolves once they are. */
  endTasks(): Promise<void> {
    return this.#core.tasks?.close() ?? Promise.resolve();
  }

  /**
   * Ends the work of a caller who may not call any more, for whoever has that name later: their tasks are cancelled and forgotten,
   * their handlers that wait for an answer are given up, and the states of those questions are refused. Resolves once that is done,
   * with how many there were. What runs in a session or stream ends with that (`HttpServing.endSessions`).
   */
  async endWorkOf(principal: string): Promise<{ readonly tasks: number; readonly questions: number }> {
    const questions = await this.#core.parking.use((parking) => parking.endOf(principal));
    return { tasks: (await this.#core.tasks?.endOf(principal)) ?? 0, questions };
  }

  /** Tells clients that a list is another one now, where what `visible` says changed: what is registered or removed is told by itself. */
  listChanged(kind: "tools" | "prompts" | "resources"): void {
    mustFit("listChanged(kind)", { kind }, LIST_KINDS);
    this.#core.listChanged(kind);
  }
}

const LOG_LEVELS = LOGGING_LEVELS.map((each) => `=${each}`);
const LIST_KINDS = ["=tools", "=prompts", "=resources"];

/** Throws BAD_OPTIONS for an argument of another kind than a method takes. */
function mustFit(what: string, given: object, kind: Kind): void {
  for (const [name, value] of Object.entries(given)) checkOptions(what, { [name]: value ?? null }, { [name]: kind });
}

/** For clients in the same program: most servers have none, and serve requests that belong to no conversation. */
function serveLater(core: ServerCore, transport: Transport, options: ServeOptions): Serving {
  const serving = import("./conversation.js").then(({ serveCore }) => serveCore(core, transport, options));
  return { close: () => serving.then((made) => made.close()), closed: serving.then(({ closed }) => closed) };
}

/** Registers a tool, its schemas read by `schemas` where they are not Standard Schemas. */
export function addTool<D extends ToolDefinition<AnyInput | undefined, AnyInput | undefined>>(
  core: ServerCore,
  schemas: SchemaReader | undefined,
  name: string,
  definition: D,
  more: unknown,
): Registration<D> {
  return core.tools.add<D>(name, definition, (now) => {
    const entry = toolEntry(name, now, { schemas, more });
    if (entry.task !== undefined && core.tasks === undefined)
      throw badTool(name, '"task" needs `Server`: a LeanServer has no tasks');
    warn(core, mirrorWarning(entry.tool) ?? reservedWarning(`The tool ${name}`, now._meta));
    for (const side of ["input", "output"] as const) warn(core, adviceOn(schemas, name, side, now[side]));
    if (entry.task !== undefined) core.tasks?.enable();
    return entry;
  });
}

/** A sentence for the operator about a schema that is valid and hardly what its author meant. */
function adviceOn(
  schemas: SchemaReader | undefined,
  name: string,
  side: string,
  schema: AnyInput | undefined,
): string | undefined {
  const advice = schema === undefined ? undefined : schemas?.advice(schema);
  return advice === undefined ? undefined : `Tool ${JSON.stringify(name)}, "${side}": ${advice}`;
}

/** Tells the operator, where there is something to tell. */
export function warn(core: ServerCore, warning: string | undefined): void {
  if (warning !== undefined) core.report("warning", warning);
}

/** Whether a promise of one request may not be settled by another: so on Cloudflare's runtime. */
function sharesNoMemory(): boolean {
  return (
    (globalThis as { readonly navigator?: { readonly userAgent?: string } }).navigator?.userAgent ===
    "Cloudflare-Workers"
  );
}

/** A sentence for the operator where `_meta` has a key whose meaning the specification decides; undefined otherwise. */
export function reservedWarning(what: string, meta: Meta | undefined): string | undefined {
  const key = Object.keys(meta ?? {}).find((each) => isReservedMetaKey(each, NEWEST));
  if (key === undefined) return undefined;
  return `${what}: the specification keeps the _meta key ${JSON.stringify(key)} for itself: use a prefix of a domain of yours`;
}

/** The inside of a server, for the other layers of the library. */
export function coreOf(server: LeanServer): ServerCore {
  return readCore(server);
}

// Seals request states: what the client carries between rounds cannot be read, changed or made up by it.

/** Bytes of an AES-256 key. */
const KEY_BYTES = 32;

/**
 * AES-256-GCM by WebCrypto. The first key seals, every key opens, so that keys can be rotated. Without keys a random one
 * is made: states then die with the process. Throws RangeError for a key that is not 32 bytes.
 */
export function aesSeal(...keys: readonly Uint8Array<ArrayBuffer>[]): Seal {
  for (const key of keys) {
    if (key.length !== KEY_BYTES) throw new RangeError(`A sealing key has ${KEY_BYTES} bytes, not ${key.length}`);
  }
  const made = new Later<Seal>(() => import("./sealing.js").then(({ aes }) => aes(keys)));
  return {
    seal: async (text) => made.use((seal) => seal.seal(text)),
    open: async (sealed) => made.use((seal) => seal.open(sealed)),
  };
}

// Methods that are not the specification's: served in every revision, asked like any other.

/** Serves a method of an author's own. It returns the result object; `RpcError` is the way to refuse. */
export type CustomHandler = (params: JsonObject, ctx: Context) => Awaitable<JsonObject>;

/** Wraps an author's handler for the dispatcher. */
function customHandler(services: AskServices, handler: CustomHandler): Handler {
  const answered = (returned: unknown): Awaitable<Answer> =>
    !isJsonObject(returned) || isPlain(returned, 0)
      ? (returned as JsonObject)
      : returnedValues.use(({ methodMade }) => methodMade(returned));
  return (call): Awaitable<Answer> => {
    const returned = handler(call.params, new Context(call, services));
    return isThenable(returned) ? Promise.resolve(returned).then(answered) : answered(returned);
  };
}

// Warns of arguments mirrored in headers (`x-mcp-header`) that make clients drop the tool, or show a secret to the network.

/** Words in the names of what no proxy between client and server should read. */
const SENSITIVE: ReadonlySet<string> = new Set([
  "apikey",
  "auth",
  "authorization",
  "credential",
  "key",
  "passcode",
  "passphrase",
  "passwd",
  "password",
  "pin",
  "pwd",
  "secret",
  "ssn",
  "token",
]);

/** A sentence for the operator; undefined when nothing is wrong. */
function mirrorWarning({ name, inputSchema }: Tool): string | undefined {
  const mirrored = mirroredParams(inputSchema);
  const tool = `Tool ${JSON.stringify(name)}`;
  if (typeof mirrored === "string") return `${tool}: ${mirrored}: clients over HTTP drop the tool`;
  const exposed = mirrored.filter(({ header, path }) => isSensitive(header) || isSensitive(path.at(-1) ?? ""));
  if (exposed.length === 0) return undefined;
  const names = exposed.map(({ path }) => path.join(".")).join(", ");
  return `${tool}: x-mcp-header shows ${names} to everything between client and server: leave it out for secrets`;
}

/** Names are read word by word, so that `keyword` and `tokenizer` mean nothing. */
function isSensitive(name: string): boolean {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.some((word) => SENSITIVE.has(word) || SENSITIVE.has(word.replace(/s$/, "")));
}
