// A LeanServer serves tools as a Server does, but for what it says it leaves out.
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { connect } from "../../src/entries/client.js";
import { toFetch } from "../../src/entries/fetch.js";
import { LeanServer, Server, type ServerOptions } from "../../src/entries/server.js";
import { REVISIONS } from "../../src/protocol/revisions/all.js";

type Either = Pick<LeanServer, "tool">;

function furnish<S extends Either>(server: S): S {
  server.tool("greet", {
    description: "Greets",
    input: z.object({ name: z.string(), times: z.number().default(1) }),
    output: z.object({ text: z.string() }),
    run: ({ name, times }) => ({ text: `Hello, ${name}! `.repeat(times).trim() }),
  });
  server.tool("now", { description: "Takes nothing", run: () => "noon" });
  server.tool("ask", {
    description: "Asks",
    run: async (_, ctx) => (await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } })).action,
  });
  return server;
}

const OPTIONS = { name: "lean", version: "1.0.0" };

describe.each(REVISIONS.map(({ date }) => date))("a LeanServer in %s", (revision) => {
  test("answers as a Server does", async () => {
    const seen: unknown[][] = [];
    for (const server of [furnish(new LeanServer(OPTIONS)), furnish(new Server(OPTIONS))]) {
      const client = await connect(server, { revision, elicit: () => ({ action: "decline" }) });
      const answers = [
        client.capabilities,
        await client.tools().all(),
        await client.call("greet", { name: "Ada" }),
        await client.call("greet", { name: 7 }),
        await client.call("now"),
        revision < "2025-06-18" ? undefined : await client.call("ask"),
      ];
      await client.close();
      seen.push(JSON.parse(JSON.stringify(answers)) as unknown[]);
    }
    expect(seen[0]).toEqual(seen[1]);
  });

  test("refuses arguments where there are none", async () => {
    const client = await connect(furnish(new LeanServer(OPTIONS)), { revision });
    const { isError, content } = await client.call("now", { later: true });
    expect({ isError, content }).toEqual({
      isError: true,
      content: [{ type: "text", text: "Invalid arguments for tool now:\n- arguments must be an empty object" }],
    });
    await client.close();
  });
});

test("A LeanServer says what it does not read", () => {
  const server = new LeanServer(OPTIONS);
  const input = { type: "object", properties: {} } as const;
  expect(() => server.tool("a", { input: input as never, run: () => "" })).toThrow(
    'Tool "a": "input" as JSON Schema needs `Server`: a LeanServer takes a Standard Schema',
  );
  expect(() => server.tool("b", { task: "optional", run: () => "" })).toThrow(
    'Tool "b": "task" needs `Server`: a LeanServer has no tasks',
  );
  const expecting: ServerOptions = { ...OPTIONS, capabilities: { expect: ["tools", "prompts"] } };
  expect(() => new LeanServer(expecting)).toThrow('"prompts" needs `Server`: a LeanServer has tools alone');
  expect(() => new Server(expecting)).not.toThrow();
});

test.each(["prompt", "resource", "resourceTemplate"])("A LeanServer says in JavaScript which class has %s", (name) => {
  const server = new LeanServer(OPTIONS) as unknown as Record<string, (...given: unknown[]) => unknown>;
  expect(() => server[name]?.("a", {})).toThrow(`${name}(...) needs \`Server\`: a LeanServer has tools alone`);
  const whole = new Server(OPTIONS) as unknown as typeof server;
  const given = name === "prompt" ? "a" : name === "resource" ? "notes://a" : "notes://{id}";
  expect(() => whole[name]?.(given, { run: () => "", read: () => "" })).not.toThrow("needs `Server`");
});

test("A LeanServer refuses a store of tasks, and names itself", () => {
  const store = { get: () => undefined, put: () => undefined };
  expect(() => new LeanServer({ ...OPTIONS, tasks: { store } as never })).toThrow(
    'new LeanServer(...) lean: "tasks" needs `Server`: a LeanServer has tools alone',
  );
  expect(() => new LeanServer({ ...OPTIONS, logger: 1 } as never)).toThrow("new LeanServer(...): ");
  expect(() => new LeanServer({ name: "a" } as never)).toThrow("new LeanServer(...) needs both: ");
  expect(() => new Server({ name: "a" } as never)).toThrow("new Server(...) needs both: ");
  expect(() => new (class extends Server {})({ name: "a" } as never)).toThrow("new Server(...) needs both: ");
});

test.each([
  ["LeanServer", LeanServer],
  ["Server", Server],
])("A %s refuses a JSON Schema that stands beside nothing", (_, Class) => {
  const inputJsonSchema = { type: "object", properties: { a: { type: "string" } } } as const;
  const server = new Class(OPTIONS);
  expect(() => server.tool("a", { inputJsonSchema, run: () => "" })).toThrow(
    'Tool "a": "inputJsonSchema" is of "input", which is missing: give the schema it describes as well',
  );
  expect(() => server.tool("b", { outputJsonSchema: inputJsonSchema, run: () => "" })).toThrow(
    'Tool "b": "outputJsonSchema" is of "output", which is missing',
  );
});

test("A LeanServer takes the JSON Schema that stands beside a Standard Schema", async () => {
  const server = new LeanServer(OPTIONS);
  const inputJsonSchema = { type: "object", properties: { a: { type: "string" } } } as const;
  const { validate } = z.object({ a: z.string() })["~standard"];
  server.tool("a", {
    input: { "~standard": { version: 1, vendor: "own", validate } } as never,
    inputJsonSchema,
    run: () => "taken",
  });
  const client = await connect(server);
  expect((await client.tools().all())[0]?.inputSchema).toEqual(inputJsonSchema);
  await client.close();
});

test("A LeanServer is served over fetch", async () => {
  const answer = toFetch(furnish(new LeanServer(OPTIONS)), { sessions: false, answers: "json" });
  const request = new Request("http://localhost/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "now" } }),
  });
  expect(await (await answer(request)).json()).toMatchObject({ result: { content: [{ type: "text", text: "noon" }] } });
});
