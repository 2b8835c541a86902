// What a server is inside: its registries, handlers and tables, shared by every conversation and request.
import type { Call } from "../endpoint/call.js";
import type { Handler, Middleware } from "../endpoint/middleware.js";
import type { Carrier } from "../jsonrpc/carrier.js";
import type { NotificationMessage } from "../jsonrpc/message.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { Implementation } from "../protocol/implementation.js";
import { WireAsks } from "./ask.js";
import { type CapabilityOptions, declaredCapabilities } from "./capabilities.js";
import type { AskServices } from "./context.js";
import type { ServerLimits } from "./limits.js";
import type { LogMessage } from "./log-gate.js";
import { Parking } from "./parking.js";
import type { PromptEntry } from "./prompt.js";
import { PromptFiller } from "./prompts.js";
import { Registry } from "./registry.js";
import type { ResourceEntry, TemplateEntry } from "./resource.js";
import { ResourceReader } from "./resources.js";
import type { Seal } from "./seal.js";
import type { EndedSession } from "./session.js";
import { Subscribers } from "./subscribers.js";
import type { ListKind } from "./subscription.js";
import type { ToolEntry } from "./tool.js";
import { ToolCaller } from "./tools.js";

/** Where the server says what only its operator should know. */
export type Reporter = (level: LoggingLevel, message: string, details?: Readonly<Record<string, unknown>>) => void;

/** What the server needs of a conversation it did not start by itself. */
export interface LiveConversation {
  /** Sends an unsolicited log message, if there is a session and its level admits it. */
  log(level: number, message: LogMessage): void;
}

export interface CoreOptions {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: CapabilityOptions;
  readonly limits: ServerLimits;
  readonly seal: Seal;
  readonly listTtlMs: number;
  readonly report: Reporter;
  readonly onSessionEnd: ((ended: EndedSession) => void) | undefined;
}

/** The inside of a {@link Server}. Other layers of the library reach it through `coreOf`. */
export class ServerCore implements AskServices {
  readonly identity: Implementation;
  readonly instructions: string | undefined;
  readonly limits: ServerLimits;
  readonly seal: Seal;
  readonly listTtlMs: number;
  readonly report: Reporter;
  readonly asks: WireAsks = new WireAsks();
  readonly parking: Parking;
  readonly subscribers: Subscribers;
  readonly tools: Registry<ToolEntry>;
  readonly prompts: Registry<PromptEntry>;
  readonly resources: Registry<ResourceEntry>;
  readonly templates: Registry<TemplateEntry>;
  /** Replaced, never shifted, when something comes before the others: requests in service go on in the list they began with. */
  middleware: Middleware[] = [];
  readonly custom: Map<string, Handler> = new Map();
  readonly notifications: Map<string, (params: unknown, carrier: Carrier) => void> = new Map();
  readonly conversations: Set<LiveConversation> = new Set();
  /** Set with the first tool that runs as a task, and for good. */
  hadTasks = false;
  readonly reader: ResourceReader;
  readonly toolCaller: ToolCaller;
  readonly promptFiller: PromptFiller;
  readonly #declared: CapabilityOptions;
  readonly #onSessionEnd: CoreOptions["onSessionEnd"];
  #capabilities: ServerCapabilities | undefined;

  constructor(options: CoreOptions) {
    this.identity = options.identity;
    this.instructions = options.instructions;
    this.limits = options.limits;
    this.seal = options.seal;
    this.listTtlMs = options.listTtlMs;
    this.report = options.report;
    this.#declared = options.capabilities;
    this.#onSessionEnd = options.onSessionEnd;
    this.parking = new Parking(options.limits, options.seal);
    this.subscribers = new Subscribers((uri) => this.#watch(uri));
    this.tools = new Registry("tool", () => this.#changed("tools"));
    this.prompts = new Registry("prompt", () => this.#changed("prompts"));
    this.resources = new Registry("resource", () => this.#changed("resources"));
    this.templates = new Registry("resource template", () => this.#changed("resources"));
    this.reader = new ResourceReader(this.resources, this.templates, this);
    this.toolCaller = new ToolCaller(this.tools, this, this.failed);
    this.promptFiller = new PromptFiller(this.prompts, this);
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
    this.#guarded(`The handler of ${message.method}`, () => handler(message.params, carrier));
  }

  /** Reports an exception nobody expected, under the id the peer was given instead of its text. */
  readonly failed = (error: unknown, call: Call, errorId: string): void => {
    const name = call.params["name"] ?? call.params["uri"];
    const what = `${call.method}${name === undefined ? "" : ` ${JSON.stringify(name)}`} failed (error id ${errorId})`;
    this.report("error", what, { errorId, error });
  };

  sessionEnded(ended: EndedSession): void {
    this.#guarded("onSessionEnd", () => this.#onSessionEnd?.(ended));
  }

  /** A resource that cannot be watched can still be subscribed to: it may be announced by `resourceUpdated`. */
  #watch(uri: string): (() => void) | undefined {
    const what = `Watching ${JSON.stringify(uri)}`;
    const stop = this.#guarded(what, () => this.reader.watch(uri, () => this.subscribers.resourceUpdated(uri)));
    return stop && (() => this.#guarded(what, stop));
  }

  /** Runs what an author wrote where nobody waits for an answer: failures, later ones too, are reported. */
  #guarded<T>(what: string, run: () => T): T | undefined {
    const failed = (error: unknown): void => this.report("error", `${what} failed`, { error });
    try {
      const returned = run();
      if (returned instanceof Promise) returned.catch(failed);
      return returned;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  #changed(kind: ListKind): void {
    this.#capabilities = undefined;
    this.subscribers.listChanged(kind);
  }
}
