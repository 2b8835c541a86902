// Tools, prompts and the resource as a client meets them: registered in a server of the library.
import { Server } from "@secure-local/mcp/server";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ReadLog } from "../../src/capabilities/files/file-system.js";
import { analyzeLogs } from "../../src/prompts/analyze-logs.js";
import { codeReview } from "../../src/prompts/code-review.js";
import { SERVER_INFO_URI, serverInfo } from "../../src/resources/file-resources.js";
import { calculate } from "../../src/tools/calculate/calculate.js";
import { getTimestamp } from "../../src/tools/get-timestamp/get-timestamp.js";
import { queryDatabase } from "../../src/tools/query-database/query-database.js";
import { runCommand } from "../../src/tools/run-command/run-command.js";
import { webFetch } from "../../src/tools/web-fetch/web-fetch.js";
import { webSearch } from "../../src/tools/web-search/web-search.js";
import { toolDefinition, type ToolPowers } from "../../src/tools/tool.js";
import { sharedPowers } from "./powers.js";

const identity = { name: "mcp-secure-local", version: "1.0.0" };

async function connected(revision: string, readLog?: ReadLog): Promise<MemoryPeer> {
  const server = new Server(identity);
  const powers = sharedPowers();
  server.tool(calculate.name, toolDefinition(calculate, powers));
  server.tool(getTimestamp.name, toolDefinition(getTimestamp, powers));
  server.prompt("code_review", codeReview);
  server.prompt("analyze_logs", analyzeLogs({ readLog, clock: powers.clock }));
  const host = {
    uptime: () => 1.5,
    memoryUsage: () => ({ heapUsed: 7 }),
    version: "v20.0.0",
    platform: "linux",
    pid: 42,
  };
  server.resource(SERVER_INFO_URI, serverInfo(identity, host));
  return await connectInMemory(server, { revision });
}

describe.each(["2024-11-05", "2025-11-25", "2026-07-28"])("in revision %s", (revision) => {
  it("calculates, and says what is wrong with an expression", async () => {
    const peer = await connected(revision);
    const call = (expression: string) => peer.request("tools/call", { name: "calculate", arguments: { expression } });
    const sum = await call("2 + 3 * 4");
    expect((sum["content"] as object[])[0]).toEqual({ type: "text", text: "14" });
    if (revision > "2025-06") expect(sum).toMatchObject({ content: { length: 1 }, structuredContent: { result: 14 } });
    const failed = {
      content: [{ type: "text", text: "Error evaluating expression: division by zero" }],
      isError: true,
    };
    expect(await call("1/0")).toMatchObject(failed);
    const now = await peer.request("tools/call", { name: "get_timestamp", arguments: {} });
    expect((now["content"] as object[])[0]).toEqual({ type: "text", text: "2026-01-02T03:04:05.678Z" });
    await peer.close();
  });

  it("tells about the server", async () => {
    const peer = await connected(revision);
    const { contents } = (await peer.request("resources/read", { uri: "server://info" })) as {
      contents: { text: string }[];
    };
    expect(contents).toMatchObject([{ uri: "server://info", mimeType: "application/json" }]);
    expect(JSON.parse(contents[0]?.text ?? "")).toEqual({
      server: identity,
      uptime: 1.5,
      memoryUsage: 7,
      nodeVersion: "v20.0.0",
      platform: "linux",
      pid: 42,
    });
    await peer.close();
  });

  it("completes the language of a review", async () => {
    const peer = await connected(revision);
    const complete = async (name: string, argument: string, value: string) => {
      const ref = { type: "ref/prompt", name };
      return (await peer.request("completion/complete", { ref, argument: { name: argument, value } }))["completion"];
    };
    expect(await complete("code_review", "language", "py")).toEqual({
      values: ["python", "pytorch", "pyside"],
      total: 10,
      hasMore: true,
    });
    expect(await complete("code_review", "language", "Script")).toMatchObject({
      values: ["javascript", "typescript"],
      hasMore: false,
    });
    expect(await complete("code_review", "language", "klingon")).toMatchObject({ values: [], total: 0 });
    expect(await complete("analyze_logs", "timeframe", "2")).toMatchObject({ values: ["24h"] });
    expect(await complete("analyze_logs", "severity", "err")).toMatchObject({ values: ["error"] });
    await peer.close();
  });
});

