// Random tools, resources, prompts and results in the richest shape, for property tests.
import fc from "fast-check";

const text = fc.string({ maxLength: 12 });
const word = fc.stringMatching(/^[a-z]{1,8}$/);
const uri = word.map((name) => `test://${name}/x`);
const base64 = fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const mimeType = fc.constantFrom("text/plain", "image/png", "audio/wav");
const meta = fc.dictionary(fc.constantFrom("com.example/a", "b", "org.example/c"), fc.jsonValue(), { maxKeys: 2 });

/** A record whose members may be missing, except `required` ones. */
function partly<T, K extends keyof T>(model: { [key in keyof T]: fc.Arbitrary<T[key]> }, ...required: K[]) {
  return fc.record(model, { requiredKeys: required });
}

const icon = partly(
  {
    src: fc.constant("https://example.com/i.png"),
    mimeType: fc.constant("image/png"),
    sizes: fc.constant(["48x48"]),
    theme: fc.constantFrom("light" as const, "dark" as const),
  },
  "src",
);
const icons = fc.array(icon, { maxLength: 2 });

const annotations = partly({
  audience: fc.subarray(["user" as const, "assistant" as const]),
  priority: fc.double({ min: 0, max: 1, noNaN: true }),
  lastModified: fc.constant("2025-01-12T15:00:58Z"),
});

const leaf = fc.constantFrom<unknown>(
  true,
  false,
  {},
  { type: "string" },
  { type: "array", items: { $ref: "#/$defs/x" } },
  { $ref: "#" },
  { enum: [1, "a"] },
);
const objectSchema = partly(
  {
    type: fc.constant("object" as const),
    $schema: fc.constant("https://json-schema.org/draft/2020-12/schema"),
    properties: fc.dictionary(word, leaf, { maxKeys: 3 }),
    required: fc.array(word, { maxLength: 2 }),
    $defs: fc.constant({ x: { type: "number" } }),
    anyOf: fc.constant([{}, { required: ["a"] }]),
  },
  "type",
);
const outputSchema = fc.oneof(
  objectSchema,
  fc.constantFrom<{ [keyword: string]: unknown }>(
    {},
    { type: "array", items: { type: "string" } },
    { type: ["object", "null"] },
    { anyOf: [{ type: "object" }, { type: "object", required: ["a"] }] },
    { oneOf: [{ type: "string" }, { $ref: "#/$defs/o" }], $defs: { o: { type: "object" } } },
    { $ref: "#/$defs/o", $defs: { o: { type: "object" } } },
    { $ref: "#" },
    { const: 1 },
  ),
);

const toolAnnotations = partly({
  title: text,
  readOnlyHint: fc.boolean(),
  destructiveHint: fc.boolean(),
  idempotentHint: fc.boolean(),
  openWorldHint: fc.boolean(),
});

export const tool = partly(
  {
    name: word,
    title: text,
    description: text,
    icons,
    inputSchema: objectSchema,
    outputSchema,
    annotations: toolAnnotations,
    execution: fc.constant({ taskSupport: "optional" as const }),
    _meta: meta,
    vendor: fc.constant(1),
  },
  "name",
  "inputSchema",
);

const described = { name: word, title: text, description: text, mimeType, icons, annotations, _meta: meta };

export const resource = partly({ uri, size: fc.nat(), ...described }, "uri", "name");
export const resourceTemplate = partly(
  { uriTemplate: fc.constant("test://{id}"), ...described },
  "uriTemplate",
  "name",
);

const contents = fc.oneof(
  partly({ uri, mimeType, text, _meta: meta }, "uri", "text"),
  partly({ uri, mimeType, blob: base64, _meta: meta }, "uri", "blob"),
);

const promptArgument = partly({ name: word, title: text, description: text, required: fc.boolean() }, "name");
export const prompt = partly(
  {
    name: word,
    title: text,
    description: text,
    icons,
    arguments: fc.array(promptArgument, { maxLength: 2 }),
    _meta: meta,
  },
  "name",
);

export const contentBlock = fc.oneof(
  partly({ type: fc.constant("text" as const), text, annotations, _meta: meta }, "type", "text"),
  partly(
    { type: fc.constantFrom("image" as const, "audio" as const), data: base64, mimeType, annotations, _meta: meta },
    "type",
    "data",
    "mimeType",
  ),
  partly({ type: fc.constant("resource" as const), resource: contents, annotations, _meta: meta }, "type", "resource"),
  partly({ type: fc.constant("resource" as const), uri, mimeType, text }, "type", "uri", "text"),
  resource.map((each) => ({ ...each, type: "resource_link" as const })),
);

