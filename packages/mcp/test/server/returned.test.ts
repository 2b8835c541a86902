// What a handler returns or throws by mistake, or in the words of another SDK, is told to whom it concerns and to nobody else.
import { describe, expect, it } from "vitest";
import { Server, ToolError } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";

interface Seen {
  readonly result: { content: { text: string }[]; structuredContent?: unknown; isError: boolean };
  readonly log: string;
}

async function seen(run: () => unknown, revision?: string): Promise<Seen> {
  const log: string[] = [];
  const server = new Server({
    name: "s",
    version: "1",
    report: (_level, _message, details) => log.push(String(details?.["error"])),
  });
  server.tool("t", { run: run as () => object });
  const peer = await connect(server, revision === undefined ? {} : { revision });
  const result = await peer.request("tools/call", { name: "t" });
  return { result: result as unknown as Seen["result"], log: log.join("\n") };
}

describe("a tool that returns", () => {
  it.each([
    [() => ({ content: [{ type: "text", text: "hi" }] }), "result({ content, structuredContent })"],
    [() => ({ content: [{ type: "text", text: "hi" }], isError: true }), "in the form of the wire"],
    [() => new Map([[1, 1]]), "or Object.fromEntries(map)"],
    [() => new Error("lost"), "throw it"],
    [() => new Response("x"), "await response.json()"],
    [() => new Uint8Array(3), "resource(uri, bytes)"],
    [() => 5n, "BigInt"],
    [() => run, "function"],
  ])("%s fails, and the log says what to return", async (returned, expected) => {
    const { result, log } = await seen(returned);
    expect(result.isError).toBe(true);
    expect(log).toContain(expected);
  });

  it("data that only looks like content is data", async () => {
    const documents = [
      { content: "text" },
      { content: [] },
      { content: ["a"] },
      { path: "a", content: [{ type: "text", text: "a" }] },
    ];
    for (const each of documents) {
      expect((await seen(() => each)).result).toMatchObject({ isError: false, structuredContent: each });
    }
  });

  it.each(["2025-11-25", "2026-07-28"])("a Date or a URL answers in text in %s", async (revision) => {
    const at = new Date(0);
    expect((await seen(() => at, revision)).result).toEqual(
      expect.objectContaining({ content: [{ type: "text", text: at.toISOString() }], isError: false }),
    );
    const url = await seen(() => new URL("https://a.example/b"), revision);
    expect(url.result.content[0]?.text).toBe("https://a.example/b");
    expect(url.result).not.toHaveProperty("structuredContent");
    const own = await seen(() => ({ toJSON: () => ({ kind: "own" }) }), revision);
    expect(own.result.structuredContent).toEqual({ kind: "own" });
  });
});

function deep(): never {
  throw new ToolError("There is no note 7", { data: { id: 7 }, cause: new Error("select returned nothing") });
}

describe("a ToolError", () => {
  it("thrown from any depth is what the model reads, and is no report", async () => {
    const { result, log } = await seen(async () => [await Promise.resolve().then(deep)]);
    expect(result).toMatchObject({
      content: [{ text: "There is no note 7" }],
      structuredContent: { id: 7 },
      isError: true,
    });
    expect(log).toBe("");
  });

  it("below a resource, a prompt, a completer and a method is the message of the error", async () => {
    const server = new Server({ name: "s", version: "1", report: false });
    server.resource("a:b", { read: deep });
    server.prompt("p", { run: deep, arguments: { a: { complete: deep } } });
    server.method("acme/deep", deep);
    const peer = await connect(server);
    const complete = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } };
    for (const asked of [
      peer.request("resources/read", { uri: "a:b" }),
      peer.request("prompts/get", { name: "p" }),
      peer.request("completion/complete", complete),
      peer.request("acme/deep"),
    ]) {
      await expect(asked).rejects.toThrow("There is no note 7");
    }
  });
});

it("a resource that returns the form of the wire is told of in the log", async () => {
  const log: string[] = [];
  const server = new Server({
    name: "s",
    version: "1",
    report: (_level, _message, details) => log.push(String(details?.["error"])),
  });
  server.resource("a:b", { read: () => ({ contents: [{ uri: "a:b", text: "x" }] }) as never });
  const peer = await connect(server);
  await expect(peer.request("resources/read", { uri: "a:b" })).rejects.toThrow("Internal error");
  expect(log[0]).toContain("return the text, the bytes");
});

function run(): string {
  return "";
}
