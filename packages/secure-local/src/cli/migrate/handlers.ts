// What a handler of the SDK says inside, in the words of our library: what it returns and throws, and its second argument.
import type { AnyNode, AssignmentProperty, CallExpression, MemberExpression, ObjectExpression, Pattern } from "acorn";
import { type FunctionNode, keyOf, member, methodCall, type Source, walk } from "./source-tree.js";
import type { Imports } from "./imports.js";

/** What a handler serves, and where its second argument stands. */
export interface Handled {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  /** Parameters before the one that says what else a handler may do: none where a tool takes no arguments. */
  readonly before: number;
  /** The URI as it was written, for what reads one resource. */
  readonly uri?: string;
}

/** Rewrites a function in its place. */
export function rewriteHandler(source: Source, imports: Imports, fn: FunctionNode, handled: Handled): void {
  if (handled.kind === "tool") rewriteReturns(source, imports, fn);
  if (handled.kind === "resource" || handled.kind === "template") rewriteContents(source, fn);
  if (handled.kind === "tool" && handled.before === 0) addArguments(source, fn);
  dropReturnType(source, fn);
  rewriteErrors(source, imports, fn, handled);
  leaveUnnamed(source, fn);
  const extra = fn.params[handled.before];
  if (extra !== undefined) rewriteExtra(source, fn, extra);
}

/** Arguments that a handler takes without a name for each: which of them is used, and for what, is not to be seen. */
function leaveUnnamed(source: Source, fn: FunctionNode): void {
  const what = "the second argument is the Context of this library now: give it a name of its own";
  for (const param of fn.params) if (param.type === "RestElement") source.left(param.start, what);
  if (fn.type === "ArrowFunctionExpression") return;
  walk(fn.body, (node) => {
    if (node.type === "Identifier" && node.name === "arguments") source.left(node.start, what);
    return /Function(?:Expression|Declaration)$/.test(node.type) && node.type !== "ArrowFunctionExpression"
      ? false
      : undefined;
  });
}

/** The parts of a function's answer: what each `return` of its own gives, or the body where that is an expression. */
function answersOf(fn: FunctionNode): AnyNode[] {
  if (fn.body.type !== "BlockStatement") return [fn.body];
  const found: AnyNode[] = [];
  walk(fn.body, (node) => {
    if (/Function/.test(node.type)) return false;
    if (node.type === "ReturnStatement" && node.argument) found.push(node.argument);
    return undefined;
  });
  return found;
}

function rewriteReturns(source: Source, imports: Imports, fn: FunctionNode): void {
  let awaits = false;
  for (const answer of answersOf(fn)) {
    for (const part of branches(answer)) awaits = rewriteResult(source, imports, part) || awaits;
    source.dropTypes(answer.end);
  }
  if (awaits && !fn.async) source.insert(fn.start, "async ");
}

/** The values a conditional expression may have. */
function branches(node: AnyNode): AnyNode[] {
  return node.type === "ConditionalExpression" ? [...branches(node.consequent), ...branches(node.alternate)] : [node];
}

/** Whether what was written waits for something. */
function rewriteResult(source: Source, imports: Imports, node: AnyNode): boolean {
  if (node.type === "ObjectExpression") {
    const only = onlyText(node);
    if (only === undefined) wrap(source, node, imports.use("result"));
    else if (isText(only)) source.unwrap(node, only);
    else {
      source.replace(node.start, only.start, `${imports.use("text")}(`);
      source.replace(only.end, node.end, ")");
    }
    source.rewritten++;
    return false;
  }
  if (node.type === "Identifier" && node.name === "undefined") return false;
  const waits = node.type === "CallExpression";
  source.insert(node.start, `${imports.use("result")}(${waits ? "await " : ""}`);
  source.insert(node.end, ")");
  source.rewritten++;
  return waits;
}

function wrap(source: Source, node: AnyNode, name: string): void {
  source.insert(node.start, `${name}(`);
  source.insert(node.end, ")");
}

