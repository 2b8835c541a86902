// A client's and a host's tools in the shapes of three APIs, called as those APIs call them.
import { afterEach, describe, expect, it } from "vitest";
import { toAiTools, toAnthropicTools, toOpenAiTools } from "@secure-local/mcp/adapters";
import { type Client, connect } from "@secure-local/mcp/client";
import { Host } from "@secure-local/mcp/host";
import { audio, image, result, Server, text, ToolError } from "@secure-local/mcp/server";

const PICTURE = "aGVsbG8=";

function tools(): Server {
  const server = new Server({ name: "s", version: "1", report: false });
  const input = { type: "object", properties: { a: { type: "number" } }, required: ["a"] } as const;
  server.tool("add.one", { description: "Adds one", input, run: ({ a }) => String(a + 1) });
  server.tool("add_one", { run: () => "the other" });
  server.tool("mixed", {
    run: () => [text("before"), image(PICTURE, "image/png"), text("after"), audio(PICTURE, "audio/wav")],
  });
  server.tool("refuses", {
    run: () => {
      throw new ToolError("There is no note 7");
    },
  });
  server.tool("waits", {
    run: (_args, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
  });
  server.tool("data", { output: { type: "object" }, run: () => result({ structuredContent: { b: 2 } }) });
  return server;
}

const open: Client[] = [];
const client = async (): Promise<Client> => {
  const connected = await connect(tools());
  open.push(connected);
  return connected;
};
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

describe("OpenAI", () => {
  it("is told of functions under names it takes, and each leads to its own tool", async () => {
    const set = await toOpenAiTools(await client());
    expect(set.tools[0]).toEqual({
      type: "function",
      name: "add_one",
      description: "Adds one",
      parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      strict: false,
    });
    expect(set.tools.map(({ name }) => name)).toEqual(["add_one", "add_one_2", "mixed", "refuses", "waits", "data"]);
    expect(set.chatTools[0]).toMatchObject({ type: "function", function: { name: "add_one" } });
    const call = { call_id: "1", name: "add_one", arguments: '{"a":1}' };
    expect(await set.run(call)).toEqual({
      type: "function_call_output",
      call_id: "1",
      output: [{ type: "input_text", text: "2" }],
    });
    expect(await set.run({ call_id: "2", name: "add_one_2", arguments: "" })).toMatchObject({
      output: [{ text: "the other" }],
    });
  });

  it("gets texts and pictures in their order", async () => {
    const set = await toOpenAiTools(await client());
    expect((await set.run({ call_id: "1", name: "mixed", arguments: "{}" })).output).toEqual([
      { type: "input_text", text: "before" },
      { type: "input_image", image_url: `data:image/png;base64,${PICTURE}`, detail: "auto" },
      { type: "input_text", text: "after" },
      { type: "input_text", text: "[audio, audio/wav]" },
    ]);
    const { content } = await set.runChat({ id: "2", function: { name: "mixed", arguments: "{}" } });
    expect(content).toBe("before\n[image, image/png]\nafter\n[audio, audio/wav]");
  });

  it.each([
    ["refuses", "{}", "There is no note 7"],
    ["add_one", '{"a":"x"}', "Invalid arguments"],
    ["add_one", '{"a":', "no JSON object"],
    ["add_one", "[1]", "no JSON object"],
    ["nothing", "{}", 'no tool "nothing"'],
  ])("is told what went wrong with %s %s, and nothing is thrown", async (name, args, words) => {
    const set = await toOpenAiTools(await client());
    const { output } = await set.run({ call_id: "1", name, arguments: args });
    expect(output[0]).toEqual({ type: "input_text", text: "The call failed:" });
    expect(JSON.stringify(output.slice(1))).toContain(JSON.stringify(words).slice(1, -1));
    expect((await set.runChat({ id: "1", function: { name, arguments: args } })).content).toMatch(/^The call failed: /);
  });
});

describe("Anthropic", () => {
  it("is told of tools, and gets blocks in their order, with errors marked", async () => {
    const set = await toAnthropicTools(await client());
    expect(set.tools[0]).toMatchObject({ name: "add_one", description: "Adds one", input_schema: { type: "object" } });
    expect(await set.run({ type: "tool_use", id: "1", name: "mixed", input: {} })).toEqual({
      type: "tool_result",
      tool_use_id: "1",
      is_error: false,
      content: [
        { type: "text", text: "before" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: PICTURE } },
        { type: "text", text: "after" },
        { type: "text", text: "[audio, audio/wav]" },
      ],
    });
    expect(await set.run({ id: "2", name: "refuses", input: {} })).toMatchObject({ is_error: true });
    expect(await set.run({ id: "3", name: "data", input: {} })).toMatchObject({ content: [{ text: '{"b":2}' }] });
  });

  it("takes the tools of a host, under its names", async () => {
    await using host = new Host({ authorize: () => true, onCall: () => true });
    await host.add("notes", tools());
    const set = await toAnthropicTools(host);
    expect(set.tools.map(({ name }) => name)).toContain("notes__mixed");
    expect(await set.run({ id: "1", name: "notes__refuses", input: {} })).toMatchObject({
      is_error: true,
      content: [{ type: "text", text: "There is no note 7" }],
    });
  });
});

