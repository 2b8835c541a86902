// Records joined into calls: whatever stands between them, whichever process wrote them, and when their server is no more.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connectInMemory } from "@secure-local/mcp/testing";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { loadPolicy } from "../../src/policy/load-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { CallJoiner, callerOf, type LogRecord, objectOf, recordOf, ruleOf } from "../../src/audit/call-records.js";

const record = (kind: string, id: number | undefined, more: LogRecord = {}): LogRecord => ({
  kind,
  id,
  connection: 1,
  method: "tools/call",
  ...more,
});

/** What becomes of records: the call and step of each, and the calls that were given up. */
function joined(...records: readonly (readonly [LogRecord, string?])[]): { told: string[]; lost: number[] } {
  const lost: number[] = [];
  const joiner = new CallJoiner<number>((call) => lost.push(call));
  let calls = 0;
  const told = records.map(([each, log = "a"]) => {
    const found = joiner.join(each, log, () => (calls += 1));
    return found === undefined ? "-" : `${found.call} ${found.step}`;
  });
  return { told, lost };
}

describe("a joiner of records", () => {
  it("gives all records of a call the same call, whatever stands between them", () => {
    const { told } = joined(
      [record("call.intent", 1)],
      [record("call.intent", 2)],
      [record("approval.asked", 1)],
      [record("policy.loaded", 1)],
      [record("call.result", 2)],
      [record("approval.given", 1)],
      [record("call.result", 1)],
    );
    expect(told).toEqual(["1 begun", "2 begun", "1 asked", "-", "2 ended", "1 agreed", "1 ended"]);
  });

  it("tells equal ids of other connections and logs apart", () => {
    const { told } = joined(
      [record("call.intent", 1)],
      [record("call.intent", 1, { connection: 2 })],
      [record("call.intent", 1), "b"],
      [record("call.result", 1), "b"],
      [record("call.result", 1, { connection: 2 })],
    );
    expect(told).toEqual(["1 begun", "2 begun", "3 begun", "3 ended", "2 ended"]);
  });

  it("makes a call of an end alone and of a refusal, and none of a question without a call", () => {
    const { told } = joined(
      [record("call.result", 1)],
      [record("denied", 2)],
      [record("denied", undefined)],
      [record("denied", undefined)],
      [record("approval.given", 3)],
      [record("denied", 4, { method: undefined })],
    );
    expect(told).toEqual(["1 ended", "2 ended", "3 ended", "4 ended", "-", "-"]);
  });

  it("gives up what a server left open that began anew, and an id that is begun twice", () => {
    const { told, lost } = joined(
      [record("call.intent", 1)],
      [record("call.intent", 1), "b"],
      [record("start", undefined)],
      [record("call.result", 1)],
      [record("call.intent", 1), "b"],
    );
    expect(lost).toEqual([1, 2]);
    expect(told.slice(3)).toEqual(["3 ended", "4 begun"]);
  });

  it("waits for ten thousand ends at most", () => {
    const lost: number[] = [];
    const joiner = new CallJoiner<number>((call) => lost.push(call));
    for (let id = 0; id < 10_003; id += 1) joiner.join(record("call.intent", id), "a", () => id);
    expect(lost).toEqual([0, 1, 2]);
  });

  it("never throws, whatever a record holds", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("kind", "id", "method", "detail", "arguments"), fc.anything()),
        (any) => {
          joined([any], [{ ...any, kind: "call.intent", method: "m" }], [{ ...any, kind: "call.result", method: "m" }]);
          for (const text of [objectOf(any), callerOf(any), ruleOf(any).rule]) expect(typeof text).toBe("string");
        },
      ),
    );
  });
});

it.each([
  [{ arguments: { path: "/a", query: "b" } }, "/a"],
  [{ arguments: { command: "git", arguments: ["log", 1] } }, "git log 1"],
  [{ arguments: { b: 1 } }, '{"b":1}'],
  [{ arguments: {} }, ""],
  [{ arguments: "x" }, ""],
  [{ method: "resources/read", tool: "file:///a" }, "file:///a"],
  [{ arguments: { path: "/a" }, detail: { endpoint: "https://a.example" } }, "https://a.example"],
  [{ method: "tools/call", tool: "read_file", arguments: { path: "/a" } }, "/a"],
  [{ method: "tools/call", server: "notes" }, ""],
  [{ server: "notes" }, "notes"],
  [{ detail: { path: "/a" } }, "/a"],
])("says of %j what the call was about", (given, about) => expect(objectOf(given)).toBe(about));

it("says what a call reached for by the most telling of its arguments, and by where it came before all of them", () => {
  const telling = ["path", "file", "url", "uri", "host", "query", "sql", "pattern", "expression", "name", "text"];
  for (const [at, name] of telling.entries()) {
    const less = telling.slice(at).map((each) => [each, `by ${each}`]);
    expect(objectOf({ arguments: Object.fromEntries(less.toReversed()) })).toBe(`by ${name}`);
    expect(objectOf({ arguments: { other: "no", [name]: 5 } })).toBe(`{"other":"no","${name}":5}`);
  }
  for (const place of ["endpoint", "files", "command"])
    expect(objectOf({ arguments: { path: "/a" }, detail: { [place]: "/b" } })).toBe("/b");
  expect(objectOf({ arguments: { path: "/a" }, detail: { endpoint: 5, files: "/b", command: "c" } })).toBe("/b");
});

it("names the rule that refused an allowed call on its way, rather than the one that allowed it", () => {
  const decision = { rule: "tools.allowed: read_file", line: 4 };
  expect(ruleOf({ decision })).toEqual(decision);
  expect(ruleOf({ decision, detail: { rule: "filesystem.denied: ~", line: 9 } })).toEqual({
    rule: "filesystem.denied: ~",
    line: 9,
  });
  expect(ruleOf({ decision, detail: { rule: "default deny" } })).toEqual({ rule: "default deny", line: undefined });
  expect(ruleOf({ detail: { reason: "no time" } })).toEqual({ rule: "no time", line: undefined });
});

it.each(["", "{", "[", "1", "null", '"a"'])("takes %j for no record", (line) => expect(recordOf(line)).toBeUndefined());

it("names the client by the end of a call alone, where its beginning lies in an archived file", async () => {
  const audit = new MemoryAudit();
  const { server } = new SecureServer({ policy: await loadPolicy(), audit, version: "1.0.0" });
  const peer = await connectInMemory(server, { revision: "2025-11-25" });
  await peer.request("tools/call", { name: "calculate", arguments: { expression: "1+1" } });
  await peer.close();
  const all = audit.records() as unknown as LogRecord[];
  const [begun, end] = ["call.intent", "call.result"].map((kind) => all.find((each) => each["kind"] === kind));
  expect(begun?.["client"]).toBeTypeOf("string");
  expect(callerOf({ ...end, principal: "ada" })).toBe(`ada: ${String(begun?.["client"])}`);
});
