// Each record of a request as a whole, and what the policy leaves out of it.
import { ErrorCode } from "@secure-local/mcp/jsonrpc";
import { type Call, RpcError } from "@secure-local/mcp/server";
import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/audit-event.js";
import type { RememberedConsent } from "../../src/guard/approvals/remembered.js";
import { AuditRecorder, clientOf, type GuardedRequest } from "../../src/guard/audit-recorder.js";
import type { CompiledPolicy } from "../../src/guard/compiled-policy.js";

const FLAGS = ["id", "tool", "arguments", "outcome", "duration", "decision", "result"] as const;
type Flag = (typeof FLAGS)[number];

const CALL = {
  id: 7,
  method: "tools/call",
  params: { arguments: { a: 1 } },
  meta: { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`, progressToken: 5, "x/y": 1 },
  carrier: { principal: "ada" },
  caller: { client: { name: "claude", version: "2" }, codec: { revision: { date: "2025-11-25", era: "handshake" } } },
};

const callOf = (more: object = {}): Call => ({ ...CALL, ...more }) as unknown as Call;

function recorder(off: readonly Flag[] = []) {
  const events: AuditEvent[] = [];
  const audit = new AuditRecorder({
    record: (event: AuditEvent) => (events.push(event), Promise.resolve()),
  } as never);
  const records = Object.fromEntries(FLAGS.map((flag) => [flag, !off.includes(flag)]));
  const terms = { records, label: "abc", policy: { servers: new Map([["ev", {}]]) } } as unknown as CompiledPolicy;
  const begun = (call: Call = callOf(), { name = "ev__t", server }: { name?: string; server?: string } = {}) =>
    audit.begin(call, { kind: "tool", name, path: "/name" }, { terms, server });
  return { audit, events, terms, begun };
}

type Recorder = ReturnType<typeof recorder>;

const RULE = { text: "tools.allowed: t", line: 3 };
const CONSENT: RememberedConsent = {
  id: "q1",
  tool: "t",
  about: "all of it",
  client: "claude 2",
  principal: "ada",
  actor: "plugin:p",
  profile: "",
  by: "client",
  at: Date.UTC(2026, 0, 2),
  policy: "abc",
  call: "0123",
  used: 1,
  isVoid: false,
};

const WHO = { id: 7, connection: 1, principal: "ada", client: "claude 2", policy: "abc" };
const WHAT = { method: "tools/call", tool: "ev__t", server: "ev" };
const META = { meta: { traceparent: CALL.meta.traceparent }, meta_dropped: ["x/y"] };
const END = { outcome: "ok", durationMs: 1.23456, fault: undefined, detail: { why: "so" } } as const;
const HOP = { revision: "2025-11-25", transport: "stdio", sent: "2026-01-02T00:00:00.000Z" };

type Done = (made: Recorder, guarded: GuardedRequest) => Promise<unknown>;

/** What is done, the whole record of it, and what goes from that with each flag. */
const RECORDS: Readonly<
  Record<string, readonly [done: Done, record: object, without: Partial<Record<Flag, object | readonly string[]>>]>
> = {
  "what was meant": [
    ({ audit }, guarded) => audit.intent(guarded, RULE),
    {
      ...{ kind: "call.intent", ...WHO, ...WHAT, revision: "2025-11-25", arguments: { a: 1 } },
      ...{ decision: { allowed: true, rule: RULE.text, line: 3 }, detail: META },
    },
    {
      id: ["id", "connection", "client"],
      tool: ["tool", "server"],
      arguments: ["arguments", "detail"],
      decision: ["decision"],
    },
  ],
  "how it ended": [
    ({ audit }, guarded) =>
      audit.result(guarded, END, { content: [], _meta: { x: 1 } }, { upstream: { ...HOP, ids: [4], ms: 0.98765 } }),
    {
      ...{ kind: "call.result", ...WHO, ...WHAT, revision: "2025-11-25", duration_ms: 1.235, outcome: "ok" },
      ...{ upstream: { ...HOP, ids: [4], ms: 0.988 }, result: { content: [] }, detail: { why: "so" } },
    },
    {
      id: { id: 0, connection: 0, client: 0, upstream: { ...HOP, ms: 0.988 } },
      tool: ["tool", "server"],
      outcome: ["outcome"],
      duration: { duration_ms: 0, upstream: { ...HOP, ids: [4] } },
      result: ["result"],
    },
  ],
  "how it failed": [
    ({ audit }, guarded) =>
      audit.result(
        guarded,
        { ...END, outcome: "error", fault: { id: "f", text: "Error: x" } },
        new RpcError(ErrorCode.InternalError, "no"),
        { failure: "it left" },
      ),
    {
      ...{ kind: "call.result", ...WHO, ...WHAT, revision: "2025-11-25", duration_ms: 1.235, outcome: "error" },
      ...{ result: { error: "no" }, error_id: "f", error: "Error: x", detail: { why: "so" } },
    },
    {
      id: ["id", "connection", "client"],
      tool: ["tool", "server"],
      outcome: ["outcome"],
      duration: ["duration_ms"],
      result: ["result"],
    },
  ],
  "what was refused": [
    ({ audit }, guarded) =>
      audit.refused(guarded, {
        ...{ text: "Denied.", rule: "default deny", line: 4, outcome: "denied", withheld: "changed" },
        error: new RpcError(ErrorCode.InvalidParams, "Denied."),
      }),
    {
      ...{ kind: "denied", ...WHO, ...WHAT, revision: "2025-11-25", arguments: { a: 1 }, outcome: "denied" },
      ...{ decision: { allowed: false, rule: "default deny", line: 4 }, detail: { withheld: "changed" } },
    },
    {
      id: ["id", "connection", "client"],
      tool: ["tool", "server"],
      arguments: ["arguments"],
      outcome: ["outcome"],
      decision: ["decision"],
    },
  ],
  "that a person was asked": [
    ({ audit }, guarded) => audit.approval(guarded, "approval.asked", { rule: RULE, detail: { question: "q" } }),
    { kind: "approval.asked", ...WHO, ...WHAT, arguments: { a: 1 }, detail: { question: "q" } },
    { id: ["id", "connection", "client"], tool: ["tool", "server"], arguments: ["arguments"] },
  ],
  ...Object.fromEntries(
    ([true, false] as const).map((allowed): [string, (typeof RECORDS)[string]] => {
      const kind = allowed ? "approval.given" : "approval.denied";
      return [
        `that a person answered: ${kind}`,
        [
          ({ audit }, guarded) => audit.approval(guarded, kind, { rule: RULE, detail: { by: "client" } }),
          {
            ...{ kind, ...WHO, ...WHAT, detail: { by: "client" } },
            decision: { allowed, rule: RULE.text, line: 3 },
          },
          { id: ["id", "connection", "client"], tool: ["tool", "server"], decision: ["decision"] },
        ],
      ];
    }),
  ),
  "that an answer was taken back": [
    ({ audit, terms: { records, label } }) => audit.takenBack(CONSENT, { by: "console", records, label }),
    {
      ...{ kind: "approval.taken_back", principal: "ada", client: "claude 2", tool: "t", policy: "abc" },
      detail: { by: "console", answer: "q1", answered: "2026-01-02T00:00:00.000Z", call: "0123", actor: "plugin:p" },
    },
    { id: ["client"], tool: ["tool"] },
  ],
};

/** The record without some members, or with others in place of them: 0 for none. */
function less(record: object, without: object | readonly string[] = []): object {
  const instead = Array.isArray(without) ? Object.fromEntries((without as string[]).map((key) => [key, 0])) : without;
  return Object.fromEntries(Object.entries({ ...record, ...instead }).filter(([, value]) => value !== 0));
}

describe.each(Object.entries(RECORDS))("the record of %s", (_what, [done, record, without]) => {
  it("is whole", async () => {
    const made = recorder();
    await done(made, made.begun(callOf(), { server: "ev" }));
    expect(made.events).toEqual([record]);
  });

  it.each(FLAGS)("is without what a policy leaves out that has no %s in its records", async (flag) => {
    const made = recorder([flag]);
    await done(made, made.begun(callOf(), { server: "ev" }));
    expect(made.events).toEqual([less(record, without[flag])]);
  });
});

it("a record of what is our own names neither server nor revision, and nothing of _meta", async () => {
  const { audit, begun, events } = recorder();
  const guarded = begun(callOf(), { name: "t" });
  await audit.intent(guarded, { text: "tools.allowed: t" });
  await audit.result(guarded, END);
  const own = { ...WHO, method: "tools/call", tool: "t" };
  expect(events).toEqual([
    { kind: "call.intent", ...own, arguments: { a: 1 }, decision: { allowed: true, rule: "tools.allowed: t" } },
    { kind: "call.result", ...own, duration_ms: 1.235, outcome: "ok", detail: { why: "so" } },
  ]);
});

describe("what a record has of a caller's _meta", () => {
  const recorded = async (meta: object | undefined): Promise<unknown> => {
    const { audit, begun, events } = recorder();
    await audit.intent(begun(callOf({ meta }), { server: "ev" }), RULE);
    return events[0]?.detail;
  };
  const { traceparent } = CALL.meta;
  const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `x/${at}`);
  const long = Array.from({ length: 30 }, (_, at) => `${at}`).join("/");

  it.each([
    ["nothing", undefined, undefined],
    ["nothing in it", {}, undefined],
    ["what is for this hop alone", { progressToken: 1 }, undefined],
    ["what goes on", { traceparent }, { meta: { traceparent } }],
    ["what is dropped", { "x/y": 1 }, { meta_dropped: ["x/y"] }],
    ["both", { traceparent, "x/y": 1 }, { meta: { traceparent }, meta_dropped: ["x/y"] }],
    ["as many names as a record has", names(16), { meta_dropped: names(16) }],
    ["more names", names(19), { meta_dropped: names(16), meta_dropped_more: 3 }],
    ["a long name", [`${long}${"x".repeat(200)}`], { meta_dropped: [`${long}${"x".repeat(100 - long.length)}`] }],
  ])("%s", async (_what, given, expected) => {
    const meta = Array.isArray(given) ? Object.fromEntries(given.map((name) => [name, 1])) : given;
    expect(await recorded(meta)).toEqual(expected);
  });
});

it.each([
  [{ name: "claude", version: "2" }, "claude 2"],
  [{ name: "claude", version: "" }, "claude"],
  [{ name: "claude", version: 2 }, "claude"],
  [{ name: "", version: "2" }, undefined],
  [{ name: 5 }, undefined],
  [undefined, undefined],
  [{ name: `ab${"n".repeat(70)}`, version: `1.${"0".repeat(70)}` }, `ab${"n".repeat(58)} 1.${"0".repeat(58)}`],
])("a client that calls itself %j is recorded as %j", (client, name) => {
  expect(clientOf(callOf({ caller: { client } }))).toBe(name);
});

it("requests of one session have one number, and those of none have one each", async () => {
  const { begun } = recorder();
  const caller = (era: string) => ({ client: undefined, codec: { revision: { date: "x", era } } });
  const [one, two, none] = [caller("handshake"), caller("handshake"), caller("stateless")];
  const numbers = [one, one, two, one, none, none, two].map((each) => begun(callOf({ caller: each })).connection);
  expect(numbers).toEqual([1, 1, 2, 1, 3, 4, 2]);
});
