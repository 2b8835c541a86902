// Reads the servers of a configuration file in the form of each client that has one of its own, and replaces the
// variables in them.
import { LocalError } from "../../jsonrpc/errors.js";
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import { type JsonNode, parseJsonTree, type Position, positionAt } from "./json-tree.js";

/** One server as it stands in the file, its variables not yet replaced. */
export interface ConfigServer extends Position {
  readonly name: string;
  /** `any`: a URL of which the file does not say how it is spoken to. */
  readonly type: "stdio" | "http" | "sse" | "any";
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly envFile: string | undefined;
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly disabled: boolean;
  /** Milliseconds for one call. */
  readonly timeoutMs: number | undefined;
  /** Everything the file says of it, members unknown to us included. */
  readonly raw: JsonObject;
}

/** A value the file wants to have asked for (VS Code). */
export interface ConfigInput {
  readonly id: string;
  readonly type: string;
  readonly description: string | undefined;
  readonly password: boolean;
  readonly default: string | undefined;
  readonly options: readonly string[] | undefined;
}

/** What is wrong with an entry of a configuration file, and where. */
export interface ConfigProblem extends Position {
  readonly name: string;
  readonly message: string;
}

/**
 * Whose form it is, and so how variables are written: `mcpServers` Claude's, Cursor's and most others'; `servers` VS Code's,
 * in a file of its own or in its settings; `gemini` has `$VAR` too; `opencode` and `zed` have members of their own; `codex`
 * is its table `mcp_servers`, as JSON.
 */
export type ConfigFormat = "mcpServers" | "servers" | "gemini" | "opencode" | "zed" | "codex";

/** A configuration file of servers, read as text: nothing is started or filled in. */
export interface ServersConfig {
  readonly format: ConfigFormat;
  readonly servers: readonly ConfigServer[];
  readonly inputs: readonly ConfigInput[];
  /** Servers that make no sense, and why. The others are in `servers`. */
  readonly problems: readonly ConfigProblem[];
}

const TYPES: Readonly<Record<string, ConfigServer["type"]>> = {
  stdio: "stdio",
  local: "stdio",
  http: "http",
  "streamable-http": "http",
  streamableHttp: "http",
  sse: "sse",
  // Whichever of the two the server has.
  remote: "any",
};

/** Files whose clients count the seconds of `timeout`: Cline, and those that began as copies of it. */
const SECONDS_FILE = /(?:cline_mcp_settings|[\\/]mcp_settings|[\\/]\.(?:roo|kilocode)[\\/]mcp)\.json$/i;
/** Members that only those clients write. */
const SECONDS_MEMBERS = ["autoApprove", "alwaysAllow", "disabledTools"];
/** No client waits less than this: a smaller number was meant in seconds. */
const LEAST_MS = 1_000;

/**
 * Reads the text of a configuration file; comments and trailing commas are allowed. Throws `CONFIG_SYNTAX` when it is no
 * JSON, `CONFIG_SHAPE` when it holds no servers; both texts have `source`, the line and the column.
 */
export function parseServersConfig(text: string, source = "The configuration"): ServersConfig {
  const root = parseJsonTree(text, source);
  const { format, key, list, inputs } = listIn(root, source);
  if (list?.members === undefined) {
    const { line, column } = positionAt(text, (list ?? root).start);
    const wanted = list === undefined ? 'there is no "mcpServers" and no "servers"' : `"${key}" is no object`;
    throw new LocalError("CONFIG_SHAPE", `${source}: line ${line}, column ${column}: ${wanted}`);
  }
  const servers: ConfigServer[] = [];
  const problems: ConfigProblem[] = [];
  for (const [name, node] of list.members) {
    const faults: Faults = (message, at = node) => problems.push({ name, message, ...positionAt(text, at.start) });
    const server = readServer(name, { node, faults, at: positionAt(text, node.start), source });
    if (server !== undefined) servers.push(server);
  }
  return { format, servers, problems, inputs: Array.isArray(inputs) ? inputs.flatMap(readInput) : [] };
}

interface List {
  readonly format: ConfigFormat;
  /** What it is called. */
  readonly key: string;
  readonly list: JsonNode | undefined;
  readonly inputs: unknown;
}