/** The text of `{ content: [{ type: "text", text }] }`, where a result says nothing else. */
function onlyText(result: ObjectExpression): AnyNode | undefined {
  const [content, ...others] = result.properties;
  if (others.length > 0 || content?.type !== "Property" || keyOf(content) !== "content") return undefined;
  if (content.value.type !== "ArrayExpression" || content.value.elements.length !== 1) return undefined;
  const [block] = content.value.elements;
  if (block?.type !== "ObjectExpression" || block.properties.length !== 2) return undefined;
  const type = member(block, "type")?.value;
  if (type?.type !== "Literal" || type.value !== "text") return undefined;
  return member(block, "text")?.value;
}

/** Functions that give a text, whatever they are given. */
const TEXT_GIVERS: ReadonlySet<string> = new Set(["join", "toString", "trim", "toUpperCase", "toLowerCase", "repeat"]);

/** Whether an expression is a text by its own words. */
function isText(node: AnyNode): boolean {
  if (node.type === "TemplateLiteral") return true;
  if (node.type === "Literal") return typeof node.value === "string";
  if (node.type === "BinaryExpression") {
    const sides = [node.left, node.right] as AnyNode[];
    return node.operator === "+" && sides.some(isText);
  }
  if (node.type !== "CallExpression") return false;
  if (node.callee.type === "Identifier") return node.callee.name === "String";
  return TEXT_GIVERS.has(methodCall(node)?.name ?? "");
}

/** `{ contents: [one] }` is what stands in it; anything else gives its member. */
function rewriteContents(source: Source, fn: FunctionNode): void {
  let awaits = false;
  for (const answer of answersOf(fn)) {
    for (const part of branches(answer)) awaits = unpack(source, part, "contents") || awaits;
    source.dropTypes(answer.end);
  }
  if (awaits && !fn.async) source.insert(fn.start, "async ");
}

/** Gives the one member of an object that the SDK wants it in. Whether what was written waits for something. */
function unpack(source: Source, node: AnyNode, name: string): boolean {
  if (node.type === "ObjectExpression") {
    const value = member(node, name)?.value;
    if (value === undefined || node.properties.length > 1) source.left(node.start, `return the ${name} alone`);
    else source.unwrap(node, value.type === "ArrayExpression" && name === "contents" ? oneOf(value) : value);
    return false;
  }
  if (node.type === "Identifier") source.insert(node.end, `.${name}`);
  else {
    source.insert(node.start, node.type === "AwaitExpression" ? "(" : "(await ");
    source.insert(node.end, `).${name}`);
  }
  return node.type !== "Identifier" && node.type !== "AwaitExpression";
}

function oneOf(list: Extract<AnyNode, { type: "ArrayExpression" }>): AnyNode {
  const [only] = list.elements;
  return list.elements.length === 1 && only && only.type !== "SpreadElement" ? only : list;
}

/** A tool without arguments got the SDK's second argument as its first. */
function addArguments(source: Source, fn: FunctionNode): void {
  const [first] = fn.params;
  if (first === undefined) return;
  const bare = fn.type === "ArrowFunctionExpression" && !source.bare.slice(fn.start, first.start).includes("(");
  source.insert(first.start, bare ? "(_, " : "_, ");
  if (bare) source.insert(first.end, ")");
}

const TELLS_ALL =
  "server.log tells every session of the server, which was one client before: take the Context as a parameter and write ctx.log";

/** The contexts that handlers are given to log by: one server is all sessions' here, and `server.log` would tell them all. */
export class Contexts {
  readonly #given = new Map<FunctionNode, string>();

  /** The name of the context in the handler around a place: a parameter that is there, or that is added; undefined outside of any. */
  around(source: Source, parents: readonly AnyNode[], handled: ReadonlyMap<FunctionNode, Handled>): string | undefined {
    const fn = parents.findLast((each): each is FunctionNode => handled.has(each as FunctionNode));
    if (fn === undefined) return undefined;
    const known = this.#given.get(fn) ?? added(source, fn, handled.get(fn) as Handled);
    if (known === undefined) source.left(parents.at(-1)?.start ?? fn.start, TELLS_ALL);
    else this.#given.set(fn, known);
    return known;
  }
}

