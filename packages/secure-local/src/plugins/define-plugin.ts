// What authors of plugins write: the shape of a module plugin. Published as `mcp-secure-local/plugin`.

/** A JSON Schema (2020-12) of an object. */
export type ObjectSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

/** A content block of MCP: text, image, audio, resource or resource_link. */
export type PluginBlock = { readonly type: string } & Readonly<Record<string, unknown>>;

/** What a tool answers: a text, or content blocks and data. `isError` says that it failed. */
export type PluginAnswer =
  | string
  | {
      readonly content?: string | readonly PluginBlock[];
      readonly structuredContent?: Readonly<Record<string, unknown>>;
      readonly isError?: boolean;
    };

/** One request; the host makes it, so that it may go by https. */
export interface PluginRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds for everything; 15,000 at most and by default. */
  readonly timeoutMs?: number;
}

/** An answer that arrived whole, up to 2 MiB. */
export interface PluginResponse {
  readonly status: number;
  /** Whether `status` is 200 to 299. */
  readonly ok: boolean;
  /** Where it came from, after redirects. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  text(): string;
  json(): unknown;
  bytes(): Uint8Array;
}

/** How a command ended. */
export interface PluginRunResult {
  /** Absent when it was ended by a signal or its time was up. */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether more was written than is returned. */
  readonly truncated: boolean;
}

/** What a plugin keeps between its starts; the policy grants it by `storage_kb`. Keys: 1 to 120 bytes, 1,024 of them. */
export interface PluginStorage {
  /** Anything JSON has; undefined where nothing is kept. */
  get(key: string): Promise<unknown>;
  /** Rejects when there is no room. */
  set(key: string, value: unknown): Promise<void>;
  /** Resolves with whether there was something. */
  delete(key: string): Promise<boolean>;
  keys(): Promise<readonly string[]>;
}

/** What a handler is handed for one call. What the policy does not grant rejects with an error that says so. */
export interface PluginContext {
  /** Placeholders by the name of the secret. In requests to the secret's own hosts the value takes their place. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly storage: PluginStorage;
  /** A request to a host of its grant. Rejects for what the policy denies; any status is an answer. */
  fetch(url: string | URL, request?: PluginRequest): Promise<PluginResponse>;
  /** Runs a command of its grant, with arguments the policy allows, in a sandbox of its own. */
  run(command: string, args?: readonly string[]): Promise<PluginRunResult>;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Tells the client how far the call is; `done` must grow. */
  progress(done: number, total?: number, message?: string): void;
}

export interface PluginToolDefinition {
  readonly title?: string;
  readonly description: string;
  readonly input?: ObjectSchema;
  readonly output?: ObjectSchema;
  /** Hints of MCP; absent ones are taken to be the careful ones (destructive, open world). */
  readonly annotations?: Readonly<Record<string, boolean>>;
  /** `args` fit `input`. What it throws is told to the client as a failure without its text. */
  run(args: never, context: PluginContext): PluginAnswer | Promise<PluginAnswer>;
}

export interface PluginResourceDefinition {
  readonly name?: string;
  readonly description?: string;
  readonly mimeType?: string;
  read(context: PluginContext): string | Promise<string>;
}

export interface PluginPromptDefinition {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: Readonly<Record<string, { readonly description?: string; readonly required?: boolean }>>;
  run(args: Readonly<Record<string, string>>, context: PluginContext): string | Promise<string>;
}

/** What a plugin cannot do without; it is not started where the policy does not grant all of it. */
export interface PluginNeeds {
  /** Hosts, with a port unless it is 443: `api.example.com`, `example.com:8443`. */
  readonly network?: readonly string[];
  /** Absolute paths it reads, or writes where they begin with `write:`. */
  readonly filesystem?: readonly string[];
  /** Names of `commands.allowed` in the policy. */
  readonly commands?: readonly string[];
  /** Names of `secrets` in the policy. */
  readonly secrets?: readonly string[];
  /** Whether it keeps something between its starts. */
  readonly storage?: boolean;
}

export interface PluginDefinition {
  /** Lower-case letters, digits, `-` and `_`; the same as in the policy. */
  readonly name: string;
  readonly version: string;
  readonly needs?: PluginNeeds;
  /** By name. Clients see `plugin_tool`. */
  readonly tools?: Readonly<Record<string, PluginToolDefinition>>;
  /** By URI. */
  readonly resources?: Readonly<Record<string, PluginResourceDefinition>>;
  /** By name. */
  readonly prompts?: Readonly<Record<string, PluginPromptDefinition>>;
}

/** Returns what it is given; it is there for the types. */
export function definePlugin(plugin: PluginDefinition): PluginDefinition {
  return plugin;
}
