// One call opened, from its records alone; and what processes use, from what /proc says.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import type { CallRow } from "@secure-local/console/api";
import { callDetail } from "../../src/console/call-detail.js";
import { usedResources } from "../../src/console/console-state.js";

const ROW = { n: 1, name: "far__read", server: "far", client: "agent 1", ms: 30 } as unknown as CallRow;
const at = (ms: number): string => new Date(Date.UTC(2026, 10, 23, 1) + ms).toISOString();

function detailOf(records: readonly object[], approvedBefore?: object): ReturnType<typeof callDetail> {
  return callDetail({
    row: ROW,
    file: "/log",
    texts: records.map((record) => JSON.stringify(record)),
    lineNow: undefined,
    policyLine: undefined,
    approvedBefore: approvedBefore && JSON.stringify(approvedBefore),
    callOf: (question) => (question === "q1" ? 7 : undefined),
  });
}

it("puts the hop to a server between the steps of its call, wherever a person was asked", () => {
  const upstream = { revision: "2025-06-18", transport: "http", ids: [7, "a"], sent: at(5_010), ms: 15 };
  const { steps, hops } = detailOf([
    { kind: "call.intent", time: at(0), id: 3, revision: "2025-11-25" },
    { kind: "approval.asked", time: at(1) },
    { kind: "approval.given", time: at(5_001) },
    { kind: "call.result", time: at(5_030), upstream },
  ]);
  expect(steps).toEqual([
    { label: "asked for and let in", ms: 0 },
    { label: "a person is asked", ms: 1, took: 5_000 },
    { label: "a person said yes", ms: 5_001 },
    { label: "sent to the server far", ms: 5_010, took: 15 },
    { label: "ended", ms: 5_030 },
  ]);
  expect(hops).toEqual([
    { from: "agent 1", to: "mcp-secure-local", revision: "2025-11-25", transport: "", ids: "3", sent: at(0), ms: 30 },
    {
      from: "mcp-secure-local",
      to: "far",
      revision: "2025-06-18",
      transport: "http",
      ids: "7, a",
      sent: at(5_010),
      ms: 15,
    },
  ]);
});

it("says of a call that a remembered answer let pass whose answer that was, and never that a person was asked", () => {
  const given = (detail: object): ReturnType<typeof callDetail>["steps"][number] | undefined =>
    detailOf([
      { kind: "call.intent", time: at(0), id: 3 },
      { kind: "approval.given", time: at(20), detail: { question: "q2", remembered: true, ...detail } },
      { kind: "call.result", time: at(30) },
    ]).steps[1];
  expect(given({ answer: "q1", answered: at(-5_000), by: "console" })).toEqual({
    ...{ label: "allowed", ms: 20 },
    answer: { at: Date.parse(at(-5_000)), by: "console", n: 7 },
  });
  // Of an older version it is not on record which.
  expect(given({})).toEqual({ label: "allowed", ms: 20, answer: { by: "", n: undefined } });
});

it("has the start of a server as a step of its own, where the call waited for that", () => {
  const upstream = { revision: "2025-06-18", transport: "stdio", ids: [1], sent: at(6_000), ms: 20 };
  const records = [
    { kind: "call.intent", time: at(0), id: 3 },
    { kind: "call.result", time: at(6_025), upstream },
  ];
  expect(detailOf(records).steps.map(({ label, ms, took }) => [label, ms, took])).toEqual([
    ["asked for and let in", 0, undefined],
    ["the server far gets ready", 0, 6_000],
    ["sent to the server far", 6_000, 20],
    ["ended", 6_025, undefined],
  ]);
});

it("has one hop of a call that reached no server, and none of its steps from there", () => {
  const { steps, hops } = detailOf([{ kind: "denied", time: at(0), id: 3 }]);
  expect([steps.length, hops.length]).toEqual([1, 1]);
});

it("names each argument that differs from the call that was approved last, also those that are gone or new", () => {
  const now = { kind: "call.intent", time: at(0), arguments: { path: "/b", content: "x", mode: { deep: [1] } } };
  const { difference } = detailOf([now], { arguments: { path: "/a", mode: { deep: [1] }, size: 1 } });
  expect(difference).toEqual([
    { name: "content", before: undefined, now: "x" },
    { name: "path", before: "/a", now: "/b" },
    { name: "size", before: "1", now: undefined },
  ]);
  const other = detailOf([{ kind: "call.intent", time: at(0), arguments: { n: "1" } }], { arguments: { n: 1 } });
  expect(other.difference).toEqual([{ name: "n", before: "1", now: '"1"' }]);
  expect(detailOf([now]).difference).toBeUndefined();
});

