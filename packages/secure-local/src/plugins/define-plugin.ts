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

/** What a handler is handed for one call. */
export interface PluginContext {
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