function added(source: Source, fn: FunctionNode, { kind, before }: Handled): string | undefined {
  const [first, ...more] = fn.params;
  if ((kind !== "tool" && kind !== "prompt") || more.length > 0) return undefined;
  if (first !== undefined && before === 0)
    return kind === "tool" && first.type === "Identifier" ? first.name : undefined;
  if (first?.type === "RestElement") return undefined;
  const name = /\bctx\b/.test(source.text.slice(fn.start, fn.end)) ? "context" : "ctx";
  if (first === undefined) {
    source.insert(source.bare.indexOf(")", fn.start), `_args, ${name}`);
    return name;
  }
  const bare = fn.type === "ArrowFunctionExpression" && !source.bare.slice(fn.start, first.start).includes("(");
  if (bare) source.insert(first.start, "(");
  const types = source.text.slice(first.end, source.typesFrom(first.end)).trimEnd().length;
  source.insert(first.end + types, bare ? `, ${name})` : `, ${name}`);
  return name;
}

/** Types of parameters and results that name the SDK's; where the function stands in a definition ours follow by themselves. */
function dropReturnType(source: Source, fn: FunctionNode): void {
  const last = fn.params.at(-1);
  const from = source.bare.indexOf(")", last === undefined ? fn.start : last.end);
  if (from >= 0 && from < fn.body.start) source.dropTypes(from + 1);
}

function rewriteErrors(source: Source, imports: Imports, fn: FunctionNode, { kind }: Handled): void {
  walk(fn.body, (node) => {
    if (node.type !== "ThrowStatement" || node.argument.type !== "NewExpression") return;
    const { callee, arguments: given } = node.argument;
    if (callee.type !== "Identifier") return;
    const [code, message] = given;
    if (callee.name === "Error" && kind !== "prompt") {
      source.replace(callee.start, callee.end, imports.use("ToolError"));
    } else if (/^(?:McpError|ProtocolError)$/.test(callee.name) && code !== undefined && message !== undefined) {
      source.replace(callee.start, message.start, `${imports.use("ToolError")}(`);
      source.replace(message.end, node.argument.end, ")");
    } else return;
    source.rewritten++;
  });
}

/** What the SDKs' second argument is called here, by what it is called there. Null: it has no counterpart of that shape. */
const MEMBERS: Readonly<Record<string, string | null>> = {
  signal: "signal",
  requestId: "requestId",
  _meta: "meta",
  sessionId: "session?.id",
  id: "requestId",
};

/** Why a member has none. */
const GONE: Readonly<Record<string, string>> = {
  authInfo: "who is asking is ctx.identity: { principal, scopes, claims, expiresAt }",
  http: "who is asking is ctx.identity, and a header is ctx.header(name)",
  requestInfo: "a header is ctx.header(name)",
  inputResponses: "await ctx.elicit(...) does it all, or return inputRequired(...) and read ctx.inputResponses",
  requestState: "the state is ctx.state",
  sendRequest: "ask by ctx.elicit(...), ctx.sample(...) or ctx.roots()",
  send: "ask by ctx.elicit(...), ctx.sample(...) or ctx.roots()",
  sendNotification: "tell by ctx.progress(...), ctx.log(...) or ctx.notify(method, params)",
  notify: "tell by ctx.progress(...), ctx.log(...) or ctx.notify(method, params)",
  sessionId: "the id of a session is ctx.session?.id",
  closeSSEStream: "hang up by ctx.hangUp(retryMs)",
  taskStore: 'say task: "optional" at the tool, and write it as if it were none',
  taskId: 'say task: "optional" at the tool, and write it as if it were none',
};

