// Profiles, and the menu of two tools that stand for all others: what they show, and that they allow no more than the policy.
import { afterEach, beforeEach, expect, it } from "vitest";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { Server } from "@secure-local/mcp/server";
import { profiledPolicy } from "../../src/policy/read-names.js";
import { Fleet } from "./fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
});
afterEach(() => fleet.close());

const BODY = `tools: { allowed: ["calculate", "ev__*", "two__*"], denied: [ev__secret], rate_limits: { default: 10000 } }
profiles:
  work: { servers: [two], tools: { allowed: ["two__*"], denied: [two__b] } }
`;

/** A server of some tools; `words` makes their descriptions longer. */
function offering(names: readonly string[], words = 0): Server {
  const server = new Server({ name: "some", version: "1" });
  for (const name of names)
    server.tool(name, {
      description: `Does ${name} with honest words. ${"More words. ".repeat(words)}`,
      input: { type: "object", properties: { path: { type: "string" } } },
      run: (args) => `${name} did ${JSON.stringify(args)}`,
    });
  return server;
}

async function served(body: string, { words = 0, profile }: { words?: number; profile?: string } = {}): Promise<void> {
  fleet.make("ev", () => offering(["open", "secret"], words));
  fleet.make("two", () => offering(["a", "b"], words));
  const policy = await fleet.policy(body);
  await fleet.approve(policy);
  await fleet.serve(profile === undefined ? policy : profiledPolicy(policy, profile));
}

const names = async (revision = "2025-11-25"): Promise<string[]> => {
  const peer = await fleet.client(revision);
  const { tools } = (await peer.request("tools/list")) as { tools: { name: string }[] };
  return tools.map(({ name }) => name).sort();
};

const call = async (name: string, args: JsonObject, revision = "2025-11-25"): Promise<string> => {
  const peer = await fleet.client(revision);
  const answer = await peer
    .request("tools/call", { name, arguments: args })
    .catch((error: unknown) => ({ error: (error as Error).message }));
  return JSON.stringify(answer);
};

it("lists everything where the menu is full, and what fits in it where it is auto", async () => {
  await served(BODY);
  expect(await names()).toEqual(["calculate", "ev__open", "two__a", "two__b"]);
  await fleet.close();
  fleet = new Fleet();
  await served(`${BODY}menu: auto\n`);
  expect(await names()).toEqual(["calculate", "ev__open", "search_tools", "two__a", "two__b"]);
});

it.each(["2025-11-25", "2026-07-28"])(
  "lists two where everything is too long, in %s, and says so",
  async (revision) => {
    await served(`${BODY}menu: auto\n`, { words: 1_500 });
    expect(await names(revision)).toEqual(["call_tool", "search_tools"]);
    expect(fleet.said.join("\n")).toMatch(/menu: auto: 5 tools take about \d+ tokens, more than 12000/);
    // What somebody does changes nothing of it.
    expect(await call("two__a", { path: "x" }, revision)).toContain("a did");
    expect(await call("call_tool", { name: "ev__open" }, revision)).toContain("open did {}");
    expect(await names(revision)).toEqual(["call_tool", "search_tools"]);
  },
);

it("finds and calls what is not in the list, by its name and under its own rule, with one record for a call", async () => {
  await served(`${BODY}menu: search\n`);
  expect(await names()).toEqual(["call_tool", "search_tools"]);
  expect(fleet.starts).toEqual([]);
  expect(await call("search_tools", { query: "", detail: "full" })).toContain("two__b");
  expect(await call("call_tool", { name: "two__b", arguments: { path: "y" } })).toContain('b did {\\"path\\":\\"y\\"}');
  const records = fleet.audit.records().filter(({ kind, tool }) => kind === "call.intent" && tool !== "search_tools");
  expect(records).toHaveLength(1);
  expect(records[0]).toMatchObject({
    tool: "two__b",
    server: "two",
    arguments: { path: "y" },
    decision: { allowed: true, rule: "tools.allowed: two__*" },
  });
});

it("reveals nothing in a search that may not be called, and calls nothing that is denied", async () => {
  await served(`${BODY}menu: search\n`);
  for (const query of ["", "secret", "ev__secret"])
    for (const detail of ["names", "summary", "full"])
      expect(await call("search_tools", { query, detail, limit: 100 })).not.toContain("secret with honest");
  expect(await call("search_tools", { query: "", detail: "names", limit: 100 })).not.toContain("ev__secret");
  const denied = await call("call_tool", { name: "ev__secret" });
  expect(denied).toBe(await call("ev__secret", {}));
  expect(denied).toContain("Denied");
  expect(await call("call_tool", { name: "web_fetch", arguments: { url: "https://x.example" } })).toContain("Denied");
  const refusals = fleet.audit.records().filter(({ kind }) => kind === "denied");
  expect(refusals.map(({ tool }) => tool)).toEqual(["ev__secret", "ev__secret", "web_fetch"]);
  expect(fleet.starts).toEqual([]);
});

it.each([
  [{ name: "call_tool", arguments: { name: "calculate" } }, "does not call itself"],
  [{ name: 7 }, "Invalid arguments for tool call_tool"],
  [{ name: "calculate", arguments: ["x"] }, "Invalid arguments for tool call_tool"],
  [{ name: "calculate", arguments: {} }, "Invalid arguments for tool calculate"],
  [{ name: "nothing" }, "nothing"],
])("answers a call of %j with what is wrong", async (args, words) => {
  await served(`${BODY}menu: search\n`);
  expect(await call("call_tool", args)).toContain(words);
});

it("shows everything where the policy denies what the menu needs", async () => {
  await served(BODY.replace("denied: [", "denied: [call_tool, ") + "menu: search\n");
  expect(await names()).toEqual(["calculate", "ev__open", "search_tools", "two__a", "two__b"]);
  expect(fleet.said.join("\n")).toContain("menu: search: the policy denies call_tool, so lists show every tool");
});

it("gives a profile its servers and tools and no more, and puts its name on record", async () => {
  await served(BODY, { profile: "work" });
  expect(await names()).toEqual(["two__a"]);
  expect(await call("two__a", {})).toContain("a did");
  const told = [await call("two__b", {}), await call("calculate", { expression: "1" }), await call("ev__open", {})];
  expect(told.join("\n")).not.toContain("did");
  expect(told[0]).toContain('The profile work denies the tool \\"two__b\\"');
  expect(told[1]).toContain("profiles.work.tools.allowed");
  expect(fleet.starts).toEqual(["two"]);
  expect(fleet.audit.records().every(({ profile }) => profile === "work")).toBe(true);
  expect(fleet.audit.records().find(({ tool, kind }) => kind === "denied" && tool === "two__b")).toMatchObject({
    decision: { allowed: false, rule: "profiles.work.tools.denied: two__b", line: 4 },
  });
});

it("lets a profile search its own tools alone", async () => {
  await served(`${BODY}menu: search\n`, { profile: "work" });
  expect(await names()).toEqual(["call_tool", "search_tools"]);
  const found = await call("search_tools", { query: "", detail: "names", limit: 100 });
  expect(found).toContain("two__a");
  for (const hidden of ["two__b", "ev__", "calculate"]) expect(found).not.toContain(hidden);
  expect(await call("call_tool", { name: "calculate", arguments: { expression: "1" } })).toContain("Denied");
});
