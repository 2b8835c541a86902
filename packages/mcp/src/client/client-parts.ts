// Puts a client together from its parts, and deals out what the server says by itself.
import type { Carrier } from "../jsonrpc/carrier.js";
import { LocalError } from "../jsonrpc/local-error.js";
import { isJsonObject, type JsonObject, type RequestId, type RequestMessage } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { ServerCapabilities } from "../protocol/capabilities.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import { META } from "../protocol/meta.js";
import { AskedQuestions } from "./asked.js";
import type { CallOptions } from "./call-options.js";
import { Calls } from "./calls.js";
import { changeOf } from "./change.js";
import { Completer } from "./completion.js";
import { ConnectError } from "./connect-error.js";
import type { ClientOptions, Dialer } from "./connect-options.js";
import type { Conversation } from "./conversation.js";
import type { Established } from "./established.js";
import { Lists } from "./lists.js";
import { LogRing } from "./log-ring.js";
import { Pinger } from "./pinger.js";
import { Questions } from "./questions.js";
import { Reads } from "./reads.js";
import { guarded, Requests } from "./requests.js";
import { ResponseCache } from "./response-cache.js";
import { type Settings, settingsOf } from "./settings.js";
import { Subscriptions } from "./subscriptions.js";
import { Tasks } from "./tasks.js";
import { ToolBook } from "./tool-book.js";
import { Wire } from "./wire.js";

export class ClientParts {
  readonly wire: Wire;
  readonly requests: Requests;
  readonly lists: Lists;
  readonly calls: Calls;
  readonly tasks: Tasks;
  readonly reads: Reads;
  readonly completer: Completer;
  readonly subscriptions: Subscriptions;
  readonly logs: LogRing = new LogRing();
  readonly #options: ClientOptions;
  readonly #settings: Settings;
  readonly #questions: Questions;
  readonly #asked: AskedQuestions;
  #pinger: Pinger | undefined;

