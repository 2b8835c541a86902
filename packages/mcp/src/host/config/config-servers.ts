// Reads the servers of a configuration file: Claude's, Cursor's and their like (`mcpServers`), and VS Code's (`servers`).
import { LocalError } from "../../jsonrpc/local-error.js";
import { isJsonObject, type JsonObject } from "../../jsonrpc/message.js";
import { type JsonNode, parseJsonTree } from "./json-tree.js";
import { type Position, positionAt } from "./positions.js";

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

export interface ConfigProblem extends Position {
  readonly name: string;
  readonly message: string;
}

export interface ServersConfig {
  /** Which of the two formats it is. */
  readonly format: "mcpServers" | "servers";
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
};

/**
 * Reads the text of a configuration file; comments and trailing commas are allowed. Throws `CONFIG_SYNTAX` when it is no
 * JSON, `CONFIG_SHAPE` when it holds no servers; both texts have `source`, the line and the column.
 */
export function parseServersConfig(text: string, source = "The configuration"): ServersConfig {
  const root = parseJsonTree(text, source);
  const format = root.members?.has("mcpServers") === true ? "mcpServers" : "servers";
  const list = root.members?.get(format);
  if (list?.members === undefined) {
    const { line, column } = positionAt(text, (list ?? root).start);
    const wanted = list === undefined ? 'there is no "mcpServers" and no "servers"' : `"${format}" is no object`;
    throw new LocalError("CONFIG_SHAPE", `${source}: line ${line}, column ${column}: ${wanted}`);
  }
  const servers: ConfigServer[] = [];
  const problems: ConfigProblem[] = [];
  for (const [name, node] of list.members) {
    const faults: Faults = (message, at = node) => problems.push({ name, message, ...positionAt(text, at.start) });
    const server = readServer(name, { node, faults, at: positionAt(text, node.start) });
    if (server !== undefined) servers.push(server);
  }
  const inputs = root.members?.get("inputs")?.value;
  return { format, servers, problems, inputs: Array.isArray(inputs) ? inputs.flatMap(readInput) : [] };
}

type Faults = (message: string, at?: JsonNode) => void;

function readServer(
  name: string,
  { node, faults, at }: { node: JsonNode; faults: Faults; at: Position },
): ConfigServer | undefined {
  const { members, value: raw } = node;
  if (members === undefined || !isJsonObject(raw)) {
    faults("a server must be an object");
    return undefined;
  }
  let wrong = false;
  const read = new Members(members, (message, where) => {
    wrong = true;
    faults(message, where);
  });
  const command = read.text("command");
  const url = read.text("url") ?? read.text("serverUrl");
  const type = read.type(command);
  if (command !== undefined && url !== undefined) read.fault('there are "command" and "url": which of them?', "url");
  else if (type === "stdio" && command === undefined) read.fault('"command" is missing', "type");
  else if (type !== "stdio" && url === undefined) read.fault('"command" or "url" is missing', "type");
  const server = {
    ...{ name, type, command, url, raw, ...at },
    args: read.texts("args"),
    env: read.map("env"),
    envFile: read.text("envFile"),
    cwd: read.text("cwd"),
    headers: read.map("headers"),
    disabled: read.flag("disabled") ?? read.flag("enabled") === false,
    timeoutMs: read.positive("timeout"),
  };
  return wrong ? undefined : server;
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
