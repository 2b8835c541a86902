// A host (the specification's word): holds many servers, each with a client of its own, started with consent, called with approval.
import { checkOptions } from "../protocol/capabilities.js";
import { type CallOptions, checkCall, type ClientOptions, type Dialer } from "../client/options.js";
import type { Client } from "../client/client.js";
import type { CompleteOptions, Completion } from "../client/lists.js";
import { LocalError } from "../jsonrpc/errors.js";
import { CLIENT_LIMITS, resolveLimits } from "../jsonrpc/limits.js";
import { type JsonObject, visibleText } from "../jsonrpc/message.js";
import type { ResourceLink } from "../protocol/content.js";
import type { GetPromptResult } from "../protocol/features/prompts.js";
import type { ReadResourceResult } from "../protocol/features/resources.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { TemplateValues } from "../protocol/uri-template/expand.js";
import { CallGate, type LoggedCall } from "./call-gate.js";
import {
  Catalogue,
  type EntryList,
  mayBeOf,
  type HostEntry,
  type HostEvent,
  type HostPrompt,
  type HostResource,
  type HostTemplate,
  type HostTool,
  readEntries,
  search,
  type Search,
} from "./catalogue.js";
import {
  ADD_MEMBERS,
  type AddOptions,
  type Dial,
  type HostOptions,
  LOAD_MEMBERS,
  type LoadOptions,
  type LoadProblem,
  type LoadReport,
} from "./options.js";
import {
  checkServerName,
  checkTarget,
  type CommandTarget,
  Consent,
  type HostTarget,
  isCommand,
  launchOf,
  messageOf,
  snapshot,
  type UrlTarget,
  urlTarget,
} from "./launch.js";
import { ManagedServer, type ServerStatus, Slots } from "./managed-server.js";
import {
  type ConfigInput,
  type ConfigServer,
  expandServer,
  parseServersConfig,
  type ServersConfig,
} from "./config/config-servers.js";
import { pause } from "../jsonrpc/outgoing.js";
import { QuestionBroker, RootsBroker, SamplingBroker } from "./questions.js";

/** Options of a host's `read`: which server, and the variables of a template. */
export interface ReadOptions extends CallOptions {
  /** The server to read from. Needed where several list the URI, and for URIs none lists. */
  readonly server?: string;
  /** Values for the variables, when the URI is a template. */
  readonly variables?: TemplateValues;
}

/** What is completed: an argument of a prompt, or a variable of a server's template. */
export type HostReference = { readonly prompt: string } | { readonly template: string; readonly server: string };

const START_TIMEOUT_MS = 60_000;
/** Starting a server is what processors are busy with: a long configuration must not keep the whole machine busy. */
const STARTS_AT_ONCE = 8;
/** Beyond this it is a mistake, not a configuration. */
const MOST_SERVERS = 1_000;

/** See the entries `/host` and `/host/node`, which make this with the links they have. */
export class HostCore {
  readonly #options: HostOptions;
  readonly #dial: Dial;
  readonly #servers = new Map<string, ManagedServer>();
  readonly #catalogue: Catalogue;
  /** The connections the catalogue has lists of, and the reading of those lists. */
  readonly #listed = new Map<string, { readonly client: Client; readonly reading: Promise<void> }>();
  readonly #consent: Consent;
  readonly #slots: Slots;
  readonly #gate: CallGate;
  readonly #sampling: SamplingBroker | undefined;
  readonly #questions: QuestionBroker | undefined;
  readonly #roots: RootsBroker | undefined;
  readonly #unwatch: () => void;
  /** Which server gave a link, by the link. */
  readonly #givers = new WeakMap<object, string>();
  #closed = false;

