// A well-behaved server of both eras in this program, whose answers a test can spoil one by one.
import type { Transport, MessageSink, Outgoing } from "@secure-local/mcp/client";

export type Body = Record<string, unknown>;
/** What a spoiled server sends instead: messages, or texts as they are. */
export type Spoil = (message: Body, healthy: readonly Body[]) => readonly (Body | string)[] | undefined;

const HINTS = { ttlMs: 0, cacheScope: "private", resultType: "complete" };
const SCHEMA = {
  type: "object",
  properties: { text: { type: "string", description: "What to say" } },
  required: ["text"],
};
export const TOOL: Body = {
  name: "echo",
  description: "Says what it is told",
  inputSchema: SCHEMA,
  annotations: { readOnlyHint: true },
};
export const CAPABILITIES: Body = {
  tools: {},
  resources: { subscribe: true },
  prompts: {},
  logging: {},
  completions: {},
};
const SERVER = { name: "scripted", version: "1.2.3" };
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABLE = "io.modelcontextprotocol/clientCapabilities";
const RESOURCE = { uri: "test://a", name: "a" };
const PROMPT = { name: "hello", description: "Says hello", arguments: [{ name: "who", required: true }] };

const METHODS: Record<string, (params: Body, stateless: boolean) => Body> = {
  ping: () => ok({}),
  initialize: ({ protocolVersion: asked }) =>
    ok({
      protocolVersion: ["2025-11-25", "2025-03-26", "2024-11-05"].includes(String(asked)) ? asked : "2025-11-25",
      capabilities: CAPABILITIES,
      serverInfo: SERVER,
    }),
  "server/discover": () =>
    ok({
      ...HINTS,
      supportedVersions: ["2026-07-28", "2025-11-25"],
      capabilities: CAPABILITIES,
      _meta: { "io.modelcontextprotocol/serverInfo": SERVER },
    }),
  "tools/list": ({ cursor }) => (cursor === undefined ? ok({ tools: [TOOL] }) : no(-32602, "Unknown cursor")),
  "resources/list": () => ok({ resources: [RESOURCE] }),
  "resources/templates/list": () => ok({ resourceTemplates: [] }),
  "prompts/list": () => ok({ prompts: [PROMPT] }),
  "resources/read": ({ uri }, stateless) =>
    uri === RESOURCE.uri ? ok({ contents: [{ uri, text: "A" }] }) : no(stateless ? -32602 : -32002, "Not found"),
  "resources/subscribe": () => ok({}),
  "resources/unsubscribe": () => ok({}),
  "prompts/get": () => no(-32602, "Invalid"),
  "tools/call": ({ name }) => (name === "echo" ? ok({ content: [], isError: true }) : no(-32602, "Unknown tool")),
  "logging/setLevel": ({ level }, stateless) =>
    stateless ? no(-32601, "Not here") : level === "loud" ? no(-32602, "No such level") : ok({}),
  "completion/complete": () => ok({ completion: { values: [] } }),
};

export function scriptedLink(spoil: Spoil = () => undefined): Transport {
  let sink: MessageSink | undefined;
  let open = false;
  const answer = (text: string): string[] => {
    const message = parsed(text);
    if (message === undefined) return [JSON.stringify({ jsonrpc: "2.0", id: null, ...no(-32700, "No JSON") })];
    if (Array.isArray(message)) {
      const all = (message as Body[]).flatMap(respond);
      return (spoil({ batch: message }, all) ?? [JSON.stringify(all)]).map(String);
    }
    if (message["method"] === "initialize") open = true;
    const early =
      !open && message["id"] !== undefined && !text.includes(VERSION) && message["method"] !== "server/discover";
    const healthy = early ? [{ jsonrpc: "2.0", id: message["id"], ...no(-32600, "Not yet") }] : respond(message);
    return (spoil(message, healthy) ?? healthy).map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
  };
  return {
    kind: "memory",
    describe: () => "a scripted server",
    start: (given) => ((sink = given), Promise.resolve()),
    send: ({ text }: Outgoing) => queueMicrotask(() => answer(text).forEach((each) => void sink?.receive(each))),
    forget: () => false,
    close: () => Promise.resolve(),
  };
}

function respond(message: Body): Body[] {
  const { id, method, params } = message;
  if (id === undefined || method === undefined) return [];
  const meta = (params as Body | undefined)?.["_meta"] as Body | undefined;
  return [{ jsonrpc: "2.0", id, ...outcome(message, meta) }];
}

function outcome({ method, params = {} }: Body, meta: Body | undefined): Body {
  const given = params as Body;
  const discovering = method === "server/discover";
  const stateless = meta?.[VERSION] !== undefined || discovering;
  if (stateless && (meta?.[VERSION] === undefined || meta[CAPABLE] === undefined)) return no(-32602, "No envelope");
  const asked = meta?.[VERSION];
  if (stateless && asked !== "2026-07-28") {
    return { error: { code: -32022, message: "Unsupported", data: { supported: ["2026-07-28"], requested: asked } } };
  }
  const handler = Object.hasOwn(METHODS, String(method)) ? METHODS[String(method)] : undefined;
  const answer = handler?.(given, stateless) ?? no(-32601, "Method not found");
  return stateless && "result" in answer ? { result: { ...HINTS, ...(answer["result"] as Body) } } : answer;
}

/** The one message of megabytes, which each exam sends: parsing it takes longer than all the others. */
let huge: { readonly text: string; readonly message: Body | undefined } | undefined;
const HUGE = 100_000;

function parsed(text: string): Body | undefined {
  if (text === huge?.text) return huge.message;
  let message: Body | undefined;
  try {
    message = JSON.parse(text) as Body;
  } catch {
    message = undefined;
  }
  if (text.length > HUGE) huge = { text, message };
  return message;
}

export function ok(result: Body): Body {
  return { result };
}

export function no(code: number, message: string): Body {
  return { error: { code, message } };
}