it.each(["x[3 characters cut]", "[REDACTED]", { deep: ["[too deep]"] }])(
  "says that more may differ where the log left something out: %j",
  (content) => {
    const record = { kind: "call.intent", time: at(0), arguments: { content } };
    expect(detailOf([record], { arguments: { content } })).toMatchObject({ difference: [], isPartly: true });
    expect(detailOf([record], { arguments: {} }).isPartly).toBe(true);
    expect(detailOf([{ ...record, arguments: {} }], { arguments: {} }).isPartly).toBe(false);
  },
);

it("says why a call did not go well, in the words of its last record that has any", () => {
  const reasonOf = (outcome: string, records: readonly object[], more: object = {}): string =>
    callDetail({
      row: { ...ROW, outcome, rule: "", ...more } as CallRow,
      file: "/log",
      texts: records.map((record) => JSON.stringify(record)),
      lineNow: undefined,
      policyLine: undefined,
      approvedBefore: undefined,
      callOf: () => undefined,
    }).reason;
  const intent = { kind: "call.intent", decision: { rule: "tools.allowed: far__*", line: 3 } };
  expect(reasonOf("error", [intent, { kind: "call.result", error: "it exited with status 1\u202e" }])).toMatch(
    /^it exited with status 1\\u/,
  );
  expect(reasonOf("denied", [intent, { detail: { reason: "the person said no" } }, { detail: { rule: "x" } }])).toBe(
    "the person said no",
  );
  expect(reasonOf("denied", [{ kind: "denied" }], { rule: "tools.denied: far__*" })).toBe(
    'Refused by the rule "tools.denied: far__*".',
  );
  expect(reasonOf("error", [intent, { kind: "call.result" }])).toMatch(/The answer was an error/);
  expect(reasonOf("ok", [intent, { error: "x" }])).toBe("");
  expect(reasonOf("unanswered", [intent])).toBe("It was not run: its server was gone before anybody answered.");
  expect(reasonOf("unanswered", [intent, { kind: "approval.denied" }])).toBe(
    "It was not run: nobody answered in time.",
  );
});

it.each([
  ["tools/call", [{ kind: "denied" }], /the tool far__read nowhere: tools\.allowed/],
  ["prompts/get", [{ kind: "denied" }], /the prompt far__read nowhere: prompts\.allowed/],
  ["resources/read", [{ kind: "denied" }], /the resource far__read nowhere: resources\.allowed/],
  ["tools/call", [{ kind: "call.intent", arguments: { path: "/x" } }, {}], /the path \/x nowhere: filesystem\./],
  ["tools/call", [{ kind: "call.intent", arguments: { url: "/x" } }, {}], /the address \/x nowhere: network\./],
  ["tools/call", [{ kind: "call.intent", arguments: { command: "x" } }, {}], /the command \/x nowhere: commands\./],
] as const)("says of a refused %s where the policy would name it: %o", (method, records, why) => {
  const row = { ...ROW, method, object: "/x", outcome: "denied", rule: "default deny" } as CallRow;
  const { reason } = callDetail({
    ...{ row, file: "/log", texts: records.map((record) => JSON.stringify(record)) },
    ...{ lineNow: undefined, policyLine: undefined, approvedBefore: undefined, callOf: () => undefined },
  });
  expect(reason).toMatch(why);
});

it("is told from records that hold anything at all", () => {
  for (const records of [[], [{}], [{ kind: 5, time: {}, upstream: "x", arguments: [] }]])
    expect(detailOf(records).records).toHaveLength(records.length);
});

it.skipIf(process.platform !== "linux")(
  "what a process uses is told with all that it has started, and of no other",
  async () => {
    const child = spawn(process.execPath, ["-e", "console.log(1); process.stdin.resume()", "servers", "run", "notes"]);
    await once(child.stdout, "data");
    const used = usedResources([process.pid]);
    expect(used[0]).toMatchObject({ of: process.pid, pid: process.pid });
    expect(used.find(({ pid }) => pid === child.pid)).toMatchObject({
      what: expect.stringMatching(/^notes \(/) as string,
    });
    expect(used.every(({ memoryBytes, cpuSeconds }) => memoryBytes >= 0 && cpuSeconds >= 0)).toBe(true);
    expect(used.some(({ pid }) => pid === process.ppid)).toBe(false);
    child.stdin.end();
    expect(usedResources([])).toEqual([]);
  },
);
