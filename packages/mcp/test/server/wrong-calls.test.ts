// What a handler may hand to its context, to errors and to the content functions, and blocks as they stand on the wire: what clients
// would refuse, or what would be lost without a word, is told with what to write.
import { describe, expect, it } from "vitest";
import { audio, type Context, image, result, Server, ToolError } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";
import { reportingServer } from "../support/reporting-server.js";

interface Seen {
  readonly answer: { readonly isError?: boolean; readonly content?: readonly object[] };
  readonly log: string;
}

type Log = (server: Server) => void;

async function seen(add: Log, method: string, params: Readonly<Record<string, unknown>>): Promise<Seen> {
  const { server, log } = reportingServer();
  add(server);
  const peer = await connect(server, { revision: "2025-11-25" });
  const answer = await peer.request(method, params).catch(() => ({ isError: true }));
  return { answer, log: log.join("\n") };
}

const is = (value: unknown): never => value as never;
const ofTool = (run: (ctx: Context) => unknown): Promise<Seen> =>
  seen((server) => server.tool("t", { run: (_, ctx) => is(run(ctx)) }), "tools/call", {
    name: "t",
    _meta: { progressToken: 1 },
  });

const uri = "a://b";
/** Blocks of the wire that clients refuse, and what the log says of each. */
const BLOCKS: readonly (readonly [string, object, string])[] = [
  [
    "an image as a data URL",
    { type: "image", data: "data:image/png;base64,AAAA", mimeType: "image/png" },
    "a data URL",
  ],
  ["an image in no base64", { type: "image", data: "a b", mimeType: "image/png" }, "no padded standard base64"],
  ["an image of no type", { type: "image", data: "AAAA" }, 'mimeType: "image/png"'],
  ["an image of half a type", { type: "image", data: "AAAA", mimeType: "png" }, 'mimeType: "image/png"'],
  ["a sound of no type", { type: "audio", data: "AAAA" }, 'mimeType: "audio/wav"'],
];
/** Those that are data where they stand alone, and content in `result`. */
const IN_RESULT: readonly (readonly [string, object, string])[] = [
  ...BLOCKS,
  ["a text that is none", { type: "text", text: 5 }, "write text(...)"],
  ["a kind there is not", { type: "picture" }, 'the text "picture" as "type"'],
  ["a link without a name", { type: "resource_link", uri }, "write link({ uri, name })"],
  ["a resource that is none", { type: "resource", resource: 5 }, "write resource(uri, contents)"],
  ["a resource without a URI", { type: "resource", resource: { text: "a" } }, 'no "uri"'],
  ["a resource of bytes", { type: "resource", resource: { uri, blob: new Uint8Array(1) } }, "Buffer.from(bytes)"],
];

describe("a block of the wire", () => {
  const good = { type: "text", text: "a" };
  it.each(BLOCKS)("%s fails alone and in a list", async (_what, block, words) => {
    for (const returned of [block, [good, block], ["a", block]]) {
      const { answer, log } = await ofTool(() => returned);
      expect(answer.isError).toBe(true);
      expect(log).toContain(words);
    }
  });

  it.each(IN_RESULT)("%s fails in result()", async (_what, block, words) => {
    const { answer, log } = await ofTool(() => result({ content: [is(good), is(block)], structuredContent: { a: 1 } }));
    expect(answer.isError).toBe(true);
    expect(log).toContain("of which [1]");
    expect(log).toContain(words);
  });

  it("passes where it is right", async () => {
    const content = [good, { type: "image", data: "AAAA", mimeType: "image/svg+xml; charset=utf-8" }];
    for (const returned of [content, result({ content: is(content) })]) {
      const { answer, log } = await ofTool(() => returned);
      expect(log).toBe("");
      expect(answer.content).toEqual(content);
    }
  });
});

describe("a member that JSON leaves out fails the call", () => {
  const values = { function: () => 1, symbol: Symbol("s"), "async function": async () => Promise.resolve() };
  it.each(Object.entries(values))("%s", async (_what, value) => {
    for (const returned of [
      { m: value },
      { a: [{ m: value }] },
      [value],
      result({ structuredContent: { m: value } }),
    ]) {
      const { answer, log } = await ofTool(() => returned);
      expect(answer.isError).toBe(true);
      expect(log).toMatch(/returned a (function|symbol) at .*leave that member out/);
    }
  });

  it("but not where the value says itself what it is", async () => {
    const { answer, log } = await ofTool(() => ({ at: { toJSON: () => "now" }, none: undefined }));
    expect(log).toBe("");
    expect(answer.content).toEqual([{ type: "text", text: '{"at":"now"}' }]);
  });
});