describe("prompts", () => {
  const text = async (peer: MemoryPeer, name: string, args: Record<string, string>) => {
    const result = await peer.request("prompts/get", { name, arguments: args });
    const { description, messages } = result as { description: string; messages: { content: { text: string } }[] };
    return { description, text: messages[0]?.content.text };
  };
  const entries =
    "2026-01-02T02:00:00Z ERROR disk full\n2026-01-02T02:30:00Z INFO fine\n2026-01-01T00:00:00Z ERROR old";

  it("code_review asks as the protocol reference does", async () => {
    const peer = await connected("2025-11-25");
    const code = "def hello():\n    print('world')";
    const asked = `Please review this Python code:\n${code}`;
    expect(await text(peer, "code_review", { code })).toEqual({ description: "Code review prompt", text: asked });
    expect((await text(peer, "code_review", { code: "x = 1" })).text).toBe("Please review this code:\nx = 1");
    expect((await text(peer, "code_review", { code, language: "TYPESCRIPT" })).text).toContain("this TypeScript code");
    expect((await text(peer, "code_review", { code, language: "Befunge" })).text).toContain("this Befunge code");
  });

  it("analyze_logs carries the log that fits", async () => {
    const peer = await connected("2025-11-25", async () => entries);
    expect(await text(peer, "analyze_logs", { timeframe: "24h", severity: "error" })).toEqual({
      description: "Analyze application logs for the last 24 hours",
      text: "Analyze the following application logs from the last 24 hours. Focus on errors with severity 'error' or higher. Identify patterns, root causes, and recommend fixes.\n\n2026-01-02T02:00:00Z ERROR disk full",
    });
    expect((await text(peer, "analyze_logs", { timeframe: "15m" })).text).toContain(
      "[The log has no entries of that time",
    );
    for (const [args, path] of [
      [{ timeframe: "soon" }, "/arguments/timeframe"],
      [{ timeframe: "1h", severity: "loud" }, "/arguments/severity"],
    ] as const) {
      await expect(text(peer, "analyze_logs", args)).rejects.toMatchObject({ code: -32602, data: { path } });
    }
  });

  it("analyze_logs says when there is no log, and embeds the newest part of a long one", async () => {
    expect((await text(await connected("2025-11-25"), "analyze_logs", { timeframe: "1h" })).text).toContain(
      "No log is named in the policy",
    );
    const gone = () => Promise.reject(Object.assign(new Error("/secret/path"), { code: "ENOENT" }));
    const unreadable = (await text(await connected("2025-11-25", gone), "analyze_logs", { timeframe: "1h" })).text;
    expect(unreadable).toContain("could not be read (ENOENT)");
    expect(unreadable).not.toContain("/secret");
    const long = async () => Array.from({ length: 40_000 }, (_, index) => `entry ${index}`).join("\n");
    const cut = (await text(await connected("2025-11-25", long), "analyze_logs", { timeframe: "1h" })).text ?? "";
    expect(cut).toMatch(/\[\.\.\. \d+ characters of older entries left out \.\.\.\]\nentry \d+\n/);
    expect(cut.endsWith("entry 39999")).toBe(true);
    expect(cut.length).toBeLessThan(263_000);
  });
});

describe("a tool that waits for somebody else", () => {
  const slow = { ...calculate, name: "slow", waits: true as const };

  async function told(run: (powers: ToolPowers) => Promise<string>, ms: number): Promise<unknown[]> {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = new Server(identity);
    let begun = false;
    server.tool(
      "slow",
      toolDefinition({ ...slow, run: (_args, powers) => ((begun = true), run(powers)) }, sharedPowers()),
    );
    const peer = await connectInMemory(server, { revision: "2025-11-25" });
    const calling = peer.request("tools/call", {
      name: "slow",
      arguments: { expression: "1" },
      _meta: { progressToken: "p" },
    });
    await vi.waitFor(() => expect(begun).toBe(true));
    vi.advanceTimersByTime(ms);
    finish();
    await calling;
    vi.advanceTimersByTime(10_000);
    await peer.close();
    const notes = peer.messages.filter(({ method }) => method === "notifications/progress");
    return notes.map(({ params }) => (params as { progress: number }).progress);
  }
  let finish = (): void => undefined;
  const done = (): Promise<string> => new Promise((resolve) => (finish = () => resolve("done")));

  it("has its caller told that it goes on, from two seconds on and until it ends", async () => {
    expect(await told(done, 1_900)).toEqual([]);
    const [first] = await told(done, 4_100);
    expect(first).toBe(2);
  });

  it("speaks for itself as soon as it does", async () => {
    const own = async ({ progress }: ToolPowers): Promise<string> => {
      await progress(500);
      return await done();
    };
    expect(await told(own, 9_000)).toEqual([500]);
  });
});

it("every tool that waits for others says so", async () => {
  const waiting = [
    webFetch,
    webSearch({} as never),
    queryDatabase,
    runCommand({ run: () => Promise.reject(new Error()), commands: [] }),
  ];
  expect(waiting.map(({ waits }) => waits)).toEqual([true, true, true, true]);
});
