// Two calls that differ look different in the table of audit query, whatever characters their arguments have.
import { expect, it } from "vitest";
import { objectOf } from "../../src/audit/call-records.js";
import { tableRow } from "../../src/cli/audit-lines.js";

const call = (args: object, more: object = {}): Record<string, unknown> => ({
  kind: "call",
  method: "tools/call",
  tool: "t",
  time: "2026-01-01T00:00:00.000Z",
  arguments: args,
  ...more,
});

const HIDDEN = [
  "\u200b",
  "\u200d",
  "\u2060",
  "\ufeff",
  "\u202e",
  "\u00ad",
  "\u{e0041}",
  "\ufe0f",
  "\0",
  "\x1b[2K",
  "\u0085",
];
const SIGNS = [...HIDDEN, "\n", "\r", "\t", "\\n", "\\r", "\\t", "\\u200b", "\\", "\\\\n", " ", "n", ""];

it("in hidden characters, breaks, and what is written like them", () => {
  const rows = new Map<string, string>();
  for (const sign of SIGNS) {
    const row = tableRow(call({ path: `report${sign}.txt` }));
    expect(rows.get(row), JSON.stringify([sign, rows.get(row)])).toBeUndefined();
    rows.set(row, sign);
    // Nothing that a terminal would obey, or that nobody sees, is left.
    expect(row).toMatch(/^[\x20-\x7e]*$/);
  }
});

it("is never the sign for nothing where there is something", () => {
  const nothing = tableRow(call({}));
  for (const sign of HIDDEN) expect(tableRow(call({ path: sign.repeat(3) }))).not.toBe(nothing);
});

it("in where one argument of a command ends and the next begins", () => {
  const lists = [
    ["a b", "c"],
    ["a", "b c"],
    ["a", "b", "c"],
    ["a b c"],
    ["a", "", "b", "c"],
    ['a" "b', "c"],
    ["a\\", "b c"],
  ];
  const shown = lists.map((list) => objectOf(call({ command: "run", arguments: list })));
  expect(new Set(shown).size).toBe(lists.length);
});

it("in a member beside the one that is shown, of a server's call", () => {
  const server = { server: "db" };
  expect(objectOf(call({ query: "benign" }, server))).toBe("benign");
  expect(objectOf(call({ query: "benign", sql: "drop table x" }, server))).toMatch(/ \+1 more$/);
  expect(objectOf(call({ query: "benign", sql: "a", path: "/b" }, server))).toMatch(/ \+2 more$/);
  expect(objectOf(call({ command: "ls", sql: "drop table x" }, server))).toBe("ls +1 more");
  for (const first of ["path", "query", "url", "file"])
    expect(objectOf(call({ [first]: "", sql: "drop table x" }, server))).toBe("drop table x");
  expect(objectOf(call({ path: "/a", query: "b" }))).not.toContain("more");
});