  constructor(options: HostOptions, dial: Dial) {
    resolveLimits(options.client?.limits, CLIENT_LIMITS);
    this.#options = options;
    this.#dial = dial;
    const { authorize, approvals, decisionTimeoutMs: timeoutMs, startsAtOnce = STARTS_AT_ONCE } = options;
    this.#consent = new Consent({ authorize, approvals, timeoutMs });
    this.#slots = new Slots(startsAtOnce);
    const { sampling, elicit, roots } = options;
    const tell = (event: HostEvent): void => this.#tell(event);
    const warn = (server: string | undefined, text: string): void => tell({ type: "warning", server, text });
    this.#sampling = sampling && new SamplingBroker(sampling, tell);
    this.#questions = elicit && new QuestionBroker({ elicit, timeoutMs, warn });
    this.#roots = roots && new RootsBroker(roots, { timeoutMs, warn: (text) => warn(undefined, text) });
    this.#unwatch = this.#roots?.watch(() => this.#rootsChanged()) ?? (() => undefined);
    this.#catalogue = new Catalogue({
      changed: (server, kinds) => tell({ type: "catalogue", server, kinds }),
      failed: (server, kind, error) => warn(server, `Its list of ${kind} could not be read: ${messageOf(error)}`),
    });
    const source = {
      tool: (name: string) => this.#catalogue.named("tool", name),
      away: (name: string) => this.#away(name, "tools"),
      server: (name: string) => {
        const server = this.#servers.get(name);
        return server?.client === undefined ? undefined : { client: server.client, trusted: server.trusted };
      },
    };
    const { onCall, onResult } = options;
    this.#gate = new CallGate(source, { onCall, onResult, decisionTimeoutMs: timeoutMs, onEvent: tell });
  }

  /**
   * Adds a server and starts it unless told otherwise. Resolves with its status once the first attempt has ended, however it
   * did: a server that fails is no error of the host. Rejects with INVALID_NAME, LOOK_ALIKE, INVALID_TARGET, LIMIT or CLOSED.
   */
  async add(name: string, target: HostTarget, options: AddOptions = {}): Promise<ServerStatus> {
    if (typeof name !== "string")
      throw new LocalError("BAD_NAME", `add(name, target, options): the name comes first, as in add("notes", server)`);
    checkOptions("add(name, target, options)", options, ADD_MEMBERS);
    resolveLimits(options.client?.limits, CLIENT_LIMITS);
    const server = this.#made(name, target, options);
    if (options.enabled !== false) await this.#start(server);
    return server.status;
  }

  /**
   * Adds the servers of a configuration file's text (`mcpServers`, or VS Code's `servers`), all at once. Servers that cannot be
   * added are in the report. Rejects with CONFIG_SYNTAX or CONFIG_SHAPE, which say the line and column.
   */
  async load(text: string, options: LoadOptions = {}): Promise<LoadReport> {
    checkOptions("load(text, options)", options, LOAD_MEMBERS);
    return loadServers(text, options, {
      add: (name, target, more) => this.add(name, target, more),
      status: (name) => this.#servers.get(name)?.status,
    });
  }

  /** Stops a server and forgets it. Rejects with UNKNOWN_SERVER. */
  async remove(name: string): Promise<void> {
    // Gone at once for everybody else, so that nobody starts it again while it ends.
    const stopping = this.#get(name).stop();
    this.#servers.delete(name);
    await stopping;
    this.#sampling?.forget(name);
    this.#roots?.forget(name);
  }

  /**
   * Starts a server that is disabled, or was denied (then it is asked about again), or waits (then it is tried now). Rejects
   * with UNKNOWN_SERVER or CLOSED.
   */
  async enable(name: string): Promise<ServerStatus> {
    const server = this.#get(name);
    await this.#start(server);
    return server.status;
  }

  /** Stops a server, and keeps it for `enable`. Rejects with UNKNOWN_SERVER. */
  async disable(name: string): Promise<ServerStatus> {
    const server = this.#get(name);
    await server.stop();
    return server.status;
  }

  /** All servers in the order they were added. */
  servers(): ServerStatus[] {
    return Array.from(this.#servers.values(), ({ status }) => status);
  }

  tools(): HostTool[] {
    return this.#catalogue.entries("tool");
  }

  prompts(): HostPrompt[] {
    return this.#catalogue.entries("prompt");
  }

  resources(): HostResource[] {
    return this.#catalogue.entries("resource");
  }

  templates(): HostTemplate[] {
    return this.#catalogue.entries("template");
  }

  /** What fits, the best first. */
  find(wanted: Search): HostEntry[] {
    return search(this.#catalogue.entries(), wanted);
  }

  /** Reads a server's lists again, for servers that do not tell of changes. Never rejects. */
  async refresh(name: string): Promise<void> {
    const kinds = ["tools", "prompts", "resources"] as const;
    await Promise.all(kinds.map((kind) => this.#catalogue.outdated(name, kind)));
  }

  /**
   * Calls the tool `server__tool`, once `onCall` approves. Rejects as `Client.call` does, and with UNKNOWN_TOOL, NOT_READY, DENIED,
   * CHANGED (the tool is another one than was approved), WITHHELD (it ran, its result may not be seen) and LIMIT.
   */
  async call(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<CallToolResult> {
    checkCall(args, options);
    const entry = this.#catalogue.named("tool", name);
    const result = await this.#gate.call(name, args, options);
    for (const block of result.content) {
      if (block.type === "resource_link" && entry !== undefined) this.#givers.set(block, entry.server);
    }
    return result;
  }

  /** The latest 500 calls, oldest first, those that were denied among them. */
  get calls(): readonly LoggedCall[] {
    return this.#gate.log.calls;
  }

  /** Fills in the prompt `server__prompt`. Rejects as `Client.prompt` does, and with UNKNOWN_PROMPT and NOT_READY. */
  async prompt(name: string, args?: Readonly<Record<string, string>>, options?: CallOptions): Promise<GetPromptResult> {
    const entry = this.#prompt(name);
    return this.#with(entry.server, (client) => client.prompt(entry.original, args, options));
  }

  /** Reads a resource. Rejects as `Client.read` does, and with UNKNOWN_RESOURCE, AMBIGUOUS and NOT_READY. */
  read(uri: string, { server, variables, ...options }: ReadOptions = {}): Promise<ReadResourceResult> {
    const servers = server === undefined ? this.#listing(uri) : [server];
    const [only, ...others] = servers;
    if (only === undefined) return Promise.reject(unknown("RESOURCE", `resource ${uri}; name the server that has it`));
    if (others.length > 0) {
      const text = `${uri} was not read: ${servers.join(", ")} have one; name the server`;
      return Promise.reject(new LocalError("AMBIGUOUS", text));
    }
    return this.#with(only, (client) => client.read(uri, variables, options));
  }

  /** Reads what a link in a result leads to, from the server that gave it. Rejects as `read` does. */
  follow(link: ResourceLink, options?: CallOptions): Promise<ReadResourceResult> {
    const server = this.#givers.get(link);
    if (server !== undefined) return this.read(link.uri, { ...options, server });
    return Promise.reject(unknown("RESOURCE", "server that gave this link: pass the block of the result itself"));
  }

  async complete(
    about: HostReference,
    argument: { name: string; value: string },
    options?: CompleteOptions,
  ): Promise<Completion> {
    if ("template" in about) {
      const ref = { type: "ref/resource", uri: about.template } as const;
      return this.#with(about.server, (client) => client.complete(ref, argument, options));
    }
    const entry = this.#prompt(about.prompt);
    const ref = { type: "ref/prompt", name: entry.original } as const;
    return this.#with(entry.server, (client) => client.complete(ref, argument, options));
  }

  /** The connection to a server while it is up: for what the host has no method for. What is called on it passes no approval. */
  client(name: string): Client | undefined {
    return this.#servers.get(name)?.client;
  }

  /** Stops all servers. Leaves no process and no timer. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unwatch();
    await Promise.all(Array.from(this.#servers.values(), (server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #listing(uri: string): string[] {
    const found = this.resources().filter(({ resource }) => resource.uri === uri);
    const templates = this.templates().filter(({ template }) => template.uriTemplate === uri);
    return [...found, ...templates].map(({ server }) => server);
  }

  /** Throws UNKNOWN_PROMPT, and NOT_READY where it may be one of a server that is only away for now. */
  #prompt(name: string): HostPrompt {
    const entry = this.#catalogue.named("prompt", name);
    if (entry !== undefined) return entry;
    this.#away(name, "prompts");
    throw unknown("PROMPT", `prompt ${JSON.stringify(name)}`);
  }

  #away(name: string, kind: EntryList): void {
    for (const { name: server, client, status } of this.#servers.values()) {
      const isUp = client !== undefined && this.#catalogue.has(server, kind);
      if (!isUp && status.state !== "disabled" && mayBeOf(server, name)) throw notReady(server, status, name);
    }
  }

  async #with<T>(name: string, use: (client: Client) => Promise<T>): Promise<T> {
    const { client, status } = this.#get(name);
    if (client !== undefined) return use(client);
    throw notReady(name, status);
  }

  /** Throws UNKNOWN_SERVER. */
  #get(name: string): ManagedServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    const names = [...this.#servers.keys()].join(", ") || "none";
    throw new LocalError("UNKNOWN_SERVER", `There is no server ${JSON.stringify(name)} (there are: ${names})`);
  }

  #made(name: string, given: HostTarget, options: AddOptions): ManagedServer {
    if (this.#closed) throw new LocalError("CLOSED", `The server "${name}" was not added: the host is closed`);
    checkServerName(name, this.#servers.keys());
    if (this.#servers.size >= MOST_SERVERS)
      throw new LocalError("LIMIT", `The server "${name}" was not added: there are ${MOST_SERVERS} already`);
    checkTarget(name, given);
    // What is shown is what is started, whatever becomes of the caller's object.
    const target = snapshot(given);
    const launch = launchOf(name, target);
    launch.catch(() => undefined);
    const server: ManagedServer = new ManagedServer({
      name,
      trusted: options.trusted === true,
      launch,
      dial: this.#dialing(name, target),
      client: { ...this.#clientOptions(name), ...this.#options.client, ...options.client },
      startTimeoutMs: options.startTimeoutMs ?? this.#options.startTimeoutMs ?? START_TIMEOUT_MS,
      restart: this.#options.restart ?? {},
      consent: this.#consent,
      slots: this.#slots,
      changed: () => this.#changed(server),
    });
    this.#servers.set(name, server);
    return server;
  }

  /** Resolves when it is up and its lists are in, or its first attempt has failed. Rejects with CLOSED. */
  async #start(server: ManagedServer): Promise<void> {
    if (this.#closed) throw new LocalError("CLOSED", `The server "${server.name}" was not started: the host is closed`);
    await server.start();
    await this.#listed.get(server.name)?.reading;
  }

  #tell(event: HostEvent): void {
    try {
      const answer: unknown = this.#options.onEvent?.(event);
      if (answer instanceof Promise) answer.catch(() => undefined);
    } catch {
      // Whoever watches must not stop what they watch.
    }
  }

  // Tried once at once, so that a target that cannot be reached from here is the caller's error.
  #dialing(name: string, target: HostTarget): () => Dialer {
    let first: Dialer | undefined = this.#dialer(name, target);
    return () => {
      const dialer = first ?? this.#dialer(name, target);
      first = undefined;
      return dialer;
    };
  }

  #dialer(name: string, target: HostTarget): Dialer {
    if (typeof target === "function") return { link: target };
    if (isCommand(target)) return this.#dial(target, name);
    const url = urlTarget(target);
    return url === undefined ? (target as Dialer) : this.#dial(url, name);
  }

  // Each server has a client of its own: nothing one of them says or asks is seen by another.
  #clientOptions(name: string): ClientOptions {
    const { clientInfo, urlQuestions } = this.#options;
    const warn = (text: string): void => this.#tell({ type: "warning", server: name, text });
    const sampling = this.#options.sampling?.model.tools === true ? { sampling: { tools: {} } } : {};
    const questions = urlQuestions === true ? { elicitation: { form: {}, url: {} } } : {};
    return {
      ...(clientInfo === undefined ? {} : { clientInfo }),
      capabilities: { ...sampling, ...questions },
      ...(this.#sampling === undefined ? {} : { sample: this.#sampling.for(name) }),
      ...(this.#questions === undefined ? {} : { elicit: this.#questions.for(name) }),
      ...(this.#roots === undefined ? {} : { roots: this.#roots.for(name) }),
      onWarning: warn,
      onNoise: (line) => warn(`It wrote something else than messages: ${visibleText(line, 200)}`),
      onLog: ({ level, data }) => this.#tell({ type: "log", server: name, level, data }),
      onListChanged: ({ kind }) => {
        if (kind !== "resource") void this.#catalogue.outdated(name, kind);
      },
    };
  }

  #changed(server: ManagedServer): void {
    const { name, client } = server;
    if (client !== this.#listed.get(name)?.client) {
      this.#listed.delete(name);
      this.#catalogue.remove(name);
      if (client !== undefined) {
        const warn = (text: string): void => this.#tell({ type: "warning", server: name, text });
        const reading = this.#catalogue.add(name, (kind) => readEntries(kind, client, { server, warn }));
        this.#listed.set(name, { client, reading });
      }
    }
    this.#tell({ type: "server", status: server.status });
  }

  #rootsChanged(): void {
    const roots = this.#roots;
    if (roots === undefined) return;
    for (const { name, client } of this.#servers.values()) {
      try {
        client?.setRoots(roots.for(name));
      } catch (error) {
        this.#tell({ type: "warning", server: name, text: messageOf(error) });
      }
    }
  }
}

