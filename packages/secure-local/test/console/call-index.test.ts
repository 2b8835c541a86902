// Records joined into calls, and the changes that pages are told of.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LogRecord, NOBODY_ANSWERED } from "../../src/audit/call-records.js";
import { CallIndex, MAX_CALLS } from "../../src/console/call-index.js";

const PLACE = { log: 0, ino: 1, offset: 0, length: 10 };
const TIME = "2026-11-23T01:00:00.000Z";

function intent(id: number, more: LogRecord = {}): LogRecord {
  const decision = { allowed: true, rule: "tools.allowed: read_file", line: 4 };
  return {
    kind: "call.intent",
    time: TIME,
    id,
    connection: 1,
    method: "tools/call",
    tool: "read_file",
    policy: "abcdef",
    decision,
    ...more,
  };
}

function result(id: number, outcome: string, more: LogRecord = {}): LogRecord {
  return {
    kind: "call.result",
    time: TIME,
    id,
    connection: 1,
    method: "tools/call",
    tool: "read_file",
    duration_ms: 5,
    outcome,
    ...more,
  };
}

/** An index with these records, each at a place of its own. */
function indexOf(...records: readonly LogRecord[]): CallIndex {
  const index = new CallIndex();
  records.forEach((record, offset) => index.add(record, { ...PLACE, offset }));
  return index;
}

