// The official clients against the built command: each client uses all that its revision has, behind the guard.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS } from "../../../mcp/test/interop/clients.js";
import type { OfficialClient } from "../../../mcp/test/interop/official-client.js";
import { soaking } from "../../../mcp/test/support/soak.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { HELD, type SearchedProduct, searchedProduct, TOOLS } from "./searched-product.js";

/** Of each generation of the SDK and each era one, the oldest revision and the newest ones: the library is shown to all of them. */
const USUAL = new Set(["v1", "v2 asking for 2024-11-05", "v2 auto"]);
const clients = CLIENTS.filter(({ name }) => soaking || USUAL.has(name));

it("each kind of client in the usual run is one there is", () => {
  expect(clients.length).toBeGreaterThanOrEqual(USUAL.size);
});

describe.each(clients)("mcp-secure-local with $name", ({ revision, connect }) => {
  let product: SearchedProduct;
  let client: OfficialClient;
  const has = (since: string): boolean => revision >= since;

  beforeAll(async () => {
    product = await searchedProduct();
    client = await connect(product.target);
  });
  afterAll(async () => {
    await client.close();
    await product.close();
  });

  it("agrees on the revision and says who it is", () => {
    expect(client.revision).toBe(revision);
    expect(client.server?.name).toBe("mcp-secure-local");
    expect(client.instructions).toContain("policy");
    expect(client.capabilities).toMatchObject({ tools: { listChanged: true }, logging: {} });
  });

  it("lists what the policy allows", async () => {
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(TOOLS);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["server://info"]);
    expect((await client.listPrompts()).prompts.map(({ name }) => name).sort()).toEqual([
      "analyze_logs",
      "code_review",
    ]);
  });

  it("calculates, tells the time and says what is wrong with arguments", async () => {
    const sum = await client.call("calculate", { expression: "2 + 3 * 4" });
    expect(sum).toMatchObject({ isError: false, content: [{ type: "text", text: "14" }] });
    const time = await client.call("get_timestamp");
    expect(time.content).toEqual([{ type: "text", text: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) }]);
    expect(await client.call("calculate", { expression: 2 })).toMatchObject({ isError: true });
    await expect(client.call("nonexistent_tool")).rejects.toMatchObject({ code: -32602 });
  });

  it("searches, and gives a search up when its caller does", async () => {
    const found = await client.call("web_search", { query: "MCP protocol", max_results: 2 });
    expect(found.isError).toBe(false);
    expect(JSON.stringify(found.content)).toContain(
      "Search results for: MCP protocol\\n\\n1. Context protocol overview",
    );
    const controller = new AbortController();
    const search = client.call("web_search", { query: HELD }, { signal: controller.signal });
    const refused = expect(search).rejects.toThrow("enough");
    await product.held();
    controller.abort("enough");
    await refused;
    await product.released();
  });

  it("shows its state, and only what there is", async () => {
    const { contents } = await client.readResource("server://info");
    expect(contents).toMatchObject([{ uri: "server://info", mimeType: "application/json" }]);
    expect(Object.keys(await infoOf(client))).toEqual([
      "server",
      "uptime",
      "memoryUsage",
      "nodeVersion",
      "platform",
      "pid",
    ]);
    const error = await client.readResource("server://secrets").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ data: { uri: "server://secrets" } });
  });

  it("gives prompts and completes their arguments", async () => {
    const review = await client.getPrompt("code_review", { code: "def f():\n  pass" });
    expect(JSON.stringify(review.messages)).toContain("Please review this Python code:");
    const logs = await client.getPrompt("analyze_logs", { timeframe: "24h", severity: "error" });
    expect(JSON.stringify(logs.messages)).toContain("ERROR the database is away");
    const ref = { type: "ref/prompt", name: "code_review" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "language", value: "py" } });
    expect(completion).toEqual({ values: ["python", "pytorch", "pyside"], total: 10, hasMore: true });
    await expect(client.getPrompt("analyze_logs", { timeframe: "soon" })).rejects.toMatchObject({ code: -32602 });
  });

  it("announces a policy that allows less, and obeys it", async () => {
    const stop = await client.watchLists();
    if (!has("2026-07-28")) await client.call("get_timestamp", {}, { logLevel: "notice" });
    client.arrived.clear();
    await product.allow(["calculate"]);
    process.kill(Number((await infoOf(client))["pid"]), "SIGHUP");
    await client.arrived.several("notifications/tools/list_changed", 1);
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(["calculate"]);
    if (!has("2026-07-28")) {
      const [message] = await client.arrived.several("notifications/message", 1);
      expect(message).toMatchObject({ level: "notice", logger: "policy", data: { event: "reloaded" } });
    }
    await stop();
  });

  it("logs to the caller what the guard refused", async () => {
    client.arrived.clear();
    const refused = await client.call("get_timestamp", {}, { logLevel: "warning" }).catch((reason: unknown) => reason);
    expect(JSON.stringify(refused)).not.toMatch(/\d{4}-\d\d-\d\dT/);
    const [message] = await client.arrived.several("notifications/message", 1);
    expect(message).toMatchObject({ level: "warning", logger: "guard", data: { tool: "get_timestamp" } });
  });

  it("wrote nothing that the revision's own schema refuses, and answered all but what was cancelled", () => {
    expect(client.tap.faults(revision)).toEqual([]);
    const listens = has("2026-07-28") ? ["subscriptions/listen"] : [];
    expect(client.tap.unanswered().sort()).toEqual([...listens, "tools/call"]);
  });

  it("has kept a log that nobody changed", async () => {
    await client.close();
    const { code, stdout } = await runQuickly(["audit", "verify", product.auditFile], { home: temporaryFolder() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {2}.*none changed, missing or added/);
    expect(await readFile(product.auditFile, "utf8")).toContain('"web_search"');
  });
});

async function infoOf(client: OfficialClient): Promise<Record<string, unknown>> {
  const { contents } = await client.readResource("server://info");
  const [first] = contents;
  return JSON.parse(first !== undefined && "text" in first ? first.text : "{}") as Record<string, unknown>;
}