export const callToolResult = partly(
  {
    content: fc.array(contentBlock, { maxLength: 3 }),
    structuredContent: fc.jsonValue(),
    isError: fc.boolean(),
    _meta: meta,
  },
  "content",
);

const question = fc.constant({ method: "roots/list", params: {} });
const task = {
  taskId: word,
  statusMessage: text,
  createdAt: fc.constant("2026-07-28T10:00:00.000Z"),
  lastUpdatedAt: fc.constant("2026-07-28T10:00:01.000Z"),
  ttlMs: fc.option(fc.integer({ min: 1 }), { nil: null }),
  pollIntervalMs: fc.integer({ min: 1 }),
};
const NEEDED = ["taskId", "createdAt", "lastUpdatedAt", "ttlMs"] as const;
const detailedTask = fc.oneof(
  partly({ ...task, status: fc.constantFrom("working", "cancelled") }, ...NEEDED, "status"),
  partly(
    { ...task, status: fc.constant("input_required"), inputRequests: fc.dictionary(word, question, { minKeys: 1 }) },
    ...NEEDED,
    "status",
    "inputRequests",
  ),
  partly({ ...task, status: fc.constant("completed"), result: callToolResult }, ...NEEDED, "status", "result"),
  partly(
    { ...task, status: fc.constant("failed"), error: fc.record({ code: fc.constant(-32603), message: text }) },
    ...NEEDED,
    "status",
    "error",
  ),
);
const createdTask = partly(
  { ...task, status: fc.constant("working"), resultType: fc.constant("task") },
  ...NEEDED,
  "status",
  "resultType",
);

const caching = partly({ ttlMs: fc.nat(), cacheScope: fc.constantFrom("public" as const, "private" as const) });
const paging = partly({ nextCursor: text, _meta: meta });

function list<T>(member: string, item: fc.Arbitrary<T>): fc.Arbitrary<object> {
  return fc
    .tuple(fc.array(item, { maxLength: 3 }), caching, paging)
    .map(([items, hints, page]) => ({ [member]: items, ...hints, ...page }));
}

const capabilities = partly({
  experimental: fc.constant({ a: {} }),
  extensions: fc.constant({ "com.example/x": {} }),
  logging: fc.constant({}),
  completions: fc.constant({}),
  prompts: fc.constant({ listChanged: true }),
  resources: fc.constant({ subscribe: true }),
  tools: fc.constant({ listChanged: false }),
  tasks: fc.constant({}),
});

export const implementation = partly(
  { name: word, version: text, title: text, description: text, websiteUrl: fc.constant("https://example.com/"), icons },
  "name",
  "version",
);

const empty = fc.constant({});

/** What stands for the result of a call that became a task. */
export const createdTasks: fc.Arbitrary<object> = createdTask;

/** For each method, what its handler may answer in the neutral shape. */
export const RESULTS: { readonly [method: string]: fc.Arbitrary<object> } = {
  initialize: partly(
    { protocolVersion: text, capabilities, serverInfo: implementation, instructions: text, _meta: meta },
    "protocolVersion",
    "capabilities",
    "serverInfo",
  ),
  ping: empty,
  "server/discover": partly(
    { supportedVersions: fc.array(text), capabilities, instructions: text, _meta: meta },
    "supportedVersions",
    "capabilities",
  ),
  "tools/list": list("tools", tool),
  "tools/call": callToolResult,
  "resources/list": list("resources", resource),
  "resources/templates/list": list("resourceTemplates", resourceTemplate),
  "resources/read": fc
    .tuple(fc.array(contents, { maxLength: 2 }), caching, partly({ _meta: meta }))
    .map(([read, hints, more]) => ({ contents: read, ...hints, ...more })),
  "resources/subscribe": empty,
  "resources/unsubscribe": empty,
  "prompts/list": list("prompts", prompt),
  "prompts/get": partly(
    {
      description: text,
      messages: fc.array(
        fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: contentBlock }),
        { maxLength: 3 },
      ),
      _meta: meta,
    },
    "messages",
  ),
  "completion/complete": fc.record({
    completion: partly({ values: fc.array(text), total: fc.nat(), hasMore: fc.boolean() }, "values"),
  }),
  "logging/setLevel": empty,
  "tasks/get": detailedTask,
  "tasks/result": callToolResult,
  "tasks/list": list("tasks", detailedTask),
  "tasks/cancel": detailedTask,
  "subscriptions/listen": fc.constant({ _meta: { "io.modelcontextprotocol/subscriptionId": 7 } }),
};
