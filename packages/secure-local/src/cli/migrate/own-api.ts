// Rewrites a source that registers tools, resources and prompts with the official SDK, v1 or v2, to our own API.
import type { AnyNode, CallExpression, NewExpression, ObjectExpression } from "acorn";
import { Contexts, type Handled, rewriteAsking, rewriteHandler } from "./handlers.js";
import { asWord, Imports, withImports, LISTS, NAMES_SERVERS, OTHERWISE, ownMethod, Servers } from "./imports.js";
import {
  chainedOn,
  extraAround,
  type FunctionNode,
  isAnnotations,
  isFunction,
  isJsonSchema,
  isWord,
  keyOf,
  type Leftover,
  lineBefore,
  listing,
  member,
  members,
  methodCall,
  Source,
  walk,
} from "./source-tree.js";

/** A source as it is to be written, and what is left in it for a person. */
export interface OwnApi {
  readonly text: string;
  readonly rewritten: number;
  readonly leftovers: readonly Leftover[];
}

/** Rewrites one source; `path` says by its ending whether it has types. One that names nothing of the SDK stays as it is. */
export function toOwnApi(text: string, path: string): OwnApi {
  if (!NAMES_SERVERS.test(text)) return { text, rewritten: 0, leftovers: [] };
  let source: Source;
  try {
    source = new Source(text, path);
  } catch (error) {
    const why = (error as Error).message.split("\n")[0]?.replace(`${path}:`, "") ?? "";
    const what = `this source cannot be read, and stays as it is: ${why}`;
    return { text, rewritten: 0, leftovers: [{ line: 1, what }] };
  }
  const file = new ServerFile(source, path);
  file.rewrite();
  const written = source.written();
  return { text: written, rewritten: source.rewritten, leftovers: withImports(written, source.leftovers()) };
}

const REGISTERS = /^(?:tool|prompt|resource|register(?:Tool|Prompt|Resource))$/;
const AT_THE_SERVER =
  "it is passed on: call server.tool, server.prompt or server.resource where something is registered";

class ServerFile {
  readonly #source: Source;
  readonly #imports: Imports;
  readonly #servers: Servers;
  readonly #handled = new Map<FunctionNode, Handled>();
  readonly #contexts = new Contexts();

  constructor(source: Source, path: string) {
    this.#source = source;
    this.#imports = new Imports(source);
    this.#servers = new Servers(source, this.#imports, path);
  }

  rewrite(): void {
    const { program } = this.#source;
    walk(program, (node) => {
      if (node.type === "CallExpression") this.#registration(node);
    });
    walk(program, (node, parents) => {
      if (node.type === "CallExpression") this.#call(node, parents);
      if (node.type === "NewExpression") this.#construction(node);
      if (node.type === "MemberExpression") this.#member(node, parents);
      if (node.type === "VariableDeclarator" && node.init && this.#servers.is(node.init)) this.#takenApart(node.id);
    });
    this.#types();
    this.#unheardErrors();
    this.#imports.write();
  }

  #registration(call: CallExpression): void {
    const called = methodCall(call);
    if (called === undefined || call.arguments.some(({ type }) => type === "SpreadElement")) return;
    const given = call.arguments as AnyNode[];
    switch (called.name) {
      case "registerTool":
        return this.#registerTool(call, given);
      case "registerPrompt":
        return this.#registerPrompt(call, given);
      case "registerResource":
        return this.#registerResource(call, given);
      case "tool":
      case "prompt":
      case "resource":
        if (!this.#servers.is(called.object)) return this.#perhaps(call, given, called.name);
        return called.name === "tool" ? this.#tool(call, given) : this.#older(call, given, called.name);
    }
  }

  /** What registers in the words of v1 at something of which the file does not say that it is a server. */
  #perhaps(call: CallExpression, given: readonly AnyNode[], method: string): void {
    const [name, last] = [given[0], given.at(-1)];
    if (given.length < 2 || last === undefined || name?.type !== "Literal" || typeof name.value !== "string") return;
    const value = last.type === "Identifier" ? this.#source.binding(last.name)?.value : last;
    if (!isFunction(value)) return;
    const ours = method === "resource" ? "resource(uri, { name, read })" : `${method}(name, { description, run })`;
    this.#source.left(call.start, `${method}: if this is a server of the SDK, write ${ours}`);
  }

