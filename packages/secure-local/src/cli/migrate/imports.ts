// The imports of a source that is brought over to our own API: what it needs of our library, what it still names of the SDK, and what
// in it stands for a server.
import { dirname, resolve } from "node:path";
import type { AnyNode, CallExpression } from "acorn";
import { readAtOnce } from "../../audit/owned-files.js";
import { isFunction, type Leftover, lineNumberAt, methodCall, type Source, walk } from "./source-tree.js";

/** Where our library has what a rewritten source calls. */
const OURS: Readonly<Record<string, string>> = {
  Server: "@secure-local/mcp/server",
  ToolError: "@secure-local/mcp/server",
  result: "@secure-local/mcp/server",
  text: "@secure-local/mcp/server",
  serveStdio: "@secure-local/mcp/stdio",
  z: "zod",
};

/** Names that a source is likely to have for things of its own, and what ours are called then. */
const ALIASES: Readonly<Record<string, string>> = { result: "toolResult", text: "textBlock", Server: "OwnServer" };

/** Types of the wire that have the same name here. */
const TYPES: ReadonlySet<string> = new Set([
  ...["CallToolResult", "GetPromptResult", "ReadResourceResult", "CreateMessageResult", "ElicitResult", "LoggingLevel"],
  ...["ContentBlock", "TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink", "Annotations"],
  ...["Tool", "ToolAnnotations", "Prompt", "PromptArgument", "PromptMessage", "Resource", "ResourceContents"],
  ...["ClientCapabilities", "ServerCapabilities", "Implementation", "Root", "Icon"],
]);

/** What to do about a name of the SDK that has no counterpart of its own. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^Server$/, "the low-level server: define each tool with server.tool(name, { input, run })"],
  [/Transport$/, "serveHttp(server) or toNodeHandler(server) serves HTTP, connect(server) is for tests"],
  [/^(?:Mcp|Protocol)Error$|ErrorCode$/, "RpcError of @secure-local/mcp/server, with a number as its code"],
  [/^createMcpHandler$/, "toFetch(server) of @secure-local/mcp/fetch, with one server for all clients"],
  [
    /RequestSchema$|NotificationSchema$/,
    "what is registered is served: there are no handlers of the specification's methods",
  ],
  [/^Registered/, "what server.tool and its like give back is a Registration"],
  [/^RequestHandlerExtra$|^ServerContext$/, "the second argument is a Context of @secure-local/mcp/server"],
  [/Client$/, "clients are connect(...) of @secure-local/mcp/client"],
];

/** What the SDK is told by members of its server, and this library otherwise. */
export const OTHERWISE: Readonly<Record<string, string>> = {
  setRequestHandler:
    "what is registered is served by itself, also subscriptions (server.resourceUpdated) and log levels",
  setNotificationHandler:
    "session.onRootsChanged in onSession, or server.notification(name, handler) for one of your own",
  oninitialized: "new Server({ onSession: (session) => { ... } })",
  onclose: "what onSession returns is called when a session is over",
  onerror: "new Server({ report: (level, message, details) => { ... } })",
  getClientCapabilities: "ctx.clientCapabilities in a handler, session.clientCapabilities in onSession",
  getClientVersion: "ctx.client in a handler, session.client in onSession",
  listRoots: "ctx.roots() in a handler, session.roots() in onSession",
  createMessage: "ctx.sample(...) in a handler, session.sample(...) in onSession",
  elicitInput: "ctx.elicit(...) in a handler, session.elicit(...) in onSession",
  notification: "ctx.notify(...) in a handler, server.notify(...) for every session",
  close: "serveStdio and serveHttp give back what closes, and end with signals by themselves",
  isConnected: "server.sessions().length > 0 says whether anybody has a session: a server waits for nobody",
  registerCapabilities: "what is registered says it, and expect what will be registered later",
  experimental: 'say task: "optional" at the tool, and write it as if it were none',
};

