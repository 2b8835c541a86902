// Whatever of a caller's request reaches a mounted server is on record before it does; the rest is dropped.
import { afterEach, beforeEach, expect, it } from "vitest";
import { everyKind, Fleet } from "./fleet.js";

let fleet: Fleet;
/** Everything that reached the server, as texts, each with what was on record by then. */
let reached: { method: string; text: string; recorded: string }[];

beforeEach(() => {
  fleet = new Fleet();
  reached = [];
  fleet.make("every", () => {
    const server = everyKind();
    server.use((call, next) => {
      const text = JSON.stringify([call.method, call.params, call.meta]);
      reached.push({ method: call.method, text, recorded: JSON.stringify(fleet.audit.records()) });
      return next();
    });
    return server;
  });
});
afterEach(() => fleet.close());

const TRACE = { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` };

let marks = 0;
const mark = (): string => `mark-${++marks}-here`;

/** Each place of a request where a caller may write something of its own, filled with marks. */
function marked(params: object): object[] {
  const metas = [
    { [`x/${mark()}`]: mark() },
    { "example.com/a": { deep: [mark()] } },
    { [mark()]: mark() },
    { "com.modelcontextprotocol/own": mark() },
    { "io.modelcontextprotocol/unknown": mark() },
    { ...TRACE, tracestate: `vendor=${mark()}` },
    { tracestate: `vendor=${mark()}` },
    { ...TRACE, tracestate: `vendor=${mark()}, sh -c ${mark()}` },
    { ...TRACE, tracestate: `vendor=${mark()}${"x".repeat(600)}` },
    { baggage: `key=${mark()};a=b` },
    { baggage: `${mark()} and words` },
    { baggage: `key=${mark()},${"k=v,".repeat(200)}` },
    { traceparent: mark() },
    { traceparent: { deep: mark() } },
    { progressToken: 7 },
  ];
  return [
    ...metas.map((_meta) => ({ ...params, _meta })),
    { ...params, [mark()]: mark() },
    {
      ...params,
      _meta: { ...TRACE, ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`x/k${i}`, mark()])) },
    },
  ];
}

const REQUESTS: readonly (readonly [string, () => object])[] = [
  ["tools/call", () => ({ name: "every__num", arguments: { a: mark() } })],
  ["prompts/get", () => ({ name: "every__pr", arguments: { q: mark() } })],
  ["resources/read", () => ({ uri: "note://a" })],
  ["resources/read", () => ({ uri: `memo://${mark()}` })],
  ["resources/subscribe", () => ({ uri: "note://a" })],
  ["resources/unsubscribe", () => ({ uri: "note://a" })],
  ["logging/setLevel", () => ({ level: "debug" })],
  [
    "completion/complete",
    () => ({
      ref: { type: "ref/prompt", name: "every__pr" },
      argument: { name: "q", value: mark() },
      context: { arguments: { [mark()]: mark() } },
    }),
  ],
  [
    "completion/complete",
    () => ({
      ref: { type: "ref/resource", uri: "memo://{id}" },
      argument: { name: "id", value: mark() },
      context: { arguments: { other: mark() } },
    }),
  ],
];

async function served(): Promise<void> {
  const policy = await fleet.policy(
    `tools: { allowed: ["every__*"], rate_limits: { default: 10000, requests: 10000 } }
prompts: { allowed: ["every__*"] }
resources: { allowed: ["note://*", "memo://*"] }
sandbox: none`,
  );
  await fleet.approve(policy);
  await fleet.serve(policy);
}

it.each(["2025-11-25", "2026-07-28"])("in revision %s", async (revision) => {
  await served();
  const peer = await fleet.client(revision);
  for (const [method, params] of REQUESTS) {
    for (const each of marked(params())) await peer.request(method, { ...each }).catch(() => undefined);
  }
  const found = reached.flatMap(({ text, recorded, method }) =>
    [...text.matchAll(/mark-\d+-here/g)].map(([name]) => ({ method, name, known: recorded.includes(name) })),
  );
  // Arguments do go through, and trace context in its form: the test would be empty without them.
  expect(found.length).toBeGreaterThan(REQUESTS.length * 3);
  expect(found.filter(({ known }) => !known)).toEqual([]);
  expect(reached.some(({ text }) => text.includes(TRACE.traceparent))).toBe(true);
});

it("says what was dropped by its names, a few of many", async () => {
  await served();
  const peer = await fleet.client("2025-11-25");
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`x/k${index}`, 1]));
  const _meta = { ...TRACE, progressToken: 1, tracestate: "bad state", ...many };
  await peer.request("tools/call", { name: "every__num", arguments: {}, _meta });
  const intent = fleet.audit.records().find(({ kind }) => kind === "call.intent");
  expect(intent?.["detail"]).toEqual({
    meta: TRACE,
    meta_dropped: ["tracestate", ...Array.from({ length: 15 }, (_, index) => `x/k${index}`)],
    meta_dropped_more: 25,
  });
});

it.each([
  ["resources/unsubscribe", { uri: "note://a" }, { tool: "note://a", server: "every" }],
  ["logging/setLevel", { level: "debug" }, { arguments: { level: "debug" } }],
] as const)("records %s, which reaches a server too", async (method, params, said) => {
  await served();
  const peer = await fleet.client("2025-11-25");
  await peer.request("resources/subscribe", { uri: "note://a" });
  await peer.request(method, params);
  const records = fleet.audit.records().filter((record) => record["method"] === method);
  expect(records).toMatchObject([
    { kind: "call.intent", ...said },
    { kind: "call.result", outcome: "ok" },
  ]);
});