  constructor(dialer: Dialer, options: ClientOptions) {
    this.#options = options;
    this.#settings = settingsOf(options);
    this.#questions = new Questions(options);
    this.#asked = new AskedQuestions(this.#questions, (text) => this.#warn(text));
    const settings = this.#settings;
    this.wire = new Wire(dialer, { settings, reconnect: options.reconnect, events: this.#events() });
    const { wire } = this;
    const warn = (text: string): void => this.#warn(text);
    const book = new ToolBook({ validateOutput: settings.validateOutput, warn });
    const cache = options.cache === false ? undefined : new ResponseCache(options.cache);
    this.requests = new Requests(wire, this.#questions, { settings, logs: this.logs, warn });
    const { requests } = this;
    this.lists = new Lists({ wire, requests, cache, book });
    this.tasks = new Tasks({ wire, requests, book });
    this.calls = new Calls({ wire, requests, book, lists: this.lists, tasks: this.tasks });
    this.reads = new Reads(requests, this.lists);
    this.completer = new Completer(requests, wire);
    this.subscriptions = new Subscriptions(wire, settings);
  }

  get established(): Established {
    return this.wire.established;
  }

  /** Rejects with a ConnectError; then nothing is left open. */
  async open({ signal, require: required = [], ping, onListChanged }: ClientOptions): Promise<void> {
    await this.wire.open(signal);
    const missing = required.filter((name) => this.established.capabilities[name] === undefined);
    if (missing.length > 0) {
      const error = this.#missing(missing);
      await this.close();
      throw error;
    }
    void this.wire.closed.then((reason) => this.#over(reason));
    if (ping !== undefined) this.#pinger = new Pinger(this.#pingTarget(), ping);
    if (onListChanged !== undefined && this.established.revision.era === "stateless") this.#watchLists();
  }

  async setLogLevel(level: LoggingLevel): Promise<void> {
    this.requests.gate("logging", "logging/setLevel");
    this.logs.level = level;
    if (this.established.revision.era === "stateless") this.requests.logLevel = level;
    else await this.requests.run("logging/setLevel", { level });
  }

  setRoots(roots: NonNullable<ClientOptions["roots"]>): void {
    const { conversation, revision } = this.established;
    if (conversation.codec.capabilities.roots === undefined) {
      throw new LocalError(
        "NOT_SUPPORTED",
        "This client did not declare roots: pass `roots` to connect, even an empty list",
      );
    }
    this.#questions.setRoots(roots);
    if (revision.era === "handshake") this.wire.notify("notifications/roots/list_changed");
  }

  async ping(options: CallOptions = {}): Promise<number> {
    const since = performance.now();
    const method = this.established.revision.era === "stateless" ? "server/discover" : "ping";
    try {
      await this.requests.run(method, undefined, options);
    } catch (error) {
      // Any answer is one: some servers do not know the method.
      if (!(error instanceof RpcError)) throw error;
    }
    return performance.now() - since;
  }

  async close(): Promise<void> {
    this.#pinger?.stop();
    this.completer.stop();
    this.subscriptions.end(undefined);
    this.#asked.cancelAll();
    await this.wire.close();
  }

  #over(reason: LocalError | undefined): void {
    this.#pinger?.stop();
    this.completer.stop();
    this.#asked.cancelAll();
    this.subscriptions.end(reason);
  }

  #events(): ConstructorParameters<typeof Wire>[1]["events"] {
    return {
      asked: (message, carrier, conversation) => this.#serve(message, carrier, conversation),
      notified: (method, params) => this.#notified(method, params),
      noise: (line) => this.#tell(this.#options.onNoise, line),
      warn: (text) => this.#warn(text),
      reopened: () => {
        this.#asked.cancelAll();
        this.lists.forgetAll();
        this.completer.clear();
        this.subscriptions.reopened();
      },
    };
  }

  #serve(message: RequestMessage, carrier: Carrier, conversation: Conversation): Promise<void> {
    const server = this.wire.knownServer;
    return this.#asked.serve(message, carrier, { codec: conversation.codec, server });
  }

  #notified(method: string, params: JsonObject): void {
    const { _meta: meta } = params;
    const id = isJsonObject(meta) ? meta[META.subscriptionId] : undefined;
    const change = changeOf(method, params);
    if (change !== undefined) {
      this.lists.forget(change);
      this.subscriptions.changed(change, id);
      if (change.kind !== "resource") this.#tell(this.#options.onListChanged, change);
    } else if (method === "notifications/message") {
      const message = this.logs.take(params);
      if (message !== undefined) this.#tell(this.#options.onLog, message);
    } else if (method === "notifications/subscriptions/acknowledged") {
      this.subscriptions.acknowledged(id, (params["notifications"] ?? {}) as JsonObject);
    } else if (method === "notifications/cancelled") {
      this.#asked.cancel(params);
      this.subscriptions.cancelled(params["requestId"] as RequestId);
    } else if (method === "notifications/elicitation/complete") {
      this.requests.pages.completed(params);
    } else if (method === "notifications/tasks" || method === "notifications/tasks/status") {
      this.tasks.notified(params);
    }
  }

  #watchLists(): void {
    const { tools, prompts, resources } = this.established.capabilities;
    const watched = {
      toolsListChanged: tools?.listChanged === true,
      promptsListChanged: prompts?.listChanged === true,
      resourcesListChanged: resources?.listChanged === true,
    };
    if (Object.values(watched).includes(true)) this.subscriptions.subscribe(watched);
  }

  #pingTarget(): ConstructorParameters<typeof Pinger>[0] {
    return {
      ping: (timeoutMs) => this.ping({ timeoutMs }),
      warn: (text) => this.#warn(text),
      giveUp: (text) => void this.wire.close(new LocalError("TIMEOUT", text)),
    };
  }

  #warn(text: string): void {
    const { onWarning } = this.#options;
    if (onWarning !== undefined) guarded(onWarning, () => undefined)(text);
  }

  #tell<T>(told: ((value: T) => void) | undefined, value: T): void {
    if (told !== undefined) guarded(told, (text) => this.#warn(text))(value);
  }

  #missing(names: readonly (keyof ServerCapabilities)[]): ConnectError {
    const { capabilities, server } = this.established;
    const declared = Object.keys(capabilities).join(", ") || "nothing";
    const text = `${server.name} lacks what is required: ${names.join(", ")}. It declared ${declared}.`;
    return new ConnectError("NOT_SUPPORTED", text, { attempts: [] });
  }
}