/** A source of the SDK, one that was rewritten before, or one that takes a server from another. */
export const NAMES_SERVERS: RegExp =
  /@modelcontextprotocol\/|\.register(?:Tool|Resource|Prompt)\(|@secure-local\/mcp\/server|\.(?:close|connect|isConnected)\(/;

/** Notifications that are sent by hand, and what they are called here. */
export const LISTS: Readonly<Record<string, string>> = {
  sendToolListChanged: "tools",
  sendResourceListChanged: "resources",
  sendPromptListChanged: "prompts",
};

const STATEMENT =
  /^import\s+(type\s+)?(?:([\w$]+)\s*,?\s*)?(?:\{([^}]*)\}|\*\s+as\s+([\w$]+))?\s*from\s*(["'])@modelcontextprotocol\/((?:sdk|server|node|core)(?:\/[^"'\n]*)?)\5;?[^\S\n]*\n?/gm;

/** Where a name is a word and nothing else. */
const COMMENTS_AND_STRINGS = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gm;

/** A pattern of a name as a whole word. Names may hold `$`, which is a sign of patterns. */
export function asWord(name: string): string {
  return String.raw`(?<![\w$])${name.replaceAll("$", () => String.raw`\$`)}(?![\w$])`;
}

interface Named {
  readonly name: string;
  readonly local: string;
  readonly type: boolean;
}

interface Statement {
  readonly start: number;
  readonly end: number;
  readonly module: string;
  readonly named: readonly Named[];
  /** Imported as a whole. */
  readonly whole: boolean;
}

/** The imports of one source. */
export class Imports {
  readonly #source: Source;
  readonly #statements: readonly Statement[];
  readonly #used = new Map<string, string>();
  /** What the file calls zod's `z`; undefined where it imports none. */
  readonly zod: string | undefined;

  constructor(source: Source) {
    this.#source = source;
    this.#statements = statementsOf(source.text);
    this.zod = zodOf(source);
  }

  /** Whether anything of the SDK is imported. */
  get any(): boolean {
    return this.#statements.length > 0;
  }

  /** What the file calls a name of the SDK; undefined where it does not import it. */
  local(name: string): string | undefined {
    for (const { named } of this.#statements) {
      const found = named.find((each) => each.name === name);
      if (found !== undefined) return found.local;
    }
    return undefined;
  }

  /** Imports a name of ours, and says what it is called here. */
  use(name: string): string {
    if (name === "z" && this.zod !== undefined) return this.zod;
    const known = this.#used.get(name);
    if (known !== undefined) return known;
    const taken = this.#source.names(name) && this.local(name) === undefined && Object.hasOwn(ALIASES, name);
    const called = taken ? (ALIASES[name] as string) : name;
    this.#used.set(name, called);
    return called;
  }

  /** Writes the imports into a source that was rewritten otherwise. What is still named of the SDK is left. */
  write(): void {
    const source = this.#source;
    const body = this.#bodyAfter();
    const types = new Set<string>();
    for (const { named, whole, module, start, end } of this.#statements) {
      if (whole) source.left(start, `@modelcontextprotocol/${module}: import what is used of it by name`);
      const kept: string[] = [];
      for (const each of named) {
        if (!isUsed(each.local, body)) continue;
        if (TYPES.has(each.name) && each.local === each.name) types.add(each.name);
        else kept.push(this.#keep(each, start));
      }
      const stays = kept.length === 0 ? "" : `import { ${kept.join(", ")} } from "@modelcontextprotocol/${module}";\n`;
      if (!whole) source.replace(start, end, stays);
    }
    source.insert(this.#statements.at(-1)?.end ?? topOf(source), this.#ours(types).join(""));
  }

  #keep({ name, local, type }: Named, at: number): string {
    const advice = ADVICE.find(([pattern]) => pattern.test(name))?.[1] ?? "it has no counterpart";
    this.#source.left(at, `${name}: ${advice}`);
    const spelled = name === local ? name : `${name} as ${local}`;
    return `${type ? "type " : ""}${spelled}`;
  }

  #ours(types: ReadonlySet<string>): string[] {
    const places = new Map<string, string[]>();
    for (const [name, called] of this.#used) {
      const place = OURS[name] as string;
      places.set(place, [...(places.get(place) ?? []), name === called ? name : `${name} as ${called}`]);
    }
    const lines = [...places].map(([place, names]) => `import { ${names.sort().join(", ")} } from "${place}";\n`);
    if (types.size > 0) lines.push(`import type { ${[...types].sort().join(", ")} } from "@secure-local/mcp/types";\n`);
    return lines;
  }

  /** The rest of the file as it will be, without its comments. */
  #bodyAfter(): string {
    const written = this.#source.written();
    const statements = statementsOf(written);
    let [body, done] = ["", 0];
    for (const { start, end } of statements) {
      body += written.slice(done, start);
      done = end;
    }
    return (body + written.slice(done)).replaceAll(COMMENTS_AND_STRINGS, "");
  }
}

/** What names the SDK's server: imports of every kind, also those that no statement makes. */
const OF_SERVERS = /(["'])@modelcontextprotocol\/((?:sdk|server|node)(?!\/client)(?:\/[^"'\n]*)?)\1/g;

/** Adds each import of the SDK that is left in a rewritten text, and of which nothing is said yet. */
export function withImports(text: string, leftovers: readonly Leftover[]): readonly Leftover[] {
  const lines = [...text.matchAll(OF_SERVERS)].map(({ index, 2: module }) => ({
    line: lineNumberAt(text, index),
    what: `@modelcontextprotocol/${module}: what comes from here is still the SDK's; import it by name at the top`,
  }));
  const unsaid = lines.filter(({ line }) => !leftovers.some((each) => each.line === line));
  return [...leftovers, ...unsaid].sort((a, b) => a.line - b.line);
}

/** Whether a name is written, not only as that of a member. */
function isUsed(name: string, body: string): boolean {
  return [...body.matchAll(new RegExp(String.raw`(?<!\.)${asWord(name)}`, "g"))].some(({ index }) => {
    const isKey = /^\s*:/.test(body.slice(index + name.length)) && /[{,]\s*$/.test(body.slice(0, index));
    return !isKey;
  });
}

function statementsOf(text: string): Statement[] {
  return [...text.matchAll(STATEMENT)].map((match) => {
    const [whole, type, single, list, star] = match;
    const named = (list ?? "").split(",").flatMap((part): Named[] => {
      const words = part.trim();
      if (words === "") return [];
      const [name = "", local = name] = words.replace(/^type\s+/, "").split(/\s+as\s+/);
      return [{ name, local, type: type !== undefined || words.startsWith("type ") }];
    });
    const start = match.index;
    return {
      start,
      end: start + whole.length,
      module: match[6] as string,
      named,
      whole: single !== undefined || star !== undefined,
    };
  });
}

/** Before the first import, or the first statement: comments at the top stay there. */
function topOf({ program }: Source): number {
  const first = program.body.find(({ type }) => type === "ImportDeclaration") ?? program.body[0];
  return first?.start ?? 0;
}

/** What zod's `z` is called. Schemas of zod 3 say nothing to this library: the same package has those of 4 beside them. */
function zodOf(source: Source): string | undefined {
  let found: string | undefined;
  walk(source.program, (node: AnyNode) => {
    if (node.type !== "ImportDeclaration" || !/^zod(?:\/v[34])?$/.test(String(node.source.value))) return;
    if (node.source.value === "zod/v3") source.replace(node.source.start, node.source.end, '"zod/v4"');
    for (const each of node.specifiers) {
      const imported = each.type === "ImportSpecifier" ? each.imported : undefined;
      if (imported === undefined || (imported.type === "Identifier" && imported.name === "z"))
        found ??= each.local.name;
    }
  });
  return found;
}

/** Whether a source has servers, of the SDK or of ours, that others may take from it. */
const HAS_SERVERS = /@modelcontextprotocol\/(?:sdk\/)?server|@secure-local\/mcp\/server/;
const MAKES_SERVER = /\bnew\s+(?:Mcp|Own)?Server\s*\(/;
/** Endings of a source whose import ends in `.js`, or in nothing. */
const ENDINGS = [".ts", ".mts", ".js", ".mjs", ".tsx", "/index.ts", "/index.js"];

/** Names of a file that stand for servers made elsewhere or by ours, and for functions that make them. */
function serversFrom(
  source: Source,
  path: string,
): { readonly servers: ReadonlySet<string>; readonly makers: ReadonlySet<string> } {
  const [servers, makers] = [new Set<string>(), new Set<string>()];
  const take = (name: string): unknown => (/^(?:create|make|build|get|new)/i.test(name) ? makers : servers).add(name);
  let ours: string | undefined;
  walk(source.program, (node: AnyNode, parents) => {
    if (node.type === "ImportDeclaration") {
      const from = String(node.source.value);
      for (const { type, local, ...each } of node.specifiers) {
        const imported = type === "ImportSpecifier" && "imported" in each ? source.of(each.imported) : "";
        if (from === "@secure-local/mcp/server" && imported === "Server") ours = local.name;
        if (from.startsWith(".") && /server$/i.test(local.name) && hasServers(path, from)) take(local.name);
      }
    }
    const made = node.type === "NewExpression" && node.callee.type === "Identifier" ? node.callee.name : undefined;
    if (made !== undefined && made === ours) {
      const holder = parents.at(-1);
      if (holder?.type === "VariableDeclarator" && holder.id.type === "Identifier") servers.add(holder.id.name);
    }
    if (node.type === "FunctionDeclaration" && node.id && MAKES_SERVER.test(source.of(node))) makers.add(node.id.name);
  });
  return { servers, makers };
}

function hasServers(path: string, from: string): boolean {
  const base = resolve(dirname(path), from.replace(/\.[cm]?js$/, ""));
  return ENDINGS.some((ending) => {
    try {
      const text = readAtOnce(base + ending);
      return HAS_SERVERS.test(text) && MAKES_SERVER.test(text);
    } catch {
      return false;
    }
  });
}

/** What to write for a handler of a method of one's own, whose name stands in a schema of the request. */
export function ownMethod(source: Source, call: CallExpression): string | undefined {
  const [given] = call.arguments;
  if (given === undefined) return undefined;
  const held = given.type === "Identifier" ? (source.binding(given.name)?.value ?? given) : given;
  const literal = /\bmethod\s*:\s*[\w$.]*literal\(\s*(["'`])([^"'`]+)\1/.exec(source.of(held));
  const name = literal?.[2] ?? (held.type === "Literal" && typeof held.value === "string" ? held.value : undefined);
  if (name === undefined || SPECIFIED.test(name)) return undefined;
  return `server.method(${JSON.stringify(name)}, (params, ctx) => ...) serves a method of your own`;
}

const SPECIFIED =
  /^(?:ping|initialize|(?:tools|resources|prompts|completion|logging|tasks|roots|sampling|elicitation|server|subscriptions)\/.*)$/;

// Which expressions of a source stand for a server: names, and members of objects and classes.

/** What holds a server: a name of the file as it is, a member of anything with a dot before it. */
type Holder = string;

/** The servers of one source. */
export class Servers {
  readonly #source: Source;
  readonly #local: string | undefined;
  readonly #held = new Set<Holder>();
  /** Functions of the file that make one. */
  readonly #makers: ReadonlySet<string>;

  constructor(source: Source, imports: Imports, path: string) {
    this.#source = source;
    this.#local = imports.local("McpServer");
    const { servers, makers } = serversFrom(source, path);
    for (const name of servers) this.#held.add(name);
    this.#makers = makers;
    // What is given from one holder to another may stand before what says that the first is one.
    let found: number;
    do {
      found = this.#held.size;
      walk(source.program, (node, parents) => this.#find(node, parents));
    } while (this.#held.size > found);
  }

  /** Whether an expression is a server. */
  is(node: AnyNode): boolean {
    const holder = holderOf(node);
    if (holder === undefined || !this.#held.has(holder)) return false;
    // The member `server` of a server is the low-level one, whatever else is called so.
    return node.type !== "MemberExpression" || !this.is(node.object);
  }

  /** Whether an expression is the call of a function that makes one. */
  isMade(node: AnyNode): boolean {
    return node.type === "CallExpression" && node.callee.type === "Identifier" && this.#makers.has(node.callee.name);
  }

  /** What holds one, is given one, has its type, or is registered at. */
  #find(node: AnyNode, parents: readonly AnyNode[]): void {
    const { type } = node;
    if (type === "VariableDeclarator" && this.#stands(node.init)) this.#take(node.id);
    if (type === "AssignmentExpression" && this.#stands(node.right)) this.#take(node.left);
    if ((type === "PropertyDefinition" || type === "Property") && parents.at(-1)?.type !== "ObjectPattern") {
      const typed = type === "PropertyDefinition" && this.#isTyped(node.key.end);
      if (typed || this.#stands(node.value)) this.#takeMember(node.key, node.computed);
    }
    if (type === "CallExpression") {
      const called = methodCall(node);
      if (called !== undefined && /^register(?:Tool|Resource|Prompt)$/.test(called.name)) this.#take(called.object);
    }
    if (isFunction(node))
      for (const param of node.params) {
        if (param.type === "Identifier" && this.#isTyped(param.end)) this.#held.add(param.name);
      }
  }

  #stands(node: AnyNode | null | undefined): boolean {
    if (node === null || node === undefined) return false;
    const makes =
      node.type === "NewExpression" && node.callee.type === "Identifier" && node.callee.name === this.#local;
    return makes || this.is(node);
  }

  #take(node: AnyNode): void {
    const holder = holderOf(node);
    if (holder !== undefined && !(node.type === "MemberExpression" && this.is(node.object))) this.#held.add(holder);
  }

  #takeMember(key: AnyNode, computed: boolean): void {
    const name = computed ? undefined : nameOf(key);
    if (name !== undefined) this.#held.add(`.${name}`);
  }

  /** Whether the type that begins at a place is that of the SDK's server. */
  #isTyped(at: number): boolean {
    if (this.#local === undefined) return false;
    const types = this.#source.text.slice(at, this.#source.typesFrom(at));
    return new RegExp(String.raw`^[?!]?\s*:\s*${asWord(this.#local)}`).test(types);
  }
}

function holderOf(node: AnyNode): Holder | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression" || node.computed) return undefined;
  const name = nameOf(node.property);
  return name === undefined ? undefined : `.${name}`;
}

function nameOf(key: AnyNode): string | undefined {
  if (key.type === "Identifier") return key.name;
  return key.type === "PrivateIdentifier" ? `#${key.name}` : undefined;
}
