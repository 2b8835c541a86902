// What is registered in the words of another SDK, or with a slip, is refused at once in the sentence that mends it.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { Server, type ToolDefinition } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { REVISIONS } from "../../src/protocol/revisions/all.js";

const make = (): Server => new Server({ name: "s", version: "1" });
const run = (): string => "";

/** What the registration says; plain JavaScript can write all of this. */
function told(register: (server: Server) => unknown): string {
  try {
    register(make());
  } catch (error) {
    return String(error);
  }
  return "nothing";
}

const tool = (definition: unknown): string =>
  told((server) => server.tool("t", definition as ToolDefinition<undefined, undefined>));

describe("a tool says what to write instead of", () => {
  it.each([
    [{ inputSchema: {}, run }, '"inputSchema" is called "input" here'],
    [{ parameters: z.object({}), run }, '"parameters" is called "input" here'],
    [{ outputSchema: {}, run }, '"outputSchema" is called "output" here'],
    [{ execute: run }, '"execute" is called "run" here'],
    [{ handler: run }, '"handler" is called "run" here'],
    [{ cb: run }, '"cb" is called "run" here'],
    [{}, 'needs "run"'],
    [{ run: "later" }, 'needs "run"'],
    [run, 'takes one object, with the function as its member "run"'],
    [undefined, "takes one object, not undefined"],
    [{ descripton: "typo", run }, 'there is no member "descripton", did you mean "description"?'],
    [{ colour: "red", run }, 'there is no member "colour": there are title'],
    [
      { input: { id: z.string(), at: z.number() }, run },
      '"input" is a list of schemas by name (id, at): make it one schema, as in z.object({ ... })',
    ],
    [{ output: { id: z.string() }, run }, '"output" is a list of schemas by name (id)'],
    [{ input: { _def: { typeName: "ZodObject" } }, run }, '"input" is of zod 3'],
    [
      { input: z3.object({ a: z3.number() }), run },
      /this is a zod 3 schema.*npm install zod@4.*or give "inputJsonSchema"/,
    ],
    [{ output: z3.object({ a: z3.number() }), run }, /this is a zod 3 schema.*or give "outputJsonSchema"/],
    [{ input: { id: { _def: { typeName: "ZodString" } } }, run }, '"input" is a list of schemas by name (id)'],
    [{ input: { type: "strnig" }, run }, /"input" is no schema.*did you mean "string"/],
    [
      { output: { type: "object", properties: { a: { type: "nope" } } }, run },
      /"output" is no schema.*#\/properties\/a/,
    ],
    [
      { input: { type: "object", properties: { a: {} }, required: ["b"], additionalProperties: false }, run },
      '"input" requires "b" and allows no such member',
    ],
  ])("%j", (definition, expected) => {
    const said = tool(definition);
    expect(said).toMatch(/^LocalError: Tool "t": /);
    if (typeof expected === "string") expect(said).toContain(expected);
    else expect(said).toMatch(expected);
  });

  it("a schema that cannot say what it is as JSON Schema, with the option that takes it", () => {
    const mini = { "~standard": { version: 1, vendor: "zod", validate: (value: unknown) => ({ value }) } };
    expect(tool({ input: mini, run })).toMatch(
      /"input".*beside it as "inputJsonSchema", as z\.toJSONSchema\(schema\) makes it/,
    );
    expect(tool({ output: mini, run })).toContain('"outputJsonSchema"');
    expect(tool({ input: mini, inputJsonSchema: { type: "object" }, run })).toBe("nothing");
  });

  it("nothing, where all is well: members of an author's own class and absent ones are none of ours", () => {
    class Tool {
      readonly database = {};
      readonly description = "d";
      run(): string {
        return "";
      }
    }
    expect(tool(new Tool())).toBe("nothing");
    expect(tool({ run, execute: undefined })).toBe("nothing");
    expect(tool({ input: { type: "object", required: ["b"] }, run })).toBe("nothing");
  });
});

describe("a prompt, a resource, a template and a server say it too:", () => {
  const read = (): string => "";
  it.each([
    [
      (s: Server) => s.prompt("p", { arguments: { id: z.string() as never }, run }),
      '"arguments" is a schema, but a prompt\'s arguments are always strings',
    ],
    [(s: Server) => s.prompt("p", { arguments: z.object({}), run } as never), '"arguments" is a schema'],
    [(s: Server) => s.prompt("p", { argsSchema: {}, run } as never), '"argsSchema" is called "arguments" here'],
    [
      (s: Server) => s.prompt("p", { arguments: { id: { optional: true } }, run } as never),
      'argument "id": there is no member "optional"',
    ],
    [(s: Server) => s.prompt("p", { load: run } as never), '"load" is called "run" here'],
    [(s: Server) => s.prompt("p", {} as never), 'needs "run"'],
    [(s: Server) => s.resource("a:b", { load: read } as never), '"load" is called "read" here'],
    [(s: Server) => s.resource("a:b", {} as never), 'needs "read"'],
    [(s: Server) => s.resource("a:b", { mimetype: "text/html", read } as never), 'did you mean "mimeType"?'],
    [(s: Server) => s.resourceTemplate("a:{b}", { handler: read } as never), '"handler" is called "read" here'],
    [
      () => new Server({ name: "s", version: "1", capabilities: { tools: {} } } as never),
      '"tools" is not said here: what is registered says it',
    ],
    [() => new Server({ name: "s", version: "1", instruction: "" } as never), 'did you mean "instructions"?'],
    [() => new Server("s" as never), "takes one object"],
  ])("%s", (register, expected) => {
    expect(told(register)).toContain(expected);
  });
});

describe("what a revision shows of a tool", () => {
  /** A value for each member that authors write as it is shown; a revision that adds one adds it here. */
  const values: Readonly<Record<string, unknown>> = {
    title: "Title",
    description: "Description",
    icons: [{ src: "https://example.com/icon.png" }],
    annotations: { readOnlyHint: true },
    _meta: { "example.com/key": 1 },
  };
  const otherwise = new Set(["name", "inputSchema", "outputSchema", "execution"]);
  const shown = REVISIONS.flatMap(({ date, fields }) =>
    fields.tool.filter((name) => !otherwise.has(name)).map((name) => [date, name] as const),
  );

  it.each(shown)("comes from its definition, in %s its %s", async (revision, name) => {
    expect(values).toHaveProperty(name);
    const server = make();
    server.tool("t", { [name]: values[name], run });
    const peer = await connectInMemory(server, { revision });
    const { tools } = await peer.request("tools/list");
    expect(tools).toMatchObject([{ name: "t", [name]: values[name] }]);
    await peer.close();
  });
});

it("a server without a name or version is refused, for clients are told both", () => {
  for (const options of [{}, { name: "a" }, { version: "1" }, { name: "", version: "1" }])
    expect(() => new Server(options as never)).toThrow('needs both: { name: "greeter"');
});