/** Where the servers are; a file of settings has them among much else. */
function listIn({ members }: JsonNode, source: string): List {
  const found = (format: ConfigFormat, key: string, within = members): List => {
    return { format, key, list: within?.get(key), inputs: within?.get("inputs")?.value };
  };
  const common = members?.get("mcpServers");
  if (common !== undefined) {
    const gemini =
      /[\\/]\.gemini[\\/]settings\.json$/i.test(source) ||
      [...(common.members?.values() ?? [])].some((server) => server.members?.has("httpUrl"));
    return found(gemini ? "gemini" : "mcpServers", "mcpServers");
  }
  if (members?.has("servers")) return found("servers", "servers");
  if (members?.has("mcp.servers")) return found("servers", "mcp.servers");
  const inner = members?.get("mcp")?.members;
  const settings = inner?.get("servers")?.members;
  // A server of opencode's may have that name.
  const isServer = settings?.has("type") || settings?.has("command") || settings?.has("url");
  if (settings !== undefined && !isServer) return found("servers", "servers", inner);
  if (members?.has("mcp")) return found("opencode", "mcp");
  if (members?.has("context_servers")) return found("zed", "context_servers");
  if (members?.has("mcp_servers")) return found("codex", "mcp_servers");
  return found("servers", "servers");
}

type Faults = (message: string, at?: JsonNode) => void;

function readServer(
  name: string,
  { node, faults, at, source }: { node: JsonNode; faults: Faults; at: Position; source: string },
): ConfigServer | undefined {
  const { value: raw } = node;
  const members = flattened(node);
  if (members === undefined || !isJsonObject(raw)) {
    faults("a server must be an object");
    return undefined;
  }
  let wrong = false;
  const read = new Members(members, (message, where) => {
    wrong = true;
    faults(message, where);
  });
  const { command, before } = read.command();
  const url = read.text("url") ?? read.text("serverUrl") ?? read.text("httpUrl");
  const type = read.type(command);
  if (command !== undefined && url !== undefined) read.fault('there are "command" and "url": which of them?', "url");
  else if (type === "stdio" && command === undefined) read.fault('"command" is missing', "type");
  else if (type !== "stdio" && url === undefined) read.fault('"command" or "url" is missing', "type");
  const server = {
    ...{ name, type, command, url, raw, ...at },
    args: [...before, ...read.texts("args")],
    env: { ...passedOn(read.texts("env_vars")), ...read.map("environment"), ...read.map("env") },
    envFile: read.text("envFile"),
    cwd: read.text("cwd"),
    headers: { ...codexHeaders(read), ...read.map("headers") },
    disabled: read.flag("disabled") ?? read.flag("enabled") === false,
    timeoutMs: timeoutOf(read, members, source),
  };
  return wrong ? undefined : server;
}

/** Cline puts what a server is into `transport`, and older files of Zed into `command`. */
function flattened({ members }: JsonNode): ReadonlyMap<string, JsonNode> | undefined {
  const [transport, command] = [members?.get("transport")?.members, members?.get("command")?.members];
  if (members === undefined || (transport === undefined && command === undefined)) return members;
  const flat = new Map(members);
  if (transport !== undefined) flat.delete("transport");
  for (const [key, node] of transport ?? []) flat.set(key, node);
  if (command === undefined) return flat;
  flat.delete("command");
  for (const [key, node] of command) flat.set(key === "path" ? "command" : key, node);
  return flat;
}

/** Milliseconds, whatever the client counts in. */
function timeoutOf(read: Members, members: ReadonlyMap<string, JsonNode>, source: string): number | undefined {
  const codex = read.positive("tool_timeout_sec");
  if (codex !== undefined) return codex * 1_000;
  const timeout = read.positive("timeout");
  if (timeout === undefined) return undefined;
  const seconds = SECONDS_FILE.test(source) || SECONDS_MEMBERS.some((key) => members.has(key));
  return seconds || timeout < LEAST_MS ? timeout * 1_000 : timeout;
}

/** Codex names the variables that a server gets of the environment, and those its headers are taken from. */
function passedOn(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, `\${env:${name}}`]));
}

