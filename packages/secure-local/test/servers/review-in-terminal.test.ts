// What a person in a terminal is asked of many servers: an overview, a short list of each, the whole on request, and a yes or no for each.
import { expect, it } from "vitest";
import { askEach, overviewLines, type Reviewed } from "../../src/cli/review-in-terminal.js";

const TOOLS = 40;
function server(name: string, more: Partial<Reviewed> = {}): Reviewed {
  const tools = Array.from({ length: TOOLS }, (_, at): [string, unknown] => [
    `tool t${at}`,
    {
      name: `t${at}`,
      description: `Does ${at}.\nAnd the rest of it.`,
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
    },
  ]);
  const items = new Map<string, unknown>([["launch", { command: ["node", `/opt/${name}.mjs`] }], ...tools]);
  const changes = [...items.keys()].map((item) => ({ item, kind: "added" as const }));
  return {
    name,
    items,
    changes,
    findings: [],
    withheld: new Map(),
    locked: undefined,
    data: [],
    unnamed: [],
    ...more,
  } as Reviewed;
}

async function asked(all: readonly Reviewed[], ...answers: string[]) {
  return askedOnly([], all, ...answers);
}

async function askedOnly(only: readonly string[], all: readonly Reviewed[], ...answers: string[]) {
  const shown: string[] = [];
  const ask = (question: string): Promise<string> => (shown.push(question), Promise.resolve(answers.shift() ?? "n"));
  const show = (line: string): void => void shown.push(line);
  const approved = await askEach(all, { ask, show, about: () => undefined, only: new Set(only) });
  return { approved: [...approved], text: shown.join("\n"), lines: shown.length };
}

it("each of five is asked about by itself, in lines that a person reads", async () => {
  const all = ["a", "b", "c", "d", "e"].map((name) => server(name));
  const { approved, text, lines } = await asked(all, "y", "n", "", "yes", "what", "y");
  expect(approved).toEqual(["a", "d", "e"]);
  expect(lines).toBeLessThan(5 * (TOOLS + 10));
  for (const name of ["a", "b", "c", "d", "e"]) expect(text).toContain(`Approve ${name}?`);
  expect(text).toContain("added tool t7: Does 7.");
  expect(text).not.toContain("And the rest of it.");
  expect(text).toContain("not only what the short list shows");
  expect(text).toContain("Approved: 3 of 5 servers. Nothing of these is approved: b, c.");
});

it("v shows the whole, and asks again", async () => {
  const { approved, text } = await asked([server("a")], "v", "y");
  expect(approved).toEqual(["a"]);
  expect(text).toContain("And the rest of it.");
  expect(text).toContain("/inputSchema/properties/path/type");
});

it("one thing alone is shown and asked about, at the servers that have it, and v shows no other", async () => {
  const other = server("b", { items: new Map(), changes: [] });
  const { approved, text } = await askedOnly(["tool t3", "tool t7"], [server("a"), other], "v", "y");
  expect(approved).toEqual(["a"]);
  expect(text).toContain("Approve only this of a: tool t3, tool t7? y approves that and nothing else");
  expect(text).toContain("And the rest of it.");
  expect(text).not.toMatch(/t4|launch|Approve b/);
  expect(text).toContain("Approved: 1 of 1 server.");
});

it("how it is started, and what was approved in other words, are whole at once", async () => {
  const locked = { approved: new Map([["tool t1", { description: "Once." }]]), removed: new Map([["tool t2", {}]]) };
  const changed = server("a", {
    locked,
    changes: [
      { item: "launch", kind: "added" },
      { item: "tool t1", kind: "changed" },
      { item: "tool t2", kind: "added" },
    ] as unknown as Reviewed["changes"],
  });
  const { text } = await asked([changed]);
  expect(text).toContain("/opt/a.mjs");
  expect(text).toContain("Once.");
  expect(text.match(/And the rest of it/g)).toHaveLength(2);
});

it("nothing that a server says steers the terminal or makes up a line", async () => {
  const items = new Map([["tool \u001b[31mred", { description: "\u001b]0;x\u0007Does\r\nApproved: 1 of 1 server." }]]);
  const { text } = await asked([
    server("a", { items, changes: [{ item: "tool \u001b[31mred", kind: "added" }] as unknown as Reviewed["changes"] }),
  ]);
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0007\u001b]/);
  expect(text).not.toContain("Approved: 1 of 1");
});

it("the overview has tools, prompts and findings of each in a line", () => {
  const found = [{ tier: "hard" }, { tier: "look" }, { tier: "look" }] as unknown as Reviewed["findings"];
  const lines = overviewLines([server("notes", { findings: found }), server("board", { changes: [] })]);
  expect(lines[0]).toContain(
    "40 tools, 0 prompts, 1 hard finding, 2 findings to look at; 41 things that are not approved",
  );
  expect(lines[1]).toContain("40 tools, 0 prompts, no finding; as it was approved");
});