function rewriteExtra(source: Source, fn: FunctionNode, given: Pattern): void {
  // A default: the value before it is what is rewritten.
  const param = given.type === "AssignmentPattern" ? given.left : given;
  if (param.type !== "Identifier") {
    if (param.type === "ObjectPattern") renamePattern(source, param);
    return source.dropTypes(param.end);
  }
  source.dropTypes(param.end);
  walk(fn.body, (node, parents) => {
    if (node.type !== "Identifier" || node.name !== param.name) return;
    const parent = parents.at(-1);
    if (parent?.type === "Property" && parent.key === node && parent.value !== node) return;
    if (parent?.type !== "MemberExpression") {
      return source.left(node.start, `${param.name} is passed on: what takes it gets the Context of this library now`);
    }
    if (parent.object !== node) return;
    rewriteMember(source, parents, param.name);
  });
}

function renamePattern(source: Source, pattern: Extract<Pattern, { type: "ObjectPattern" }>): void {
  for (const property of pattern.properties) {
    if (property.type !== "Property") {
      source.left(property.start, "the Context of this library is no plain object: take its members by name");
      continue;
    }
    const name = keyOf(property) ?? "";
    if (name === "mcpReq" && property.value.type === "ObjectPattern") {
      flatten(source, property, property.value);
      continue;
    }
    const ours = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
    if (typeof ours !== "string" || /\W/.test(ours)) {
      source.left(property.start, GONE[name] ?? `"${name}" is not a member of this library's Context`);
    } else if (ours !== name) {
      // The body goes on with the name it has.
      source.replace(property.key.start, property.key.end, property.shorthand ? `${ours}: ${name}` : ours);
      source.rewritten++;
    }
  }
}

/** `{ mcpReq: { signal } }` of v2 is `{ signal }` here. */
function flatten(source: Source, outer: AssignmentProperty, inner: Extract<Pattern, { type: "ObjectPattern" }>): void {
  const [first, last] = [inner.properties[0], inner.properties.at(-1)];
  if (first === undefined || last === undefined) {
    return source.left(outer.start, "nothing is taken from mcpReq: leave it out");
  }
  source.replace(outer.start, first.start, "");
  source.replace(last.end, outer.end, "");
  renamePattern(source, inner);
}

/** `ctx.mcpReq.name` of v2 and `extra.name` of v1: the outermost member, and what is called with it. */
function rewriteMember(source: Source, parents: readonly AnyNode[], extra: string): void {
  let at = parents.length - 1;
  let found = parents[at] as MemberExpression;
  if (nameOf(found) === "mcpReq" && parents[at - 1]?.type === "MemberExpression") {
    found = parents[--at] as MemberExpression;
    source.replace(found.object.start, found.object.end, extra);
  }
  const name = nameOf(found);
  const call = parents[at - 1];
  if (call?.type === "CallExpression" && call.callee === found) {
    if (rewriteAsking(source, call, { name, extra })) return;
    if (name === "log") return;
  }
  if (name === "requestInfo" && rewriteHeader(source, parents.slice(0, at + 1), extra)) return;
  const ours = MEMBERS[name];
  if (typeof ours !== "string") {
    return source.left(found.start, GONE[name] ?? `"${name}" is not a member of this library's Context`);
  }
  if (ours !== name) source.replace(found.property.start, found.property.end, ours);
}

function nameOf({ property, computed }: MemberExpression): string {
  return !computed && property.type === "Identifier" ? property.name : "";
}

/** `extra.requestInfo?.headers["x-name"]`. */
function rewriteHeader(source: Source, parents: readonly AnyNode[], extra: string): boolean {
  const [read, headers] = [parents.at(-3), parents.at(-2)];
  if (read?.type !== "MemberExpression" || headers?.type !== "MemberExpression" || nameOf(headers) !== "headers")
    return false;
  const name = read.computed ? source.of(read.property) : JSON.stringify(nameOf(read));
  source.replace(read.start, read.end, `${extra}.header(${name})`);
  source.rewritten++;
  return true;
}