function codexHeaders(read: Members): Record<string, string> {
  const bearer = read.text("bearer_token_env_var");
  const taken = Object.entries(read.map("env_http_headers")).map(([name, variable]) => [name, `\${env:${variable}}`]);
  return {
    ...(bearer === undefined ? {} : { Authorization: `Bearer \${env:${bearer}}` }),
    ...read.map("http_headers"),
    ...(Object.fromEntries(taken) as Record<string, string>),
  };
}

class Members {
  readonly #members: ReadonlyMap<string, JsonNode>;
  readonly #faults: Faults;

  constructor(members: ReadonlyMap<string, JsonNode>, faults: Faults) {
    this.#members = members;
    this.#faults = faults;
  }

  fault(message: string, key: string): void {
    this.#faults(message, this.#members.get(key));
  }

  text(key: string): string | undefined {
    return this.#one(key, (value) => typeof value === "string", "a string") as string | undefined;
  }

  /** A program; as a list, as opencode has it, with its first arguments. */
  command(): { readonly command: string | undefined; readonly before: readonly string[] } {
    const value = this.#members.get("command")?.value;
    if (!Array.isArray(value)) return { command: this.text("command"), before: [] };
    const [command, ...before] = this.texts("command");
    return { command, before };
  }

  flag(key: string): boolean | undefined {
    return this.#one(key, (value) => typeof value === "boolean", "true or false") as boolean | undefined;
  }

  positive(key: string): number | undefined {
    const fits = (value: unknown): boolean => typeof value === "number" && value > 0;
    return this.#one(key, fits, "a number of milliseconds above 0") as number | undefined;
  }

  texts(key: string): readonly string[] {
    const fits = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === "string");
    return (this.#one(key, fits, "a list of strings") ?? []) as readonly string[];
  }

  /** Numbers and booleans are written as text: people leave the quotes out. */
  map(key: string): Readonly<Record<string, string>> {
    const fits = (value: unknown): boolean =>
      isJsonObject(value) &&
      Object.values(value).every((item) => ["string", "number", "boolean"].includes(typeof item) || item === null);
    const found = (this.#one(key, fits, "an object of strings") ?? {}) as Record<string, unknown>;
    const set = Object.entries(found).filter(([, value]) => value !== null);
    return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
  }

  type(command: string | undefined): ConfigServer["type"] {
    const said = this.text("type") ?? this.text("transport");
    if (said === undefined) return command === undefined ? "any" : "stdio";
    const known = Object.hasOwn(TYPES, said) ? TYPES[said] : undefined;
    if (known === undefined) this.fault(`the type ${JSON.stringify(said)} is not known: stdio, http or sse`, "type");
    return known ?? "any";
  }

  #one(key: string, fits: (value: unknown) => boolean, wanted: string): unknown {
    const node = this.#members.get(key);
    if (node === undefined || node.value === null) return undefined;
    if (fits(node.value)) return node.value;
    this.#faults(`"${key}" must be ${wanted}`, node);
    return undefined;
  }
}

function readInput(value: unknown): ConfigInput[] {
  if (!isJsonObject(value) || typeof value["id"] !== "string") return [];
  const { id, type, description, password, default: preset, options } = value;
  const input: ConfigInput = {
    id,
    type: typeof type === "string" ? type : "promptString",
    description: typeof description === "string" ? description : undefined,
    password: password === true,
    default: typeof preset === "string" ? preset : undefined,
    options: Array.isArray(options) ? options.map(String) : undefined,
  };
  return [input];
}

// Replaces the variables in a server's configuration, in the spelling of the program the file is for.

/** What the variables of a configuration stand for. */
export interface VariableSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string | undefined;
  readonly workspaceFolder: string | undefined;
  /** What `${input:id}` stands for; undefined when nobody said. */
  readonly input: (id: string) => Promise<string | undefined>;
}

/** An entry of a configuration with its variables filled in, and what could not be. */
export interface Expanded {
  readonly server: ConfigServer;
  /** Variables that are not set: those of `${env:…}` became empty, all others were left as they stand. */
  readonly unset: readonly string[];
  /** Inputs nobody gave. */
  readonly missing: readonly string[];
  /** `$NAME` in variables, headers and URL of a file whose client does not fill that in: passed on as it is written. */
  readonly literal: readonly string[];
}

