// What calls are looked for: words, what is left out, folders, and how long they took.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/audit/call-records.js";
import type { WantedCalls } from "../../src/console/call-filter.js";
import { CallIndex } from "../../src/console/call-index.js";

const PLACE = { log: 0, ino: 1, offset: 0, length: 10 };
const NOTES = "/home/me/notes";
const at = (second: number): string => new Date(Date.UTC(2026, 10, 27, 1, 0, second)).toISOString();

/** Each a call that ended, under its number from 1. */
function indexOf(...calls: readonly LogRecord[]): CallIndex {
  const index = new CallIndex();
  calls.forEach((call, id) => {
    const common = { id, connection: 1, method: "tools/call", time: at(id) };
    index.add({ kind: "call.intent", ...common, tool: "read_file", ...call }, PLACE);
    index.add({ kind: "call.result", ...common, outcome: "ok", duration_ms: call["ms"] ?? 1 }, PLACE);
  });
  return index;
}
const read = (path: string): LogRecord => ({ arguments: { path } });
const editOf = (path: string): object => ({ path, edits: [{ old_text: "/usr/bin/perl", new_text: "/usr/bin/env" }] });
const found = (index: CallIndex, filter: WantedCalls): number[] =>
  index
    .list(filter, { limit: 99 })
    .map(({ n }) => n)
    .reverse();

describe("words", () => {
  const index = indexOf(
    { tool: "list_cards", arguments: { query: "doing" } },
    { tool: "list_cards", arguments: { query: "done today" } },
    read(`${NOTES}/today.md`),
    read("/etc/passwd"),
  );

  it.each([
    ["list_cards doing", [1]],
    ["LIST_CARDS", [1, 2]],
    ['"done today"', [2]],
    ["today done", [2]],
    ["-notes", [1, 2, 4]],
    ["read_file -notes", [4]],
    ['list_cards -"done today"', [1]],
    ["-notes -list_cards", [4]],
    ['"-notes"', []],
    ['"', []],
    ["-", []],
    ["", [1, 2, 3, 4]],
    ["ok passwd", [4]],
    [`path:${NOTES}`, [3]],
    [`-path:${NOTES}`, [4]],
    [`-path:"${NOTES}"`, [4]],
  ])("%j find what they say", (text, numbers) => {
    expect(found(index, { text })).toEqual(numbers);
  });

  it("never break what is looked for", () => {
    fc.assert(fc.property(fc.string(), (text) => found(index, { text }).length <= 4));
  });
});

describe("a folder", () => {
  const calls: readonly (readonly [LogRecord, under: boolean, outside: boolean])[] = [
    [read(`${NOTES}/a.md`), true, false],
    [read(NOTES), true, false],
    [read(`${NOTES}/../secret/a`), false, true],
    [read(`${NOTES}-private/a.md`), false, true],
    [read(`${NOTES}/deep/../a.md`), true, false],
    [{ method: "resources/read", tool: `file://${NOTES}/b%20c.md` }, true, false],
    [{ method: "resources/read", tool: `file://${NOTES}/%2e%2e/x` }, false, true],
    [{ arguments: { source: `${NOTES}/a`, destination: "/tmp/a" } }, true, true],
    [{ arguments: { paths: [`${NOTES}/a`, `${NOTES}/b`] } }, true, false],
    [{ arguments: { paths: [`${NOTES}/a`, "/etc/shadow"] } }, true, true],
    [{ arguments: { path: `${NOTES}/a`, options: { also: "~/.ssh/id" } } }, true, true],
    [{ arguments: { path: "today.md" } }, false, true],
    [{ arguments: { command: "cat", arguments: ["/etc/passwd"] } }, false, true],
    [{ arguments: { path: `${NOTES}/${"x/".repeat(900)}` } }, false, true],
    [{ arguments: { expression: "6 * 7" } }, false, false],
    [{ arguments: {} }, false, false],
    [{ tool: "edit_file", arguments: editOf(`${NOTES}/a`) }, true, false],
    [{ tool: "write_file", arguments: { path: `${NOTES}/a`, content: "/usr/bin/env node" } }, true, false],
    [{ tool: "search_text", arguments: { path: NOTES, query: "/etc" } }, true, false],
    // What the tools of others call text may be a path.
    [{ tool: "edit_file", server: "far", arguments: editOf(`${NOTES}/a`) }, true, true],
    [{ tool: "far__note", arguments: { content: "/etc/passwd" } }, false, true],
  ];
  const index = indexOf(...calls.map(([call]) => call));

  it("is what a call's paths are under, or one of them is not, whatever leads out of it", () => {
    const numbers = (which: 1 | 2): number[] => calls.flatMap((call, place) => (call[which] ? [place + 1] : []));
    expect(found(index, { under: `${NOTES}/` })).toEqual(numbers(1));
    expect(found(index, { outside: NOTES })).toEqual(numbers(2));
    expect(found(index, { outside: "/" })).toEqual([11, 12, 14]);
  });

  it("says how much was looked through, how far back it goes, and how the words were understood", () => {
    const since = Date.parse(at(10));
    expect(index.looked({ text: "-path:/tmp zzz", outside: `${NOTES}/`, since })).toEqual({
      calls: calls.length - 10,
      found: 0,
      kept: calls.length,
      since: Date.parse(at(0)),
      words: { with: ["zzz"], without: [], under: [], outside: ["/tmp", NOTES] },
    });
    expect(index.looked({}).found).toBe(calls.length);
    expect(new CallIndex().looked({})).toMatchObject({ calls: 0, since: undefined });
  });
});

it("finds calls by how long they took, without what they waited for a person, and lists the longest first", () => {
  const index = indexOf({ ms: 4_000 }, { ms: 3 }, { ms: 350.5 }, { ms: 12 });
  expect(found(index, { slower: 350.5 })).toEqual([1, 3]);
  expect(index.list({}, { limit: 3, longest: true }).map(({ ms }) => ms)).toEqual([4_000, 350.5, 12]);
  const asked = { id: 9, connection: 1, method: "tools/call", tool: "write_file", detail: { question: "q" } };
  const time = (second: number): { time: string } => ({ time: at(second) });
  index.add({ kind: "call.intent", ...asked, ...time(10) }, PLACE);
  index.add({ kind: "approval.asked", ...asked, ...time(10) }, PLACE);
  index.add({ kind: "approval.given", ...asked, ...time(27) }, PLACE);
  index.add({ kind: "call.result", ...asked, ...time(27), outcome: "ok", duration_ms: 2 }, PLACE);
  expect(found(index, { slower: 1_000 })).toEqual([1]);
  const from = Date.parse(at(0));
  expect(index.totals({}, { from, to: from + 60_000, parts: 1 })).toMatchObject({ p99: 4_000, waited: 17_000 });
});