function notReady(server: string, { state, reason = "" }: ServerStatus, name?: string): LocalError {
  const what = name === undefined ? "The server" : `${name} was not called: the server`;
  const how = state === "ready" ? "has not told what it offers yet" : `is not up (${state})`;
  return new LocalError("NOT_READY", `${what} ${server} ${how}. ${reason}`.trimEnd());
}

function unknown(what: "PROMPT" | "RESOURCE", text: string): LocalError {
  return new LocalError(`UNKNOWN_${what}`, `There is no ${text}`);
}

// Adds the servers of a configuration file to a host, each for itself.

/** What a host does for its file. */
interface Loading {
  add(name: string, target: CommandTarget | UrlTarget, options: AddOptions): Promise<ServerStatus>;
  status(name: string): ServerStatus | undefined;
}

async function loadServers(text: string, options: LoadOptions, host: Loading): Promise<LoadReport> {
  const config = parseServersConfig(text, options.source);
  const warnings: LoadProblem[] = [];
  const problems: LoadProblem[] = [...config.problems];
  const input = askedOnce(config, options);
  const statuses = await Promise.all(
    config.servers.map(async (server) => {
      const at = { name: server.name, line: server.line, column: server.column };
      try {
        const expanded = await expandServer(server, config.format, {
          env: options.env ?? {},
          userHome: options.userHome,
          workspaceFolder: options.workspaceFolder,
          input,
        });
        for (const name of expanded.unset) warnings.push({ ...at, message: `the variable ${name} is not set` });
        for (const name of expanded.literal)
          warnings.push({ ...at, message: `$${name} is passed on as it is written: write \${${name}}` });
        if (server.raw["sandboxEnabled"] === true)
          warnings.push({ ...at, message: "it asks for a sandbox, and this host has none: it would run without" });
        if (expanded.missing.length > 0) throw new Error(`nobody gave the input ${expanded.missing.join(", ")}`);
        const target = await targetOf(expanded.server, options);
        return await inTime(host.add(server.name, target, addOptions(server, options)), server.name, {
          waitMs: options.waitMs,
          host,
        });
      } catch (error) {
        problems.push({ ...at, message: messageOf(error) });
        return undefined;
      }
    }),
  );
  return { servers: statuses.filter((status) => status !== undefined), problems, warnings };
}

