// What a tool with an output schema sends is what the schema made of it, whatever library the schema is of and however it was returned:
// clients hold it against the schema that was published.
import { describe, expect, it } from "vitest";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { result, Server, type ToolDefinition } from "@secure-local/mcp/server";
import { compileJsonSchema } from "../../src/schema/json-schema/compile.js";
import type { JsonSchema } from "../../src/schema/schema.js";
import { connect } from "../support/connect.js";
import { reportingServer } from "../support/reporting-server.js";

interface Seen {
  readonly answer: {
    readonly isError?: boolean;
    readonly structuredContent?: Readonly<Record<string, unknown>>;
    readonly content: readonly { readonly text: string }[];
  };
  readonly published: JsonSchema;
  readonly log: string;
}

async function seen(definition: object, run: () => unknown): Promise<Seen> {
  const { server, log } = reportingServer();
  server.tool("t", { ...definition, run } as ToolDefinition<undefined, undefined>);
  const peer = await connect(server, { revision: "2026-07-28" });
  const { tools } = (await peer.request("tools/list")) as unknown as { tools: { outputSchema: JsonSchema }[] };
  const answer = (await peer.request("tools/call", { name: "t" })) as unknown as Seen["answer"];
  return { answer, published: tools[0]?.outputSchema as JsonSchema, log: log.join("\n") };
}

const published: JsonSchema = {
  type: "object",
  properties: { id: { type: "number" }, name: { type: "string" }, tag: { type: "string" } },
  required: ["id", "name", "tag"],
  additionalProperties: false,
};
/** A schema of an author's own. */
const own = (validate: (value: Readonly<Record<string, unknown>>) => object): object => ({
  "~standard": { version: 1, vendor: "own", validate },
});

/** Schemas of id, name and a tag that is filled in. */
const SCHEMAS: readonly (readonly [string, object])[] = [
  ["zod", { output: z.object({ id: z.number(), name: z.string(), tag: z.string().default("none") }) }],
  [
    "zod, checked later",
    {
      output: z.object({
        id: z.number(),
        name: z.string().refine(async () => Promise.resolve(true)),
        tag: z.string().default("none"),
      }),
    },
  ],
  [
    "valibot",
    {
      output: v.object({ id: v.number(), name: v.string(), tag: v.optional(v.string(), "none") }),
      outputJsonSchema: published,
    },
  ],
  [
    "arktype",
    {
      output: type({ "+": "delete", id: "number", name: "string", tag: "string = 'none'" }),
      outputJsonSchema: published,
    },
  ],
  [
    "an own one",
    { output: own(({ id, name, tag = "none" }) => ({ value: { id, name, tag } })), outputJsonSchema: published },
  ],
  [
    "JSON Schema",
    {
      output: {
        type: "object",
        properties: { id: { type: "number" }, name: { type: "string" }, tag: { type: "string", default: "none" } },
        required: ["id", "name", "tag"],
      },
    },
  ],
];

class Row {
  declare readonly id: number;
}

const ROW = { name: "n", id: 7 };
const FULL = { ...ROW, password: "geheim" };
/** How a row is returned. */
const RETURNED: readonly (readonly [string, (row: object) => unknown])[] = [
  ["alone", (row) => row],
  ["later", async (row) => Promise.resolve(row)],
  ["as a Map", (row) => new Map(Object.entries(row))],
  ["as an object of a class", (row) => Object.assign(new Row(), row)],
  ["in result()", (row) => result({ structuredContent: row })],
  ["in result() with its JSON", (row) => result({ content: [JSON.stringify(row)], structuredContent: row })],
  [
    "in result() with its JSON in lines",
    (row) => result({ content: [JSON.stringify(row, undefined, 2)], structuredContent: row }),
  ],
];

describe.each(SCHEMAS)("%s", (library, definition) => {
  it.each(RETURNED)("sends what the schema made of a row that is returned %s", async (how, put) => {
    const strips = library !== "JSON Schema";
    const { answer, published: shown, log } = await seen(definition, () => put(strips ? FULL : ROW));
    expect(log).toBe("");
    expect(answer.structuredContent).toEqual({ ...ROW, tag: "none" });
    expect(compileJsonSchema(shown).check(answer.structuredContent)).toBe(true);
    expect(JSON.stringify(answer)).not.toContain("geheim");
    if (how !== "in result()") expect(JSON.parse(answer.content[0]?.text ?? "")).toEqual(answer.structuredContent);
  });

  it("leaves what fits as it was returned", async () => {
    const row = { tag: "t", ...ROW };
    const { answer } = await seen(definition, () => row);
    expect(answer.content[0]?.text).toBe(JSON.stringify(row));
    expect(JSON.stringify(answer.structuredContent)).toBe(JSON.stringify(row));
  });
});

describe("what the schema made and cannot be sent fails, and the log says why", () => {
  it.each<readonly [string, object, string]>([
    ["NaN", { output: own(() => ({ value: { id: Number.NaN } })), outputJsonSchema: { type: "object" } }, "NaN at id"],
    ["nothing", { output: own(() => ({ value: undefined })), outputJsonSchema: { type: "object" } }, "nothing"],
    [
      "more than is published",
      { output: own((value) => ({ value })), outputJsonSchema: { ...published } },
      "must not have",
    ],
    [
      "less than is published",
      { output: own(() => ({ value: { id: 7 } })), outputJsonSchema: published },
      "does not match its output schema",
    ],
    [
      "a promise",
      { output: own(() => ({ value: { id: Promise.resolve(7) } })), outputJsonSchema: { type: "object" } },
      "await it in the schema",
    ],
    ["more than JSON Schema has", { output: published }, "does not match its output schema"],
  ])("%s", async (_what, definition, words) => {
    const { answer, log } = await seen(definition, () => FULL);
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer)).not.toContain("geheim");
    expect(log).toContain(words);
  });

  it("a published schema that is none is refused at once", () => {
    const server = new Server({ name: "s", version: "1", report: false });
    const definition = { output: z.object({}), outputJsonSchema: { type: "objekt" }, run: () => ({}) };
    expect(() => server.tool("t", definition)).toThrow('Tool "t": "output" is no schema');
  });
});
