// Many servers under one roof: started with consent, called with approval, each for itself.
import type { CallOptions } from "../client/call-options.js";
import type { Client } from "../client/client.js";
import type { CompleteOptions, Completion } from "../client/completion.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { ResourceLink } from "../protocol/content.js";
import type { GetPromptResult } from "../protocol/features/prompts.js";
import type { ReadResourceResult } from "../protocol/features/resources.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { TemplateValues } from "../protocol/uri-template/expand.js";
import { CallGate } from "./call-gate.js";
import type { LoggedCall } from "./call-log.js";
import type { HostEntry, HostPrompt, HostResource, HostTemplate, HostTool } from "./catalogue-entry.js";
import type { LoadOptions, LoadReport } from "./load-options.js";
import { loadServers } from "./load-servers.js";
import type { AddOptions, Dial, HostOptions } from "./host-options.js";
import type { HostTarget } from "./host-target.js";
import { Roof } from "./roof.js";
import { search, type Search } from "./search.js";
import type { ServerStatus } from "./server-status.js";

export interface ReadOptions extends CallOptions {
  /** The server to read from. Needed where several list the URI, and for URIs none lists. */
  readonly server?: string;
  /** Values for the variables, when the URI is a template. */
  readonly variables?: TemplateValues;
}

/** What is completed: an argument of a prompt, or a variable of a server's template. */
export type HostReference = { readonly prompt: string } | { readonly template: string; readonly server: string };

/** See the entries `/host` and `/host/node`, which make this with the links they have. */
export class HostCore {
  readonly #roof: Roof;
  readonly #gate: CallGate;
  /** Which server gave a link, by the link. */
  readonly #givers = new WeakMap<object, string>();

  constructor(options: HostOptions, dial: Dial) {
    this.#roof = new Roof(options, dial);
    const { onCall, onResult, decisionTimeoutMs } = options;
    const source = {
      tool: (name: string) => this.#roof.catalogue.named("tool", name),
      server: (name: string) => {
        const server = this.#roof.find(name);
        return server?.client === undefined ? undefined : { client: server.client, trusted: server.trusted };
      },
    };
    const onEvent = this.#roof.tell.bind(this.#roof);
    this.#gate = new CallGate(source, { onCall, onResult, decisionTimeoutMs, onEvent });
  }

  /**
   * Adds a server and starts it unless told otherwise. Resolves with its status once the first attempt has ended, however it
   * did: a server that fails is no error of the host. Rejects with INVALID_NAME, LOOK_ALIKE, INVALID_TARGET, LIMIT or CLOSED.
   */
  async add(name: string, target: HostTarget, options: AddOptions = {}): Promise<ServerStatus> {
    const server = this.#roof.add(name, target, options);
    if (options.enabled !== false) await this.#roof.start(server);
    return server.status;
  }

  /**
   * Adds the servers of a configuration file's text (`mcpServers`, or VS Code's `servers`), all at once. Servers that cannot be
   * added are in the report. Rejects with CONFIG_SYNTAX or CONFIG_SHAPE, which say the line and column.
   */
  load(text: string, options: LoadOptions = {}): Promise<LoadReport> {
    return loadServers(text, options, {
      add: (name, target, more) => this.add(name, target, more),
      status: (name) => this.#roof.find(name)?.status,
    });
  }

  /** Stops a server and forgets it. Rejects with UNKNOWN_SERVER. */
  remove(name: string): Promise<void> {
    return this.#roof.remove(name);
  }

  /**
   * Starts a server that is disabled, or was denied (then it is asked about again), or waits (then it is tried now). Rejects
   * with UNKNOWN_SERVER or CLOSED.
   */
  async enable(name: string): Promise<ServerStatus> {
    const server = this.#roof.get(name);
    await this.#roof.start(server);
    return server.status;
  }

  /** Stops a server, and keeps it for `enable`. Rejects with UNKNOWN_SERVER. */
  async disable(name: string): Promise<ServerStatus> {
    const server = this.#roof.get(name);
    await server.stop();
    return server.status;
  }

  /** All servers in the order they were added. */
  servers(): ServerStatus[] {
    return Array.from(this.#roof.servers, ({ status }) => status);
  }

  tools(): HostTool[] {
    return this.#roof.catalogue.entries("tool");
  }

  prompts(): HostPrompt[] {
    return this.#roof.catalogue.entries("prompt");
  }

  resources(): HostResource[] {
    return this.#roof.catalogue.entries("resource");
  }

  templates(): HostTemplate[] {
    return this.#roof.catalogue.entries("template");
  }

  /** What fits, the best first. */
  find(wanted: Search): HostEntry[] {
    return search(this.#roof.catalogue.entries(), wanted);
  }

  /** Reads a server's lists again, for servers that do not tell of changes. Never rejects. */
  async refresh(name: string): Promise<void> {
    const { catalogue } = this.#roof;
    await Promise.all((["tools", "prompts", "resources"] as const).map((kind) => catalogue.outdated(name, kind)));
  }

  /**
   * Calls the tool `server__tool`, once `onCall` approves. Rejects as `Client.call` does, and with UNKNOWN_TOOL, NOT_READY, DENIED,
   * CHANGED (the tool is another one than was approved), WITHHELD (it ran, its result may not be seen) and LIMIT.
   */
  async call(name: string, args: JsonObject = {}, options: CallOptions = {}): Promise<CallToolResult> {
    const entry = this.#roof.catalogue.named("tool", name);
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
  prompt(name: string, args?: Readonly<Record<string, string>>, options?: CallOptions): Promise<GetPromptResult> {
    const entry = this.#roof.catalogue.named("prompt", name);
    if (entry === undefined) return Promise.reject(unknown("PROMPT", `prompt ${JSON.stringify(name)}`));
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

  complete(
    about: HostReference,
    argument: { name: string; value: string },
    options?: CompleteOptions,
  ): Promise<Completion> {
    if ("template" in about) {
      const ref = { type: "ref/resource", uri: about.template } as const;
      return this.#with(about.server, (client) => client.complete(ref, argument, options));
    }
    const entry = this.#roof.catalogue.named("prompt", about.prompt);
    if (entry === undefined) return Promise.reject(unknown("PROMPT", `prompt ${JSON.stringify(about.prompt)}`));
    const ref = { type: "ref/prompt", name: entry.original } as const;
    return this.#with(entry.server, (client) => client.complete(ref, argument, options));
  }

  /** The connection to a server while it is up: for what the host has no method for. What is called on it passes no approval. */
  client(name: string): Client | undefined {
    return this.#roof.find(name)?.client;
  }

  /** Stops all servers. Leaves no process and no timer. Never rejects. */
  close(): Promise<void> {
    return this.#roof.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #listing(uri: string): string[] {
    const found = this.resources().filter(({ resource }) => resource.uri === uri);
    const templates = this.templates().filter(({ template }) => template.uriTemplate === uri);
    return [...found, ...templates].map(({ server }) => server);
  }

  async #with<T>(name: string, use: (client: Client) => Promise<T>): Promise<T> {
    const { client, status } = this.#roof.get(name);
    if (client !== undefined) return use(client);
    const { state, reason = "" } = status;
    throw new LocalError("NOT_READY", `The server ${name} is not up (${state}). ${reason}`.trimEnd());
  }
}

function unknown(what: "PROMPT" | "RESOURCE", text: string): LocalError {
  return new LocalError(`UNKNOWN_${what}`, `There is no ${text}`);
}
