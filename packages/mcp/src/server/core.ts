// What a server is inside: its registries, tables and handlers, shared by every conversation and request.
import {
  type Answer,
  type Call,
  Dispatcher,
  handling,
  type Handler,
  Later,
  type Middleware,
} from "../endpoint/call.js";
import type { Carrier } from "../jsonrpc/transport.js";
import { isThenable, type JsonObject, type NotificationMessage } from "../jsonrpc/message.js";
import type { CapabilitySettings, Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { AskServices } from "./context.js";
import type { ServerLimits } from "./limits.js";
import type { LiveSessions, QuestionCode, SessionHooks } from "./session.js";
import type { LogMessage } from "../endpoint/progress.js";
import type { Parking } from "./parking.js";
import type { Seal } from "./sealing.js";
import type { ListKind, ServerCluster, Subscribers, Tells } from "./subscription.js";
import type { PromptEntry } from "./prompts.js";
import { Registry, type Unlisted, type Visibility } from "./registry.js";
import type { Reporter } from "./reporter.js";
import type { ResourceEntry, ResourceReader, TemplateEntry } from "./resources.js";
import { ToolCaller, type ToolEntry } from "./tools.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { type ListHints, listOf } from "./lists.js";
import type { ServerTasks } from "./tasks/server-tasks.js";
import { DISCOVER, levelIndex, type LoggingLevel } from "../protocol/features/lifecycle.js";
import { interactive } from "../protocol/features/elicitation.js";
import { LISTEN } from "../protocol/features/resources.js";
import { CALL_TOOL, LIST_TOOLS } from "../protocol/features/tools.js";
import { TASKS_EXTENSION } from "../protocol/extensions/tasks.js";
import { DATES } from "../protocol/revisions/newest.js";
import { AskError, ToolError } from "./content.js";

/** What a server offers besides tools. */
export interface Offers {
  readonly reader: ResourceReader;
  /** Whether anything registered can be completed. */
  completes(): boolean;
  /** Scopes that a request needs for the prompt, resource or template it names. */
  scopesFor(method: string, params: JsonObject): readonly string[] | undefined;
}

/** What the server needs of a conversation it did not start by itself. */
interface LiveConversation {
  /** Sends an unsolicited log message, if there is a session and its level admits it. */
  log(level: number, message: LogMessage): void;
}

interface CoreOptions {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: CapabilityOptions;
  readonly limits: ServerLimits;
  /** Undefined: a random key. */
  readonly seal: Seal | undefined;
  readonly listTtlMs: number;
  readonly report: Reporter;
  readonly hooks: SessionHooks;
  readonly visible?: Visibility | undefined;
  readonly unlisted?: Unlisted | undefined;
  readonly tells?: Tells | undefined;
  readonly replays?: boolean;
}

/** The inside of a {@link Server}. Other layers of the library reach it through `coreOf`. */
export class ServerCore implements AskServices {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly limits: ServerLimits;
  /** What may be kept of its lists; replaced when that is something else. */
  listHints: ListHints;
  readonly report: Reporter;
  /** Loaded with the first question, where it is not at hand. */
  questions: Later<QuestionCode> = new Later(() => import("./ask.js"));
  /** Loaded for the first caller who can be asked something. */
  readonly parking: Later<Parking>;
  /** Whoever hears of changes; undefined until somebody wants to. */
  subscribers: Subscribers | undefined;
  /** Loaded for the first of them, where it is not at hand. */
  readonly changes: Later<typeof import("./subscription.js")> = new Later(() => import("./subscription.js"));
  readonly tells: Tells | undefined;
  readonly tools: Registry<ToolEntry>;
  readonly prompts: Registry<PromptEntry>;
  readonly resources: Registry<ResourceEntry>;
  readonly templates: Registry<TemplateEntry>;
  /** Replaced, never shifted, when something comes before the others: requests in service go on in the list they began with. */
  middleware: Middleware[] = [];
  readonly custom: Map<string, Handler> = new Map();
  readonly notifications: Map<string, (params: unknown, carrier: Carrier) => void> = new Map();
  readonly conversations: Set<LiveConversation> = new Set();
  /** Undefined until a client of the handshake era comes. */
  sessions: LiveSessions | undefined;
  readonly hooks: SessionHooks;
  /** What serves whoever comes, and asks nobody who that is: what needs scopes would be reached by nobody. */
  readonly unasked: Set<object> = new Set();
  /** Set with the first tool that runs as a task, and for good. */
  hadTasks = false;
  readonly toolCaller: ToolCaller;
  /** Undefined: there are tools alone. */
  offers: Offers | undefined;
  /** Undefined: no tool runs as a task. */
  tasks: ServerTasks | undefined;
  /** Serves the requests of every conversation. */
  readonly dispatcher: Dispatcher;
  readonly #handlers: Map<string, Handler>;
  readonly #declared: CapabilityOptions;
  /** Tools that were reported once for a resource in a result. */
  readonly #renumberedCodes = new Set<number>();
  readonly #embedding = new Set<string>();
  #capabilities: ServerCapabilities | undefined;
  #cluster: ServerCluster | undefined;

  constructor(options: CoreOptions) {
    this.identity = options.identity;
    this.instructions = options.instructions;
    this.limits = options.limits;
    this.listHints = { ttlMs: options.listTtlMs, cacheScope: "public" };
    this.report = options.report;
    this.#declared = options.capabilities;
    this.hooks = options.hooks;
    this.parking = new Later(() => this.#parked(options));
    const { visible, unlisted, tells } = options;
    const warn = (text: string): void => this.report("error", text);
    this.tells = tells;
    const seen = (kind: Parameters<Visibility>[0]): ConstructorParameters<typeof Registry>[2] => ({
      visible: visible && ((key, call) => visible(kind, key, call)),
      unlisted: unlisted && ((key) => unlisted(kind, key)),
      admit: (key) => {
        if (this.unasked.size > 0) throw unreachable(key);
      },
      warn,
    });
    this.tools = new Registry("tool", () => this.#changed("tools"), seen("tool"));
    this.prompts = new Registry("prompt", () => this.#changed("prompts"), seen("prompt"));
    this.resources = new Registry("resource", () => this.#changed("resources"), seen("resource"));
    this.templates = new Registry("resource template", () => this.#changed("resources"), seen("template"));
    this.toolCaller = new ToolCaller(this.tools, this, {
      report: this.failed,
      embeds: this.#embeds,
      warn: this.#warn,
    });
    this.#handlers = serverHandlers(this);
    this.dispatcher = this.#dispatcher(this.#handlers);
  }

  /** Lets tools run as tasks from now on. */
  serveTasks(tasks: ServerTasks): void {
    this.tasks = tasks;
    this.serveMethods(tasks.handlers());
  }

  /** Serves methods of the specification from now on. */
  serveMethods(handlers: Iterable<readonly [string, Handler]>): void {
    for (const [method, handler] of handlers) this.#handlers.set(method, handler);
  }

  /** Joins the other processes of this server. Throws JOINED where it has joined others already. */
  join(cluster: ServerCluster): void {
    if (this.#cluster !== undefined) {
      throw new LocalError("JOINED", "This server shares with other processes already: serve it once with `share`");
    }
    this.#cluster = cluster;
    this.parking.there?.join(cluster);
    this.tasks?.join(cluster);
  }

  async #parked({ limits, seal, replays }: CoreOptions): Promise<Parking> {
    const parking = new (await import("./parking.js")).Parking(limits, seal, replays);
    parking.join(this.#cluster);
    return parking;
  }

  /** Sends a log message to every session whose level admits it, those of other processes too. */
  log(level: LoggingLevel, message: LogMessage): void {
    const index = levelIndex(level);
    for (const conversation of this.conversations) conversation.log(index, message);
    this.#cluster?.tell({ kind: "log", level, message: { ...message } });
  }

  /** Tells subscribers that a resource changed, those of other processes too. */
  resourceUpdated(uri: string): void {
    this.subscribers?.resourceUpdated(uri);
    this.#cluster?.tell({ kind: "resource", uri });
  }

  #dispatcher(handlers: ReadonlyMap<string, Handler>): Dispatcher {
    const middleware = (): readonly Middleware[] => this.middleware;
    return new Dispatcher({
      identity: this.identity,
      handlers,
      custom: this.custom,
      get middleware() {
        return middleware();
      },
      advertises: (capability) => this.advertises(capability),
      explain,
      onError: this.failed,
      onRenumbered: this.#renumbered,
    });
  }

  /** The capabilities of now: derived from what is registered, so that nothing is declared that does not work. */
  capabilities(): ServerCapabilities {
    return (this.#capabilities ??= declaredCapabilities(this, this.#declared));
  }

  advertises(capability: keyof ServerCapabilities): boolean {
    return this.capabilities()[capability] !== undefined;
  }

  /** Passes a notification the protocol does not know on to whoever registered for it. */
  notified(message: NotificationMessage, carrier: Carrier): void {
    const handler = this.notifications.get(message.method);
    if (handler === undefined) return;
    this.guarded(`The handler of ${message.method}`, () => handler(message.params, carrier));
  }

  /** A resource in a result is one of the server's: clients may want to read or watch it (server/tools, "Embedded Resources"). */
  readonly #embeds = (tool: string): void => {
    if (this.#embedding.has(tool) || this.advertises("resources")) return;
    this.#embedding.add(tool);
    const what = "returns a resource, and the server offers none: register what it names, or return text";
    this.#warn(tool, what);
  };

  readonly #warn = (tool: string, what: string): void => this.report("warning", `The tool ${tool} ${what}`);

  /** Reports an exception nobody expected, under the id the peer was given instead of its text. */
  readonly failed = (error: unknown, call: Call, errorId: string): void => {
    const name = call.params["name"] ?? call.params["uri"];
    const what = `${call.method}${name === undefined ? "" : ` ${JSON.stringify(name)}`} failed (error id ${errorId})`;
    this.report("error", what, { errorId, error });
  };

  /** A number that clients of 2026-07-28 never see: said once for each, while its author can still take another. */
  readonly #renumbered = ({ code }: RpcError, call: Call, sent: number): void => {
    if (this.#renumberedCodes.has(code)) return;
    this.#renumberedCodes.add(code);
    const what = `The error ${code} of ${call.method} was sent as ${sent}`;
    this.report("warning", `${what}: the specification keeps its number, take a code outside of -32768 to -32000`);
  };

  /** Runs what an author wrote where nobody waits for an answer: failures, later ones too, are reported. */
  guarded<T>(what: string, run: () => T): T | undefined {
    const failed = (error: unknown): void => this.report("error", `${what} failed`, { error });
    try {
      const returned = run();
      if (isThenable(returned)) Promise.resolve(returned).catch(failed);
      return returned;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  /** Scopes that a request needs for what it names: for transports that can ask their callers for more. */
  scopesFor(method: string, params: JsonObject): readonly string[] | undefined {
    return method === CALL_TOOL.name
      ? this.tools.get(textIn(params, "name"))?.scopes
      : this.offers?.scopesFor(method, params);
  }

  /** Tells clients that a list is another one now, although nothing was registered or removed. */
  listChanged(kind: ListKind): void {
    this.subscribers?.listChanged(kind);
    this.#cluster?.tell({ kind: "list", list: kind });
  }

  #changed(kind: ListKind): void {
    this.#capabilities = undefined;
    this.listChanged(kind);
  }
}

/** The error for what needs scopes where nobody has any. */
export function unreachable(key: string): LocalError {
  const what = `${JSON.stringify(key)} needs scopes, but nobody says who is asking over HTTP`;
  const mend = `give "authorization", or an "authenticate" that returns an identity`;
  return new LocalError("BAD_SCOPES", `${what}: ${mend}`);
}

/** A member that should be a text, or the empty one, which names nothing: before the method's check anything may stand there. */
export function textIn(params: JsonObject, key: string): string {
  const value = params[key];
  return typeof value === "string" ? value : "";
}

// The handlers of the server role. What older revisions have besides comes with the first of their clients (`conversation.ts`), prompts
// and resources with `Server`.

/** Builds the table: of what every server has. What it closes over is made once. */
function serverHandlers(core: ServerCore): Map<string, Handler> {
  const tools = listOf(core, { member: "tools", registry: core.tools, item: ({ tool }: ToolEntry) => tool });
  return new Map([
    handling(DISCOVER, (call) => discover(core, call)),
    handling(LIST_TOOLS, (call) => tools.page(call)),
    handling(interactive(CALL_TOOL), (call) => core.toolCaller.call(call)),
    handling(LISTEN, (call) => core.changes.use(({ listen }) => listen(core, call))),
  ]);
}

function discover(core: ServerCore, { carrier }: Call): Answer {
  const { instructions, listHints } = core;
  const all = core.capabilities();
  return {
    supportedVersions: DATES,
    capabilities: carrier.answersOnly === true ? capabilitiesAlone(all) : all,
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: listHints.ttlMs,
    // What one who reads no streams is told is not everybody's.
    cacheScope: carrier.answersOnly === true ? "private" : listHints.cacheScope,
  };
}

/** The words for the peer of an error that is not an `RpcError` and yet was made to be told. */
function explain(error: unknown): RpcError | undefined {
  const tellable = error instanceof AskError || error instanceof ToolError;
  return tellable ? new RpcError(ErrorCode.InternalError, error.message) : undefined;
}

// Capabilities are derived from what is registered: nothing is declared that does not work.

/** What cannot be derived. */
export interface CapabilityOptions {
  /** Features to declare though nothing is registered yet, because something will be. */
  readonly expect?: readonly ("tools" | "prompts" | "resources" | "completions")[];
  /** False: no log messages are sent to clients. Default true. */
  readonly logging?: boolean;
  readonly experimental?: Readonly<Record<string, CapabilitySettings>>;
  /** Extensions this server implements, by id, with their settings. */
  readonly extensions?: Readonly<Record<string, CapabilitySettings>>;
}

interface Registered {
  readonly tools: Registry<ToolEntry>;
  readonly prompts: Registry<PromptEntry>;
  readonly resources: Registry<ResourceEntry>;
  readonly templates: Registry<TemplateEntry>;
  readonly offers: Offers | undefined;
  /** Whether there ever was a tool that runs as a task: what it began can still be looked at once it is gone. */
  readonly hadTasks: boolean;
}

/** The capabilities of a server with these registries. */
function declaredCapabilities(registered: Registered, options: CapabilityOptions): ServerCapabilities {
  const { expect = [], logging = true, experimental, extensions } = options;
  const { tools, prompts, resources, templates } = registered;
  const tasks = registered.hadTasks;
  return {
    ...(tools.size > 0 || expect.includes("tools") ? { tools: { listChanged: true } } : {}),
    ...(resources.size + templates.size > 0 || expect.includes("resources")
      ? { resources: { subscribe: true, listChanged: true } }
      : {}),
    ...(prompts.size > 0 || expect.includes("prompts") ? { prompts: { listChanged: true } } : {}),
    ...(expect.includes("completions") || registered.offers?.completes() === true ? { completions: {} } : {}),
    ...(logging ? { logging: {} } : {}),
    ...(experimental === undefined ? {} : { experimental: { ...experimental } }),
    ...(extensions === undefined && !tasks ? {} : { extensions: { ...extensions, ...(tasks ? DIRECTED : {}) } }),
    ...(tasks ? { tasks: REQUESTED } : {}),
  };
}

/** Tasks as the two revisions declare them; each is projected away where it does not belong. */
const DIRECTED: Readonly<Record<string, CapabilitySettings>> = { [TASKS_EXTENSION]: {} };
const REQUESTED: CapabilitySettings = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** The capabilities toward one caller: without a name to bind tasks to, they cannot be listed. */
export function capabilitiesToward(principal: string | undefined, all: ServerCapabilities): ServerCapabilities {
  if (principal !== undefined || all.tasks === undefined) return all;
  const { list: _, ...tasks } = all.tasks;
  return { ...all, tasks };
}

/** The capabilities where no session remembers what a caller wants to hear of: nothing that comes unasked. */
export function capabilitiesAlone(all: ServerCapabilities): ServerCapabilities {
  const { logging: _, tools, resources, prompts, ...rest } = all;
  return {
    ...rest,
    ...(tools === undefined ? {} : { tools: {} }),
    ...(resources === undefined ? {} : { resources: {} }),
    ...(prompts === undefined ? {} : { prompts: {} }),
  };
}