const BRACES = /\$\{([^{}]*)\}/g;
/** How each client writes variables; what is not listed writes `${…}`. */
const FORMS: Partial<Record<ServersConfig["format"], RegExp>> = {
  gemini: /\$\{([^{}]*)\}|\$([A-Za-z_]\w*)/g,
  opencode: /\{((?:env|file):[^{}]*)\}/g,
  codex: /\$\{(env:[^{}]*)\}/g,
  // It has none.
  zed: /(?!)/g,
};
const BARE = /(?<![\w$\\])\$([A-Za-z_]\w*)/g;
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces, in the command, arguments, variables, folders, URL and headers: `${env:VAR}`, `${userHome}`, `${workspaceFolder}`
 * in both formats; `${VAR}` and `${VAR:-default}` under `mcpServers`, `$VAR` too in Gemini's; `${input:id}` under `servers`;
 * `{env:VAR}` in opencode's. What was put in is not read again.
 */
export async function expandServer(
  server: ConfigServer,
  format: ServersConfig["format"],
  variables: VariableSources,
): Promise<Expanded> {
  const unset = new Set<string>();
  const missing = new Set<string>();
  const found = new Map<string, string | undefined>();
  const form = FORMS[format] ?? BRACES;
  for (const text of textsOf(server)) {
    for (const [, braced, bare] of text.matchAll(form)) {
      const name = braced ?? bare ?? "";
      if (!found.has(name)) found.set(name, await valueOf(name, { format, variables, unset, missing }));
    }
  }
  const put = (text: string): string =>
    text.replace(form, (whole, braced?: string, bare?: string) => found.get(braced ?? bare ?? "") ?? whole);
  const maybe = (text: string | undefined): string | undefined => (text === undefined ? undefined : put(text));
  const map = (values: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, put(value)]));
  const { command, args, env, envFile, cwd, url, headers } = server;
  const expanded = {
    ...server,
    ...{ command: maybe(command), args: args.map(put), env: map(env) },
    ...{ envFile: maybe(envFile), cwd: maybe(cwd), url: maybe(url), headers: map(headers) },
  };
  const bare = form === BRACES ? [...Object.values(env), url ?? "", ...Object.values(headers)] : [];
  const literal = new Set(bare.flatMap((text) => [...text.matchAll(BARE)].map(([, name = ""]) => name)));
  return { server: expanded, unset: [...unset], missing: [...missing], literal: [...literal] };
}

function textsOf({ command, args, env, envFile, cwd, url, headers }: ConfigServer): string[] {
  const texts = [command, ...args, ...Object.values(env), envFile, cwd, url, ...Object.values(headers)];
  return texts.filter((text) => text !== undefined);
}

interface Context {
  readonly format: ServersConfig["format"];
  readonly variables: VariableSources;
  readonly unset: Set<string>;
  readonly missing: Set<string>;
}

async function valueOf(inner: string, { format, variables, unset, missing }: Context): Promise<string | undefined> {
  const { env, userHome, workspaceFolder, input } = variables;
  if (inner.startsWith("env:")) {
    const name = inner.slice("env:".length);
    if (valueIn(env, name) === undefined) unset.add(name);
    return valueIn(env, name) ?? "";
  }
  if (inner.startsWith("file:")) {
    missing.add(inner);
    return undefined;
  }
  const known: Readonly<Record<string, string | undefined>> = {
    userHome,
    workspaceFolder,
    workspaceFolderBasename: workspaceFolder?.split(/[/\\]/).findLast((part) => part !== ""),
  };
  if (Object.hasOwn(known, inner)) {
    if (known[inner] === undefined) unset.add(inner);
    return known[inner];
  }
  if (format === "mcpServers" || format === "gemini") return plainVariable(inner, env, unset);
  if (!inner.startsWith("input:")) return undefined;
  const id = inner.slice("input:".length);
  const value = await input(id);
  if (value === undefined) missing.add(id);
  return value;
}

function plainVariable(inner: string, env: VariableSources["env"], unset: Set<string>): string | undefined {
  const seam = inner.indexOf(":-");
  const name = seam < 0 ? inner : inner.slice(0, seam);
  if (!PLAIN_NAME.test(name)) return undefined;
  const value = valueIn(env, name);
  if (seam >= 0) return value === undefined || value === "" ? inner.slice(seam + 2) : value;
  if (value === undefined) unset.add(name);
  return value;
}

function valueIn(env: VariableSources["env"], name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}