describe("calls", () => {
  it("join the records of one request, in whatever order those of others stand between them", () => {
    const index = indexOf(intent(1), intent(2), result(2, "ok"), result(1, "error"));
    expect(index.list({}, { limit: 9 }).map(({ n, outcome, ms }) => [n, outcome, ms])).toEqual([
      [2, "ok", 5],
      [1, "error", 5],
    ]);
    expect(index.get(1)?.places.map(({ offset }) => offset)).toEqual([0, 3]);
  });

  it("are none that a person was asked about where an earlier answer was remembered", () => {
    const given = { kind: "approval.given", detail: { question: "q2", remembered: true, answer: "q1" } };
    const index = indexOf(
      intent(1),
      intent(1, given),
      result(1, "ok"),
      intent(2),
      intent(2, { kind: "approval.asked" }),
    );
    const [asked, remembered] = index.list({}, { limit: 9 });
    expect([asked?.asked, asked?.remembered]).toEqual([true, undefined]);
    expect([remembered?.asked, remembered?.remembered, remembered?.waitedMs]).toEqual([false, "q1", undefined]);
    expect(index.list({ remembered: "q1" }, { limit: 9 })).toEqual([remembered]);
    const totals = index.totals({}, { from: 0, to: Date.parse(TIME) + 1, parts: 1 });
    expect([totals.calls, totals.asked]).toEqual([2, 1]);
  });

  it("tell equal ids of two connections and of two logs apart", () => {
    const index = indexOf(intent(1), intent(1, { connection: 2 }));
    index.add(intent(1), { ...PLACE, log: 1 });
    index.add(result(1, "ok", { connection: 2 }), PLACE);
    expect(index.list({}, { limit: 9 }).map(({ outcome }) => outcome)).toEqual(["running", "ok", "running"]);
  });

  it("name the rule that refused, when an allowed tool reached for what it may not have", () => {
    const [row] = indexOf(
      intent(1),
      result(1, "denied", { detail: { rule: "filesystem.denied: ~/.ssh", line: 9 } }),
    ).list({}, { limit: 1 });
    expect(row).toMatchObject({ outcome: "denied", rule: "filesystem.denied: ~/.ssh", line: 9 });
    const [other] = indexOf(intent(1), result(1, "denied", { detail: { rule: "default deny" } })).list(
      {},
      { limit: 1 },
    );
    expect(other).toMatchObject({ rule: "default deny", line: undefined });
  });

  it("are found by the question that was asked about them, also when it is over", () => {
    const asked = { kind: "approval.asked", detail: { question: "q1" } };
    const index = indexOf(intent(1), intent(1, asked));
    expect(index.callOf("q1")).toBe(1);
    expect(index.get(1)?.row).toMatchObject({ outcome: "waiting", asked: true });
    index.add(intent(1, { kind: "approval.given", detail: { question: "q1" } }), PLACE);
    expect(index.callOf("q1")).toBe(1);
    expect(index.callOf("q2")).toBeUndefined();
    index.add(result(1, "ok"), PLACE);
    const next = indexOf(
      intent(1),
      intent(1, asked),
      intent(1, { kind: "approval.given", detail: { question: "q1" } }),
      result(1, "ok"),
      intent(2),
      intent(2, asked),
    );
    expect(next.lastApproved(next.get(2)!.row)).toBe(1);
  });

  it("count as approved by a person's yes alone, not by how they ended", () => {
    const detail = { detail: { question: "q1" } };
    const asked = (id: number, kind: string): LogRecord[] => [
      intent(id),
      intent(id, { kind: "approval.asked", ...detail }),
      intent(id, { kind, ...detail }),
    ];
    const index = indexOf(
      ...asked(1, "approval.given"),
      result(1, "error"),
      ...asked(2, "approval.denied"),
      result(2, "cancelled"),
      intent(3),
    );
    expect(index.lastApproved(index.get(3)!.row)).toBe(1);
  });

  it("are lost with their process, unless they had ended", () => {
    const index = indexOf(intent(1), result(1, "ok"), intent(2), { kind: "start", time: TIME });
    expect(index.list({}, { limit: 9 }).map(({ outcome }) => outcome)).toEqual(["lost", "ok"]);
    index.add(result(2, "ok"), PLACE);
    expect(index.get(2)?.row.outcome).toBe("lost");
  });

  it("were not run where nobody answered in time: not denied as by a person, and found among what was refused", () => {
    const detail = { question: "q1", reason: NOBODY_ANSWERED };
    const asked = [intent(1), intent(1, { kind: "approval.asked", detail })];
    const over = indexOf(...asked, intent(1, { kind: "approval.denied", detail }), result(1, "denied"));
    for (const outcome of ["unanswered", "denied", "refused"] as const)
      expect([outcome, over.list({ outcome }, { limit: 9 }).map(({ outcome: is }) => is)]).toEqual([
        outcome,
        ["unanswered"],
      ]);
    expect(over.list({ outcome: "failed" }, { limit: 9 })).toEqual([]);
    const no = { question: "q1", reason: "the person who was asked said no" };
    const refused = indexOf(...asked, intent(1, { kind: "approval.denied", detail: no }), result(1, "denied"));
    expect(refused.list({ outcome: "unanswered" }, { limit: 9 })).toEqual([]);
  });

  it("were not run where their process ended before anybody had answered, and no rule decided them", () => {
    const detail = { question: "q1" };
    const asked = [intent(1), intent(1, { kind: "approval.asked", detail })];
    const outcomes = (...more: readonly LogRecord[]): unknown[] => {
      const index = indexOf(...asked, ...more, { kind: "start", time: TIME });
      return index.list({}, { limit: 9 }).map(({ outcome, rule, line }) => [outcome, rule, line]);
    };
    expect(outcomes()).toEqual([["unanswered", "", undefined]]);
    expect(outcomes(intent(1, { kind: "approval.given", detail }))).toEqual([["lost", "tools.allowed: read_file", 4]]);
    expect(outcomes(intent(1, { kind: "approval.denied", detail }))).toEqual([
      ["denied", "tools.allowed: read_file", 4],
    ]);
  });

  it("stand in the order of time when several logs were read one after the other, with their questions and ends", () => {
    const at = (second: number): string => new Date(Date.parse(TIME) + second * 1_000).toISOString();
    const detail = { question: "q1" };
    const index = new CallIndex();
    for (const [id, second] of [
      [1, 0],
      [2, 4],
    ] as const)
      index.add(intent(id, { time: at(second) }), PLACE);
    const other = { ...PLACE, log: 1 };
    for (const [id, second] of [
      [1, 1],
      [2, 3],
    ] as const)
      index.add(intent(id, { time: at(second) }), other);
    index.add(intent(2, { kind: "approval.asked", detail }), other);
    index.putInOrder();
    const listed = (): unknown[] => index.list({}, { limit: 9 }).map(({ n, log, outcome }) => [n, log, outcome]);
    expect(listed()).toEqual([
      [4, 0, "running"],
      [3, 1, "waiting"],
      [2, 1, "running"],
      [1, 0, "running"],
    ]);
    expect(index.callOf("q1")).toBe(3);
    expect(index.changedAfter(index.cursor)).toEqual([]);
    expect(index.changedAfter(0)).toBeUndefined();
    index.add(result(2, "ok"), other);
    index.add(intent(9), PLACE);
    expect(index.changedAfter(index.cursor - 2)?.map(({ n }) => n)).toEqual([3, 5]);
  });

  it("tell for each part of a time how long they took: half of them, and 99 of 100", () => {
    const index = new CallIndex();
    for (let id = 0; id < 200; id += 1) {
      index.add(intent(id), PLACE);
      index.add(result(id, "ok", { duration_ms: id < 100 ? 1 : 1_000 + id }), PLACE);
    }
    const from = Date.parse(TIME);
    const sums = index.totals({}, { from, to: from + 60_000, parts: 2 });
    expect(sums.buckets.map(({ p50, p99 }) => [p50, p99])).toEqual([
      [1_100, 1_198],
      [undefined, undefined],
    ]);
    expect([sums.p50, sums.p99, sums.lastMinute]).toEqual([1_100, 1_198, 200]);
  });

  it("are counted as they are listed, whatever the filter", () => {
    const outcomes = fc.constantFrom("ok", "error", "denied", "timeout", "cancelled");
    const calls = fc.array(fc.record({ outcome: outcomes, tool: fc.constantFrom("a", "b"), end: fc.boolean() }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(calls, fc.constantFrom<"a" | undefined>("a", undefined), (given, name) => {
        const index = new CallIndex();
        given.forEach(({ outcome, tool, end }, id) => {
          index.add(intent(id, { tool }), PLACE);
          if (end) index.add(result(id, outcome, { tool }), PLACE);
        });
        const at = Date.parse(TIME);
        const rows = index.list({ name }, { limit: 99 });
        const sums = index.totals({ name }, { from: at - 1, to: at + 1, parts: 4, lanes: true });
        const inBars = sums.buckets.reduce((sum, { ok, failed, denied }) => sum + ok + failed + denied, 0);
        expect([sums.calls, inBars]).toEqual([rows.length, rows.length]);
        expect(sums.denied).toBe(rows.filter(({ outcome }) => outcome === "denied").length);
        expect(sums.byName.reduce((sum, { calls: count }) => sum + count, 0)).toBe(rows.length);
        // Each number of a screen leads to the calls that it counts.
        for (const outcome of ["denied", "failed"] as const)
          expect(index.list({ name, outcome }, { limit: 99 }).length).toBe(sums[outcome]);
        expect(index.list({ name, asked: true }, { limit: 99 }).length).toBe(sums.asked);
        for (const [field, counts] of [["client", sums.byClient] as const, ["name", sums.byName] as const]) {
          const drawn = (sums.lanes?.[field] ?? []).map(({ name: each, parts }) => [
            each,
            parts.reduce((sum, { ok, failed, denied }) => sum + ok + failed + denied, 0),
          ]);
          expect(drawn).toEqual(counts.map(({ name: each, calls: count }) => [each, count]));
        }
      }),
    );
  });

  it("reach a page that comes back at any cursor: each row as it is now, none missing", () => {
    const steps = fc.array(fc.record({ id: fc.nat(9), end: fc.boolean() }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, fc.array(fc.nat(60)), (given, looks) => {
        const index = new CallIndex();
        const page = new Map<number, unknown>();
        let cursor = 0;
        given.forEach(({ id, end }, step) => {
          index.add(end ? result(id, "ok") : intent(id), PLACE);
          if (!looks.includes(step)) return;
          for (const row of index.changedAfter(cursor) ?? []) page.set(row.n, row);
          cursor = index.cursor;
        });
        for (const row of index.changedAfter(cursor) ?? []) page.set(row.n, row);
        const all = index.list({}, { limit: 99 });
        expect([...page.values()].length).toBe(all.length);
        for (const row of all) expect(page.get(row.n)).toEqual(row);
      }),
    );
  });

  it("are forgotten one by one when there are too many, and a cursor that is too old is told", () => {
    const index = new CallIndex();
    for (let id = 0; id < MAX_CALLS + 5; id += 1) {
      index.add(intent(id), PLACE);
      index.add(result(id, "ok"), PLACE);
    }
    expect(index.size).toBe(MAX_CALLS);
    expect(index.get(5)).toBeUndefined();
    expect(index.get(6)).toBeDefined();
    expect(index.changedAfter(0)).toBeUndefined();
    expect(index.changedAfter(index.cursor + 1)).toBeUndefined();
    expect(index.changedAfter(index.cursor)).toEqual([]);
  });
});