describe("says at once what to write", () => {
  it.each<readonly [string, (ctx: Context) => unknown, string]>([
    ["isError as text", () => result({ isError: is("yes") }), "write isError: true"],
    ["isError as a number", () => result({ isError: is(1) }), "write isError: true"],
    ["image of half a type", () => image("AAAA", "png"), 'write image(data, "image/png")'],
    ["audio of half a type", () => audio("AAAA", "wav"), 'write audio(data, "audio/wav")'],
    [
      "a ToolError of an object",
      () => {
        throw new ToolError(is({ code: 5 }));
      },
      "write new ToolError(",
    ],
    [
      "a ToolError of an error",
      () => {
        throw new ToolError(is(new Error("x")));
      },
      "write new ToolError(",
    ],
    [
      "a ToolError of nothing",
      () => {
        throw new ToolError(is(undefined));
      },
      "write new ToolError(",
    ],
    ["notify of one object", async (ctx) => ctx.notify(is({ method: "a/b" })), '"method" is a text'],
    ["notify of nothing", async (ctx) => ctx.notify(is(undefined)), '"method" is a text'],
    ["notify with a text", async (ctx) => ctx.notify("a/b", is("x")), '"params" is an object'],
    ["notify with a list", async (ctx) => ctx.notify("a/b", []), '"params" is an object'],
  ])("%s", async (_what, run, words) => {
    const { answer, log } = await ofTool(run);
    expect(answer.isError).toBe(true);
    expect(log).toContain(words);
  });

  it.each([
    ["an object", { progress: 1 }],
    ["a text", "1"],
    ["NaN", Number.NaN],
    ["nothing", undefined],
  ])("progress of %s is not sent, and the call goes on", async (_what, value) => {
    const { answer, log } = await ofTool(async (ctx) => {
      await ctx.progress(is(value));
      return "ok";
    });
    expect(answer.isError).toBe(false);
    expect(log).toContain("as in ctx.progress(3, 10)");
  });

  it.each<readonly [string, unknown, string]>([
    ["NaN", { a: Number.NaN }, "NaN at a"],
    ["a function", { a: () => 1 }, "a function at a"],
    ["a Response", new Response("x"), "await response.json()"],
    ["an iterator", { a: [1].values() }, "return [...value]"],
  ])("a method of one's own returns %s", async (_what, value, words) => {
    const { log } = await seen((server) => server.method("a/b", () => is(value)), "a/b", {});
    expect(log).toContain(words);
    expect(log).toContain("The method returned");
  });

  it("a method of one's own returns a Map, which is an object", async () => {
    const { answer, log } = await seen(
      (server) => server.method("a/b", async () => is(new Map([["a", 1]]))),
      "a/b",
      {},
    );
    expect(log).toBe("");
    expect(answer).toMatchObject({ a: 1 });
  });

  it.each<readonly [string, object]>([
    ["one", { cents: { type: "number" } }],
    ["several", { id: { type: "string" }, title: { type: "string" } }],
    ["one with a choice", { kind: { type: "string", enum: ["a"] } }],
  ])("an output that has the members of an object alone: %s", (_what, output) => {
    const server = new Server({ name: "s", version: "1", report: false });
    expect(() => server.tool("t", { output: is(output), run: () => is({}) })).toThrow(
      /Tool "t": "output" has the members of an object alone \(.*\): write \{ type: "object", properties:/,
    );
  });

  it.each<readonly [string, object]>([
    ["an object", { type: "object", properties: { type: { type: "string" } } }],
    ["a list", { type: "array", items: { type: "number" } }],
    ["items alone", { items: { type: "number" } }],
    ["a choice", { anyOf: [{ type: "string" }, { type: "number" }] }],
    ["anything", {}],
  ])("and an output of %s is one", (_what, output) => {
    const server = new Server({ name: "s", version: "1", report: false });
    server.tool("t", { output: is(output), run: () => is({}) });
  });
});