interface Asking {
  readonly name: string;
  /** The name of the second argument where it stands. */
  readonly extra: string;
}

/** A call that sends something to the client. */
export function rewriteAsking(source: Source, call: CallExpression, asking: Asking): boolean {
  const [first] = call.arguments;
  if (first === undefined || first.type === "SpreadElement") return false;
  const { name } = asking;
  if (name === "requestSampling" || name === "createMessage")
    return write(source, call, asking, ["sample(", first, ")"]);
  if (name === "elicitInput") return elicit(source, call, asking, first);
  if (!/^(?:sendNotification|notify|notification|sendRequest|send|request)$/.test(name)) return false;
  const method = first.type === "ObjectExpression" ? member(first, "method")?.value : undefined;
  const params = first.type === "ObjectExpression" ? member(first, "params")?.value : undefined;
  if (method?.type !== "Literal") return false;
  const asks = MESSAGES[String(method.value)];
  if (asks !== undefined)
    return params?.type === "ObjectExpression" && told(source, call, asking, { params, names: asks });
  switch (method.value) {
    case "sampling/createMessage":
      return params !== undefined && write(source, call, asking, ["sample(", params, ")"]);
    case "elicitation/create":
      return params !== undefined && elicit(source, call, asking, params);
    case "roots/list":
      return write(source, call, asking, ["roots().then((roots) => ({ roots }))"]);
    default:
      if (!/^(?:sendNotification|notify|notification)$/.test(name)) return false;
      return write(source, call, asking, ["notify(", method, ...(params === undefined ? [] : [", ", params]), ")"]);
  }
}

/** Notifications of the specification that handlers send, what they are called here, and which of their members are arguments. */
const MESSAGES: Readonly<Record<string, readonly string[]>> = {
  "notifications/progress": ["progress", "progress", "total", "message"],
  "notifications/message": ["log", "level", "data", "logger"],
};

/** Writes a call anew of texts and of parts of it. Parts stay where they are, with what is rewritten inside, where their order stays. */
function write(source: Source, call: CallExpression, { extra }: Asking, parts: readonly (string | AnyNode)[]): true {
  source.rewritten++;
  const nodes = parts.filter((part) => typeof part !== "string");
  const ordered = nodes.every((node, at) => at === 0 || (nodes[at - 1] as AnyNode).end <= node.start);
  if (!ordered) {
    const written = parts.map((part) => (typeof part === "string" ? part : source.of(part)));
    source.replace(call.start, call.end, `${extra}.${written.join("")}`);
    return true;
  }
  let [from, text] = [call.start, `${extra}.`];
  for (const part of parts) {
    if (typeof part === "string") {
      text += part;
      continue;
    }
    source.replace(from, part.start, text);
    [from, text] = [part.end, ""];
  }
  source.replace(from, call.end, text);
  return true;
}

/** A notification whose members are arguments here: the name of ours, then those of the members. */
function told(
  source: Source,
  call: CallExpression,
  asking: Asking,
  { params, names: [ours, ...names] }: { readonly params: ObjectExpression; readonly names: readonly string[] },
): boolean {
  if (params.properties.some(({ type }) => type === "SpreadElement")) return false;
  const values = names.map((name) => member(params, name)?.value);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  const given = values.flatMap((value, at) => [...(at === 0 ? [] : [", "]), value ?? "undefined"]);
  return write(source, call, asking, [`${ours}(`, ...given, ")"]);
}

/** A form, whose schema may stay as it is, or a page. */
function elicit(source: Source, call: CallExpression, asking: Asking, params: AnyNode): boolean {
  if (params.type !== "ObjectExpression") return false;
  const url = member(params, "url")?.value;
  const message = member(params, "message")?.value;
  const schema = member(params, "requestedSchema")?.value;
  const shown = url ?? schema;
  if (message === undefined || shown === undefined) return false;
  const second = url === undefined ? "schema" : "url";
  return write(source, call, asking, ["elicit({ message: ", message, `, ${second}: `, shown, " })"]);
}