/** The status once it has been tried, or as it is when the time is over. What goes wrong after that is in the status. */
async function inTime(
  adding: Promise<ServerStatus>,
  name: string,
  { waitMs, host }: { waitMs: number | undefined; host: Loading },
): Promise<ServerStatus> {
  if (waitMs === undefined) return adding;
  const over = new AbortController();
  const late = pause(waitMs, over.signal).then(() => host.status(name));
  try {
    return (await Promise.race([adding, late])) ?? (await adding);
  } finally {
    over.abort();
    adding.catch(() => undefined);
  }
}

function addOptions({ name, disabled, timeoutMs }: ConfigServer, { options }: LoadOptions): AddOptions {
  const given = options?.(name) ?? {};
  const client = timeoutMs === undefined ? {} : { client: { timeoutMs, ...given.client } };
  return { ...(disabled ? { enabled: false } : {}), ...given, ...client };
}

async function targetOf(server: ConfigServer, { readEnvFile }: LoadOptions): Promise<CommandTarget | UrlTarget> {
  const { type, command, url, args, env, envFile, cwd, headers } = server;
  if (command === undefined) {
    return { url: new URL(url as string), headers, ...(type === "http" || type === "sse" ? { transport: type } : {}) };
  }
  if (envFile === undefined) return { command, args, env, cwd };
  if (readEnvFile === undefined) throw new Error("it has an envFile, and nobody can read it here");
  return { command, args, env: { ...(await readEnvFile(envFile)), ...env }, cwd };
}

// Several servers may need one input: the person types it once.
function askedOnce({ inputs }: ServersConfig, { input }: LoadOptions): (id: string) => Promise<string | undefined> {
  const answers = new Map<string, Promise<string | undefined>>();
  return (id) => {
    const known = answers.get(id);
    if (known !== undefined) return known;
    const wanted: ConfigInput | undefined = inputs.find((one) => one.id === id);
    const answer = Promise.resolve(wanted && input?.(wanted));
    answers.set(id, answer);
    return answer;
  };
}
