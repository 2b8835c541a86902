// A package of tools may bring a copy of the library of its own: what it makes is known to the copy that serves it.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type * as ServerEntry from "@secure-local/mcp/server";
import { connect } from "@secure-local/mcp/client";
import { connectInMemory } from "@secure-local/mcp/testing";
import { RpcError, Server } from "@secure-local/mcp/server";

const dist = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "dist");
let folder = "";
let other: typeof ServerEntry;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "two-copies-"));
  cpSync(dist, folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  other = (await import(pathToFileURL(join(folder, "server.js")).href)) as typeof ServerEntry;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("of another copy", () => {
  it("blocks, results, questions and errors are what they are", async () => {
    const server = new Server({ name: "s", version: "1" });
    server.tool("text", { run: () => other.text("hello") });
    server.tool("result", {
      run: () => other.result({ content: ["a", other.text("b")], structuredContent: { c: 1 } }),
    });
    server.tool("asks", { run: () => other.inputRequired({ state: { secret: true } }) });
    server.tool("refuses", {
      run: () => {
        throw new other.RpcError(-32000, "No");
      },
    });
    server.tool("fails", {
      run: () => {
        throw new other.ToolError("For the model");
      },
    });
    server.prompt("p", { run: () => other.text("prompt") });
    const peer = await connectInMemory(server, { capabilities: { elicitation: {} } });
    const call = (name: string): Promise<unknown> => peer.request("tools/call", { name });
    expect(await call("text")).toMatchObject({ content: [{ type: "text", text: "hello" }] });
    expect(await call("result")).toMatchObject({
      content: [{ text: "a" }, { text: "b" }],
      structuredContent: { c: 1 },
    });
    const asked = await call("asks");
    expect(asked).toMatchObject({ resultType: "input_required" });
    expect(JSON.stringify(asked)).not.toContain("secret");
    await expect(call("refuses")).rejects.toThrow("No");
    expect(await call("fails")).toMatchObject({ isError: true, content: [{ text: "For the model" }] });
    expect(await peer.request("prompts/get", { name: "p" })).toMatchObject({
      messages: [{ content: { text: "prompt" } }],
    });
    await peer.close();
  });

  it("a server is connected to", async () => {
    const server = new other.Server({ name: "s", version: "1" });
    server.tool("hello", { run: () => "hello" });
    await using client = await connect(server);
    expect(await client.call("hello")).toMatchObject({ content: [{ text: "hello" }] });
  });

  it("errors are told apart as usual, and classes derived from them too", () => {
    class Own extends RpcError {}
    expect(new other.RpcError(1, "") instanceof RpcError).toBe(true);
    expect(new other.ToolError("") instanceof RpcError).toBe(false);
    expect(new Own(1, "") instanceof RpcError).toBe(true);
    expect(new RpcError(1, "") instanceof Own).toBe(false);
    expect(new Own(1, "") instanceof other.LocalError).toBe(false);
  });
});