  /** `const { registerTool } = server`. */
  #takenApart(pattern: AnyNode): void {
    if (pattern.type !== "ObjectPattern") return;
    for (const property of pattern.properties) {
      const name = property.type === "Property" ? keyOf(property) : undefined;
      if (name !== undefined && REGISTERS.test(name)) this.#source.left(property.start, `${name}: ${AT_THE_SERVER}`);
    }
  }

  #rename(call: CallExpression, name: string): void {
    const { callee } = call;
    if (callee.type === "MemberExpression") this.#source.replace(callee.property.start, callee.property.end, name);
    this.#source.rewritten++;
  }

  /** `registerTool(name, config, handler)`. */
  #registerTool(call: CallExpression, [, config, handler]: AnyNode[]): void {
    if (config === undefined || handler === undefined) return;
    const described = this.#described(config, { inputSchema: "input", outputSchema: "output" });
    if (described === undefined) return;
    this.#rename(call, "tool");
    const input = member(described, "inputSchema");
    for (const property of [input, member(described, "outputSchema")]) if (property) this.#schema(property.value);
    this.#join(config, handler, "run", { kind: "tool", before: input === undefined ? 0 : 1 });
  }

  /** `tool(name, description?, shape or annotations?, annotations?, handler)` of v1. */
  #tool(call: CallExpression, given: AnyNode[]): void {
    const handler = given.at(-1);
    const [name, ...rest] = given.slice(0, -1);
    if (name === undefined || handler === undefined) return;
    const members: string[] = [];
    let input: AnyNode | undefined;
    for (const each of rest) {
      const isWords =
        each.type !== "ObjectExpression" && members.length === 0 && each === rest[0] && isWord(each, this.#source);
      if (isWords) members.push(`description: ${this.#source.of(each)}`);
      else if (input === undefined && !isAnnotations(each)) {
        input = each;
        members.push(`input: ${this.#shape(each)}`);
      } else members.push(`annotations: ${this.#source.of(each)}`);
    }
    this.#rename(call, "tool");
    const opening = members.map((each) => `${each}, `).join("");
    this.#source.replace(name.end, handler.start, `, { ${opening}run: `);
    this.#handler(handler, { kind: "tool", before: input === undefined ? 0 : 1 });
    this.#source.insert(handler.end, " }");
  }

  /** `prompt` and `resource` of v1, whose parts stand in several orders. */
  #older(call: CallExpression, given: AnyNode[], kind: "prompt" | "resource"): void {
    const handler = given.at(-1);
    const [name, second, third] = given.slice(0, -1);
    if (name === undefined || handler === undefined) return;
    if (kind === "resource") return this.#resource(call, { name, uri: second, config: third, handler });
    const words = second !== undefined && isWord(second, this.#source) ? second : undefined;
    const shape = words === undefined ? second : third;
    const args = shape === undefined ? "" : this.#promptArguments(shape);
    if (args === undefined) return;
    this.#rename(call, "prompt");
    const described = words === undefined ? "" : `description: ${this.#source.of(words)}, `;
    this.#source.replace(name.end, handler.start, `, { ${described}${args === "" ? "" : `arguments: ${args}, `}run: `);
    this.#handler(handler, { kind: "prompt", before: shape === undefined ? 0 : 1 });
    this.#source.insert(handler.end, " }");
  }

  #registerPrompt(call: CallExpression, [, config, handler]: AnyNode[]): void {
    if (config === undefined || handler === undefined) return;
    const described = this.#literal(config);
    const shape = described === undefined ? undefined : member(described, "argsSchema");
    const args = shape === undefined ? "" : this.#promptArguments(shape.value);
    if (described === undefined || args === undefined) {
      if (described === undefined) this.#notHere(config);
      return;
    }
    this.#rename(call, "prompt");
    if (shape !== undefined) {
      const held = shape.value.type === "Identifier" ? this.#source.binding(shape.value.name) : undefined;
      if (held?.statement && this.#source.usesOf(held.name) === 1) this.#source.remove(held.statement);
      this.#source.replace(shape.start, shape.end, `arguments: ${args}`);
    }
    this.#join(config, handler, "run", { kind: "prompt", before: shape === undefined ? 0 : 1 });
  }

  #registerResource(call: CallExpression, [name, uri, config, handler]: AnyNode[]): void {
    if (name !== undefined && handler !== undefined) this.#resource(call, { name, uri, config, handler });
  }

  #resource(
    call: CallExpression,
    parts: {
      readonly name: AnyNode;
      readonly uri: AnyNode | undefined;
      readonly config: AnyNode | undefined;
      readonly handler: AnyNode;
    },
  ): void {
    const { name, uri, config, handler } = parts;
    const source = this.#source;
    if (uri === undefined) return;
    const template = this.#template(uri);
    const named = source.of(name);
    const inside = template === undefined ? "" : this.#templateParts(template);
    this.#rename(call, template === undefined ? "resource" : "resourceTemplate");
    const pattern = template?.arguments[0];
    const key = source.of(pattern ?? uri);
    const configText = config === undefined ? "" : this.#spread(config);
    source.replace(name.start, handler.start, `${key}, { name: ${named}, ${configText}${inside}read: `);
    const handled: Handled =
      template === undefined ? { kind: "resource", before: 1, uri: key } : { kind: "template", before: 2 };
    this.#handler(handler, handled);
    source.insert(handler.end, " }");
  }

  /** What stands in an object, for another; or all of what a name stands for. */
  #spread(config: AnyNode): string {
    if (config.type !== "ObjectExpression") return `...${this.#source.of(config)}, `;
    const inside = this.#source.text
      .slice(config.start + 1, config.end - 1)
      .trim()
      .replace(/,$/, "");
    return inside === "" ? "" : `${inside}, `;
  }

  #template(uri: AnyNode): NewExpression | undefined {
    const node = uri.type === "Identifier" ? this.#source.binding(uri.name)?.value : uri;
    const local = this.#imports.local("ResourceTemplate");
    if (node?.type !== "NewExpression" || node.callee.type !== "Identifier" || node.callee.name !== local)
      return undefined;
    if (uri.type === "Identifier") {
      const held = this.#source.binding(uri.name);
      if (held?.statement && this.#source.usesOf(uri.name) === 1) this.#source.remove(held.statement);
    }
    return node;
  }

  /** What a template says besides its pattern: completers as they are, and who lists what is in it. */
  #templateParts({ arguments: [, options] }: NewExpression): string {
    if (options?.type !== "ObjectExpression") return "";
    const source = this.#source;
    const complete = member(options, "complete");
    const list = member(options, "list")?.value;
    const lists = list !== undefined && !(list.type === "Identifier" && list.name === "undefined");
    return `${complete === undefined ? "" : `${source.of(complete)}, `}${lists ? `${listing(source, list)}, ` : ""}`;
  }

  /** The object a configuration is, here or where its name is declared, with its members renamed. */
  #described(config: AnyNode, renamed: Readonly<Record<string, string>>): ObjectExpression | undefined {
    const described = this.#literal(config);
    if (described === undefined) {
      this.#notHere(config);
      return undefined;
    }
    for (const property of members(described)) {
      const name = renamed[keyOf(property) ?? ""];
      if (name === undefined) continue;
      if (property.shorthand) this.#source.insert(property.start, `${name}: `);
      else this.#source.replace(property.key.start, property.key.end, name);
    }
    return described;
  }

  #literal(node: AnyNode): ObjectExpression | undefined {
    if (node.type === "ObjectExpression") return node;
    const held = node.type === "Identifier" ? this.#source.binding(node.name)?.value : undefined;
    return held?.type === "ObjectExpression" ? held : undefined;
  }

  #notHere(node: AnyNode): void {
    const what =
      "what is registered is described elsewhere: write it here as tool(name, { input, output, run }) or its like";
    this.#source.left(node.start, what);
  }

  /** Puts the handler into the configuration before it, under a name. */
  #join(config: AnyNode, handler: AnyNode, name: string, handled: Handled): void {
    const source = this.#source;
    if (config.type === "ObjectExpression") {
      const last = config.properties.at(-1)?.end ?? config.start + 1;
      const comma = config.properties.length === 0 || /^\s*,/.test(source.bare.slice(last, config.end));
      if (!comma) source.insert(last, ",");
      const blank = /\s*$/.exec(source.text.slice(0, config.end - 1))?.[0].length ?? 0;
      source.replace(config.end - 1 - blank, handler.start, ` ${name}: `);
    } else {
      source.insert(config.start, "{ ...");
      source.replace(config.end, handler.start, `, ${name}: `);
    }
    this.#handler(handler, handled);
    source.insert(handler.end, " }");
  }

  /** The function itself, here or where it is declared for this alone; any other is called, and its result marked. */
  #handler(handler: AnyNode, handled: Handled): void {
    const held = handler.type === "Identifier" ? this.#source.binding(handler.name) : undefined;
    const fn = held === undefined || this.#source.usesOf(held.name) > 1 ? handler : held.value;
    if (isFunction(fn) && !this.#handled.has(fn)) {
      this.#handled.set(fn, handled);
      if (handled.kind === "resource" || handled.kind === "template") this.#uriParameter(fn, handled);
      return rewriteHandler(this.#source, this.#imports, fn, handled);
    }
    if (handled.kind === "prompt") return;
    const name = this.#source.of(handler);
    const [before, after] = this.#passed(name, handled);
    this.#source.replace(handler.start, handler.end, `async ${before} => ${after}`);
  }

  #passed(name: string, { kind, before, uri = "" }: Handled): readonly [string, string] {
    const used = kind === "tool" ? this.#imports.use("result") : "";
    if (kind === "tool")
      return before === 0 ? ["()", `${used}(await ${name}())`] : ["(args)", `${used}(await ${name}(args))`];
    if (kind === "resource") return ["()", `(await ${name}(new URL(${uri}))).contents`];
    return ["(uri, variables)", `(await ${name}(new URL(uri), variables)).contents`];
  }

  /** A URI is a text here, and what reads one resource need not be told it. */
  #uriParameter(fn: FunctionNode, { uri: key }: Handled): void {
    const source = this.#source;
    const [param, next] = fn.params;
    if (param?.type !== "Identifier") return;
    const written = key ?? param.name;
    walk(fn.body, (node, parents) => {
      if (node.type !== "Identifier" || node.name !== param.name) return;
      const parent = parents.at(-1);
      if (parent?.type === "MemberExpression" && parent.property === node && !parent.computed) return;
      if (parent?.type === "Property" && parent.key === node && !parent.shorthand) return;
      const text = parents.at(-2);
      const asText =
        parent?.type === "MemberExpression" && parent.property.type === "Identifier" ? parent.property.name : "";
      if (parent?.type === "MemberExpression" && asText === "href")
        return source.replace(parent.start, parent.end, written);
      if (asText === "toString" && text?.type === "CallExpression")
        return source.replace(text.start, text.end, written);
      source.replace(node.start, node.end, `${parent?.type === "Property" ? `${node.name}: ` : ""}new URL(${written})`);
    });
    source.dropTypes(param.end);
    if (key === undefined) return;
    const closing = source.bare.slice(param.end, fn.body.start);
    const parens = source.bare.slice(fn.start, param.start).includes("(");
    if (next === undefined)
      source.replace(
        param.start,
        param.end + (parens ? (/^\s*,/.exec(closing)?.[0].length ?? 0) : 0),
        parens ? "" : "()",
      );
    else source.replace(param.start, next.start, "");
  }

  /** A schema as our library takes it: one schema, not a list of them by name. */
  #schema(node: AnyNode): void {
    const source = this.#source;
    if (node.type === "MemberExpression" && node.property.type === "Identifier" && node.property.name === "shape") {
      return source.replace(node.object.end, node.end, "");
    }
    if (!this.#isShape(node)) return;
    source.insert(node.start, `${this.#imports.use("z")}.object(`);
    source.insert(node.end, ")");
  }

  #shape(node: AnyNode): string {
    const text = this.#source.of(node);
    if (text.endsWith(".shape")) return text.slice(0, -".shape".length);
    return this.#isShape(node) ? `${this.#imports.use("z")}.object(${text})` : text;
  }

  #isShape(node: AnyNode): boolean {
    if (node.type === "ObjectExpression") return !isJsonSchema(node);
    if (node.type !== "Identifier") return false;
    const held = this.#source.binding(node.name)?.value;
    if (held === undefined) {
      this.#source.left(node.start, `${node.name}: if it is a list of schemas by name, write z.object(${node.name})`);
    }
    return held?.type === "ObjectExpression" && !isJsonSchema(held);
  }

  /** Arguments of a prompt, which are texts here as on the wire; undefined where they say more. */
  #promptArguments(node: AnyNode): string | undefined {
    const shape = this.#literal(node);
    if (shape === undefined) {
      this.#notHere(node);
      return undefined;
    }
    const written: string[] = [];
    for (const property of members(shape)) {
      const argument = this.#promptArgument(property.value);
      if (argument === undefined) {
        const what =
          "a prompt's argument is a text: write { description, required, complete } for it, and check it in run";
        this.#source.left(property.start, what);
        return undefined;
      }
      written.push(`${this.#source.of(property.key)}: { ${argument} }`);
    }
    return `{ ${written.join(", ")} }`;
  }

  #promptArgument(node: AnyNode): string | undefined {
    let [required, description] = [true, ""];
    let at = node;
    while (at.type === "CallExpression") {
      const called = methodCall(at);
      const [first, second] = at.arguments;
      if (at.callee.type === "Identifier" && at.callee.name === this.#imports.local("completable") && first && second) {
        const inner = this.#promptArgument(first);
        return inner === undefined ? undefined : `${inner}, complete: ${this.#source.of(second)}`;
      }
      if (called === undefined) return undefined;
      if (called.name === "optional") required = false;
      else if (called.name === "describe" && first) description = `description: ${this.#source.of(first)}, `;
      else
        return called.name === "string" && at.arguments.length === 0
          ? `${description}required: ${required}`
          : undefined;
      at = called.object;
    }
    return undefined;
  }

  /** Calls of a server that register nothing. */
  #call(call: CallExpression, parents: readonly AnyNode[]): void {
    const called = methodCall(call);
    if (called === undefined) return;
    const { object, name } = called;
    if (name === "connect") this.#connect(call, object);
    const inner = object.type === "MemberExpression" && this.#servers.is(object.object) ? object : undefined;
    if (!this.#servers.is(object) && inner === undefined) return;
    const source = this.#source;
    const list = LISTS[name];
    const server = source.of(inner === undefined ? object : inner.object);
    if (list !== undefined) return this.#told(call, parents, `${server}.listChanged("${list}")`);
    const [first] = call.arguments;
    if (name === "sendResourceUpdated" && first?.type === "ObjectExpression") {
      const uri = member(first, "uri")?.value;
      if (uri !== undefined) this.#told(call, parents, `${server}.resourceUpdated(${source.of(uri)})`);
      return;
    }
    const extra = extraAround(parents, this.#handled);
    if (extra !== undefined && rewriteAsking(source, call, { name, extra })) return;
    if (name === "sendLoggingMessage" && first?.type === "ObjectExpression") {
      this.#log(call, first, extra ?? this.#contexts.around(source, parents, this.#handled) ?? server);
    }
  }

  /** What tells of a change gives back no promise: nothing of it can fail. */
  #told(call: CallExpression, parents: readonly AnyNode[], written: string): void {
    const [waits, outer = call] = chainedOn(call, parents);
    if (waits === "then" || waits === "finally") {
      const what = `${written} gives back no promise: write what stands in ${waits}(...) behind it`;
      this.#source.left(call.start, what);
      return;
    }
    this.#source.replace(call.start, outer.end, written);
  }

  #log(call: CallExpression, params: ObjectExpression, by: string): void {
    const [level, data, logger] = ["level", "data", "logger"].map((name) => member(params, name)?.value);
    if (level === undefined || data === undefined) return;
    const given = [level, data, ...(logger === undefined ? [] : [logger])].map((each) => this.#source.of(each));
    this.#source.replace(call.start, call.end, `${by}.log(${given.join(", ")})`);
    this.#source.rewritten++;
  }

  /** `server.connect(new StdioServerTransport())`, also where the transport has a name. */
  #connect(call: CallExpression, server: AnyNode): void {
    const source = this.#source;
    const [given] = call.arguments;
    if (given === undefined || given.type === "SpreadElement") return;
    const held = given.type === "Identifier" ? source.binding(given.name) : undefined;
    const made = held?.value ?? given;
    const stdio = this.#imports.local("StdioServerTransport");
    if (made.type !== "NewExpression" || made.callee.type !== "Identifier" || made.callee.name !== stdio) {
      if (!this.#servers.is(server) && !this.#servers.isMade(server)) return;
      return source.left(
        call.start,
        "serveHttp(server) or toNodeHandler(server) serves HTTP, connect(server) is for tests",
      );
    }
    if (held?.statement && source.usesOf(held.name) === 1) source.remove(held.statement);
    source.replace(call.start, call.end, `${this.#imports.use("serveStdio")}(${source.of(server)})`);
    source.rewritten++;
  }

  /** `new McpServer(info, options)`. */
  #construction(made: NewExpression): void {
    const local = this.#imports.local("McpServer");
    if (made.callee.type !== "Identifier" || made.callee.name !== local) return;
    const source = this.#source;
    const [info, options] = made.arguments;
    if (info === undefined) return;
    source.replace(made.callee.start, made.callee.end, this.#imports.use("Server"));
    source.rewritten++;
    const parts = options === undefined ? [] : this.#options(options);
    if (info.type !== "ObjectExpression") {
      source.insert(info.start, "{ ...");
      source.replace(info.end, (options ?? info).end, `${parts.map((part) => `, ${part}`).join("")} }`);
      return;
    }
    if (options === undefined) return;
    const last = info.properties.at(-1);
    if (last !== undefined && parts.length > 0) {
      source.replace(last.end, options.end, `, ${parts.join(", ")} }`);
    } else source.replace(info.end, options.end, "");
  }

  /** What options say that does not follow from what is registered. */
  #options(options: AnyNode): string[] {
    const described = this.#literal(options);
    if (described === undefined) {
      this.#source.left(
        options.start,
        "options of the server: instructions and capabilities are members of new Server({ ... })",
      );
      return [];
    }
    const parts: string[] = [];
    for (const property of members(described)) {
      const name = keyOf(property) ?? "";
      if (name === "instructions") parts.push(this.#source.of(property));
      else if (name === "capabilities") parts.push(...this.#capabilities(property.value));
      else if (!/^(?:enforceStrictCapabilities|debouncedNotificationMethods)$/.test(name)) {
        this.#source.left(property.start, `the option "${name}" has no counterpart`);
      }
    }
    return parts;
  }

  #capabilities(node: AnyNode): string[] {
    const described = this.#literal(node);
    const special =
      described === undefined
        ? []
        : members(described).filter((each) => /^(?:experimental|extensions)$/.test(keyOf(each) ?? ""));
    return special.length === 0 ? [] : [`capabilities: { ${special.map((each) => this.#source.of(each)).join(", ")} }`];
  }

  /** Members of a server that are said otherwise here. */
  #member(node: Extract<AnyNode, { type: "MemberExpression" }>, parents: readonly AnyNode[]): void {
    if (node.property.type !== "Identifier" || this.#source.edited(node.start, node.end)) return;
    const { object } = node;
    const inner =
      object.type === "MemberExpression" &&
      object.property.type === "Identifier" &&
      object.property.name === "server" &&
      this.#servers.is(object.object);
    if (!this.#servers.is(object) && !inner) return;
    const { name } = node.property;
    const callee = parents.at(-1);
    if (REGISTERS.test(name) && !(callee?.type === "CallExpression" && callee.callee === node))
      return this.#source.left(node.start, `${name}: ${AT_THE_SERVER}`);
    if (name === "server" && parents.at(-1)?.type === "MemberExpression") return;
    const unknown = inner ? "there is no low-level server here" : undefined;
    const called = parents.at(-1);
    const own =
      name === "setRequestHandler" && called?.type === "CallExpression" ? ownMethod(this.#source, called) : undefined;
    const otherwise =
      own ??
      (name === "server" ? "the low-level server is passed on: there is none here" : (OTHERWISE[name] ?? unknown));
    if (otherwise !== undefined) this.#source.left(node.start, `${name}: ${otherwise}`);
  }

  /** `McpServer` as a type, and in the comments that say types. */
  #types(): void {
    const local = this.#imports.local("McpServer");
    if (local === undefined) return;
    const source = this.#source;
    const quoted: AnyNode[] = [];
    walk(source.program, (node) => {
      if (/^(?:Literal|TemplateElement|ImportDeclaration)$/.test(node.type)) quoted.push(node);
    });
    for (const { index, 0: word } of source.text.matchAll(new RegExp(asWord(local), "g"))) {
      const end = index + word.length;
      if (quoted.some((each) => each.start <= index && end <= each.end) || source.edited(index, end)) continue;
      if (/^import\b[^;]*$/.test(lineBefore(source.text, index))) continue;
      source.replace(index, end, this.#imports.use("Server"));
    }
  }

  /** In the SDK the model reads any error's message; here only those that are made for it. */
  #unheardErrors(): void {
    if (this.#handled.size === 0) return;
    walk(this.#source.program, (node) => {
      if (isFunction(node) && this.#handled.has(node)) return false;
      if (node.type !== "ThrowStatement" || node.argument.type !== "NewExpression") return undefined;
      const { callee } = node.argument;
      if (callee.type !== "Identifier" || callee.name !== "Error") return undefined;
      this.#source.left(node.start, "models do not read this error any more: throw a ToolError where they should");
      return undefined;
    });
  }
}
