// What works for our own tools works for those of servers: the record, `policy explain`, `tools`, `call`, metrics.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { Metrics } from "../../src/observe/metrics.js";
import { Household, said, tool, toolNames } from "./household.js";

const LONG = "a_tool_with_a_name_that_is_far_too_long_to_stand_behind_that_of_a_server";
const TOOLS = [tool("read", { annotations: { readOnlyHint: true } }), tool("write"), tool("move"), tool(LONG)];

const house = new Household();
const notes = house.program("notes", { tools: TOOLS });
const entry = (more = ""): string => `version: "1.0"
tools: { allowed: [calculate, "notes__*"], denied: [notes__write] }
servers:
  notes:
    command: [node, ${notes}]
    ${house.readable}
    tools: { denied: [move] }
${more}`;

beforeAll(async () => {
  house.write(entry());
  const reviewed = await house.approve("notes");
  expect([reviewed.code, reviewed.stderr]).toEqual([0, ""]);
});
afterEach(() => house.closeClients());
afterAll(() => house.close());

const records = async (...filter: string[]): Promise<Record<string, unknown>[]> => {
  const { stdout } = await house.run(["audit", "query", ...filter, "--json"]);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

it("records both hops of a call in one record, and finds the calls of a server", async () => {
  const client = await house.client();
  await said(client, "notes__read");
  await said(client, "notes__write");
  await said(client, "calculate", { expression: "1+1" });
  await client.close();
  const all = await records("server=notes");
  expect(all.filter(({ kind }) => kind === "server.started")).toHaveLength(1);
  const found = all.filter(({ kind }) => kind !== "server.started" && !String(kind).startsWith("sandbox."));
  expect(found.map(({ kind, tool }) => `${String(kind)} ${String(tool)}`)).toEqual([
    "call.intent notes__read",
    "call.result notes__read",
    "denied notes__write",
  ]);
  expect(found[1]).toMatchObject({
    id: expect.any(Number) as number,
    revision: "2025-11-25",
    server: "notes",
    upstream: { revision: "2025-06-18", transport: "stdio", ids: [expect.any(Number)], ms: expect.any(Number) },
  });
  const times = [
    found[0]?.["time"],
    (found[1]?.["upstream"] as { sent?: string } | undefined)?.sent,
    found[1]?.["time"],
  ].map(String);
  expect(times).toEqual(times.toSorted());
  const table = await house.run(["audit", "query", "server=notes"]);
  expect(table.stdout.match(/notes__read/g)).toHaveLength(1);
  expect(await records("server=other")).toEqual([]);
  // Our own tools have no second hop.
  expect((await records("tool=calculate")).every((record) => !("server" in record) && !("upstream" in record))).toBe(
    true,
  );
});

it("says which rule decides about a tool of a server, as the call then does", async () => {
  const explained = async (name: string): Promise<string> =>
    (await house.run(["policy", "explain", "call", name])).stdout;
  expect(await explained("notes__read")).toMatch(/^allowed.*tools\.allowed: notes__\*/s);
  expect(await explained("notes__write")).toMatch(/^denied.*tools\.denied: notes__write/s);
  expect(await explained("notes__move")).toMatch(/^denied.*servers\.notes\.tools\.denied: move/s);
  expect(await explained("notes__none")).toMatch(/^denied.*Nothing called notes__none was approved/s);
  const client = await house.client();
  expect(await said(client, "notes__move")).toMatch(/^Denied\..*servers\.notes\.tools\.denied: move/s);
  expect(await said(client, "notes__read")).toBe("did read");
});

it("says of a server that was not approved, or is disabled, why its tools cannot be called", async () => {
  const other = entry().replace(/notes/g, "other").replaceAll("other.mjs", "notes.mjs");
  house.write(other);
  const { stdout } = await house.run(["policy", "explain", "call", "other__read"]);
  expect(stdout).toMatch(/^denied.*Nothing of the server other was approved yet: .*servers review other/s);
  house.write(entry("    enabled: false\n"));
  expect((await house.run(["policy", "explain", "call", "notes__read"])).stdout).toContain("enabled: false");
  house.write(entry());
});

it("lists and calls a server's tools under names that clients take", async () => {
  const { stdout } = await house.run(["tools", "--json"]);
  const names = (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name).sort();
  expect(names).toEqual(await toolNames(await house.client()));
  expect(names).toHaveLength(3);
  const long = names.find((name) => name.startsWith("notes__a_tool")) as string;
  expect(long).toHaveLength(60);
  expect(await house.run(["call", long])).toMatchObject({ code: 0, stdout: expect.stringContaining("did a_tool") });
});

it("withholds a changed tool whose name had to be shortened, from the first call on", async () => {
  const long = (await toolNames(await house.client())).find((name) => name.startsWith("notes__a_tool")) as string;
  house.offer("notes", [...TOOLS.slice(0, 3), tool(LONG, { description: "Does something else." })]);
  expect(await said(await house.client(), long)).toMatch(/^Denied\..*tool a_tool\S* was changed/);
  house.offer("notes", TOOLS);
});

it("counts calls by server", async () => {
  const metrics = new Metrics("1.0.0");
  const sink = metrics.listenTo(new MemoryAudit());
  const call = { method: "tools/call", tool: "notes__read", server: "notes" };
  await sink.record({ kind: "call.result", ...call, outcome: "ok", duration_ms: 1 });
  await sink.record({ kind: "denied", ...call, outcome: "denied", decision: { allowed: false, rule: "x" } });
  await sink.record({ kind: "call.result", method: "tools/call", tool: "calculate", outcome: "ok" });
  const load = { sessions: 0, streams: 0, connections: 0, bytesIn: 0, bytesOut: 0 };
  const text = metrics.text(load, { failure: undefined });
  metrics.close();
  expect(text).toContain(
    'mcp_secure_local_calls_total{method="tools/call",name="notes__read",mcp_server="notes",outcome="ok"} 1',
  );
  expect(text).toContain('mcp_server="notes",outcome="denied"} 1');
  expect(text).toContain('{method="tools/call",name="calculate",outcome="ok"} 1');
});