describe("the AI SDK", () => {
  it("gets dynamic tools whose schema it knows, in the shapes of versions 5 and 6", async () => {
    const { add_one, mixed, refuses } = await toAiTools(await client());
    expect(add_one).toMatchObject({ type: "dynamic", description: "Adds one" });
    const inputSchema = add_one?.inputSchema as unknown as object;
    expect(inputSchema).toHaveProperty("jsonSchema.type", "object");
    expect((inputSchema as Record<symbol, unknown>)[Symbol.for("vercel.ai.schema")]).toBe(true);
    expect("validate" in inputSchema).toBe(true);
    const output = await mixed?.execute({});
    const shown = {
      type: "content",
      value: [
        { type: "text", text: "before" },
        { type: "media", data: PICTURE, mediaType: "image/png" },
        { type: "text", text: "after" },
        { type: "media", data: PICTURE, mediaType: "audio/wav" },
      ],
    };
    expect(mixed?.toModelOutput(output)).toEqual(shown);
    expect(mixed?.toModelOutput({ toolCallId: "1", input: {}, output })).toEqual(shown);
    const failed = await refuses?.execute({});
    expect(refuses?.toModelOutput(failed)).toEqual({ type: "error-text", value: "There is no note 7" });
  });

  it("ends a call by its signal, and is told in words for the model", async () => {
    const { waits } = await toAiTools(await client());
    const abort = new AbortController();
    const running = waits?.execute({}, { abortSignal: abort.signal });
    abort.abort();
    await expect(running).rejects.toMatchObject({ message: "The call was cancelled.", cause: { code: "CANCELLED" } });
  });
});

/** A call of each API, as its model makes it, and what holds such calls. */
const CALLS = {
  run: { type: "function_call", call_id: "1", name: "add_one", arguments: '{"a":1}' },
  runChat: { type: "function", id: "1", function: { name: "add_one", arguments: '{"a":1}' } },
  anthropic: { type: "tool_use", id: "1", name: "add_one", input: { a: 1 } },
};
const WRONG: Record<string, unknown> = {
  nothing: undefined,
  null: null,
  "a text": "add_one",
  "no members": {},
  "a chat message": { role: "assistant", tool_calls: [CALLS.runChat] },
  "a message": { role: "assistant", content: [CALLS.anthropic] },
  "a response": { output: [CALLS.run] },
  ...Object.fromEntries(Object.entries(CALLS).map(([name, call]) => [`a list for ${name}`, [call]])),
  ...Object.fromEntries(
    Object.entries(CALLS).map(([name, call]) => [
      `a call for ${name} without a name`,
      { ...call, name: 1, function: {} },
    ]),
  ),
};

describe.each(Object.entries(CALLS))("%s", (api, right) => {
  const runner = async (): Promise<(call: unknown) => Promise<object>> => {
    const [openai, anthropic] = [await toOpenAiTools(await client()), await toAnthropicTools(await client())];
    const run = { run: openai.run, runChat: openai.runChat, anthropic: anthropic.run }[api] as unknown;
    return run as (call: unknown) => Promise<object>;
  };
  const others = Object.entries(CALLS).filter(([other]) => other !== api);

  it.each([...Object.entries(WRONG), ...others])("says what it takes when it is given %s", async (_name, call) => {
    const error: unknown = await (await runner())(call).catch((rejected: unknown) => rejected);
    expect(error).toMatchObject({
      code: "BAD_CALL",
      message: expect.stringMatching(/takes one call, .+, and was given /),
    });
  });

  it("takes arguments that were read already, that are still to be read, and none", async () => {
    const run = await runner();
    const given = (args: unknown): unknown =>
      api === "runChat"
        ? { ...right, function: { name: "add_one", arguments: args } }
        : { ...right, arguments: args, input: args };
    for (const args of ['{"a":1}', { a: 1 }]) expect(JSON.stringify(await run(given(args)))).toContain('"2"');
    for (const args of [undefined, "", {}, "[]", "{", 7, [1]])
      expect(JSON.stringify(await run(given(args)))).toMatch(/call failed|"is_error":true/);
  });
});

const SOURCES: Record<string, { readonly source: () => unknown; readonly told: RegExp }> = {
  "a server": { source: tools, told: /given a server: \w+\(await connect\(server\)\)/ },
  "a promise": { source: () => connect(tools()), told: /given a promise: await it first/ },
  nothing: { source: () => undefined, told: /given undefined/ },
  null: { source: () => null, told: /given null/ },
  "a list of tools": { source: async () => (await client()).tools().all(), told: /given a promise/ },
  "the tools": { source: () => [], told: /given a list/ },
  "a text": { source: () => "https://example.com/mcp", told: /given string/ },
};

describe.each([toOpenAiTools, toAnthropicTools, toAiTools])("%o", (adapter) => {
  it.each(Object.keys(SOURCES))("says what it takes when it is given %s", async (name) => {
    const { source, told } = SOURCES[name] as (typeof SOURCES)[string];
    const given = source();
    const error: unknown = await adapter(given as Client).catch((rejected: unknown) => rejected);
    expect(error).toMatchObject({ code: "INVALID_TARGET", message: expect.stringMatching(told) });
    await (given instanceof Promise && name === "a promise" ? given.then((made: Client) => made.close()) : undefined);
  });

  it("names the properties of every object, as APIs want it, where a tool takes no arguments", async () => {
    const shaped = JSON.parse(JSON.stringify(await adapter(await client()))) as Record<string, unknown>;
    const found: unknown[] = [];
    JSON.stringify(shaped, (_key, value: unknown) => {
      if (Object(value)["type"] === "object") found.push(Object(value)["properties"]);
      return value;
    });
    expect(found.length).toBeGreaterThan(4);
    for (const properties of found) expect(properties).toEqual(expect.any(Object));
  });
});
