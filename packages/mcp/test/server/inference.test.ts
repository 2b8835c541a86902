// What an author's editor knows: arguments typed from the schema written in place, results from the output schema.
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { Type } from "typebox";
import { z } from "zod";
import * as mini from "zod/mini";
import { type Context, Server } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";

const server = (): Server => new Server({ name: "s", version: "1" });

describe("tools", () => {
  it("type their arguments from JSON Schema", () => {
    server().tool("t", {
      input: {
        type: "object",
        properties: {
          name: { type: "string" },
          age: { type: "integer" },
          tags: { type: "array", items: { type: "string" } },
          kind: { enum: ["a", "b"] },
        },
        required: ["name", "kind"],
      },
      run(args, ctx) {
        expectTypeOf(args.name).toEqualTypeOf<string>();
        expectTypeOf(args.age).toEqualTypeOf<number | undefined>();
        expectTypeOf(args.kind).toEqualTypeOf<"a" | "b">();
        expectTypeOf(args.tags).toExtend<readonly string[] | undefined>();
        expectTypeOf(ctx).toEqualTypeOf<Context>();
        return "";
      },
    });
  });

  it("type their arguments from what TypeBox and zod/mini build, publish it, and check by it", async () => {
    const made = server();
    made.tool("typebox", {
      input: Type.Object({ id: Type.String(), n: Type.Optional(Type.Number()) }),
      output: Type.Object({ ok: Type.Boolean() }),
      run(args) {
        expectTypeOf(args.id).toEqualTypeOf<string>();
        expectTypeOf(args.n).toEqualTypeOf<number | undefined>();
        return { ok: args.id === "a" };
      },
    });
    made.tool("mini", {
      input: mini.object({ id: mini.string(), n: mini.optional(mini.number()) }),
      run(args) {
        expectTypeOf(args.id).toEqualTypeOf<string>();
        return args.id;
      },
    });
    const peer = await connect(made, { revision: "2025-11-25" });
    const input = {
      type: "object",
      properties: { id: { type: "string" }, n: { type: "number" } },
      required: ["id"],
    };
    expect((await peer.request("tools/list"))["tools"]).toMatchObject([
      { name: "typebox", inputSchema: input, outputSchema: { properties: { ok: { type: "boolean" } } } },
      { name: "mini", inputSchema: input },
    ]);
    for (const name of ["typebox", "mini"]) {
      expect(await peer.request("tools/call", { name, arguments: { id: "a" } })).toMatchObject({ isError: false });
      expect(await peer.request("tools/call", { name, arguments: { id: 1 } })).toMatchObject({ isError: true });
    }
  });

  it("type their arguments from zod, valibot and arktype, after what these transform, and publish their JSON Schema", async () => {
    const made = server();
    made.tool("zod", {
      input: z.object({ n: z.number().default(3), when: z.iso.date().optional() }),
      run(args) {
        expectTypeOf(args).toEqualTypeOf<{ n: number; when?: string | undefined }>();
        return args.n;
      },
    });
    made.tool("valibot", {
      input: v.object({ n: v.number() }),
      inputJsonSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      run(args) {
        expectTypeOf(args).toEqualTypeOf<{ n: number }>();
        return args.n;
      },
    });
    made.tool("arktype", {
      input: type({ n: "number" }),
      run(args) {
        expectTypeOf(args).toEqualTypeOf<{ n: number }>();
        return args.n;
      },
    });
    const peer = await connect(made, { revision: "2025-11-25" });
    for (const name of ["zod", "valibot", "arktype"]) {
      const call = (n: unknown) => peer.request("tools/call", { name, arguments: { n } });
      expect(await call(7)).toMatchObject({ content: [{ text: "7" }] });
      expect(await call("7")).toMatchObject({ isError: true });
    }
    expect(await peer.request("tools/call", { name: "zod" })).toMatchObject({ content: [{ text: "3" }] });
    const { tools } = (await peer.request("tools/list")) as { tools: { inputSchema: { properties: unknown } }[] };
    for (const { inputSchema } of tools) expect(inputSchema.properties).toMatchObject({ n: { type: "number" } });
  });

  it("owe what their output schema says", () => {
    const output = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] } as const;
    server().tool("good", { output, run: () => ({ sum: 1 }) });
    // @ts-expect-error sum is a number
    server().tool("bad", { output, run: () => ({ sum: "1" }) });
    // @ts-expect-error sum is required
    server().tool("missing", { output, run: () => ({}) });
    server().tool("failing", { output, run: (_args, ctx) => ctx.fail("no sum today") });
  });

  it("type the answers to forms by their fields", () => {
    server().tool("t", {
      async run(_args, ctx) {
        const answer = await ctx.elicit({
          message: "?",
          schema: {
            sure: { type: "boolean" },
            size: { type: "string", enum: ["s", "l"] },
            note: { type: "string", optional: true },
          },
        });
        if (answer.action !== "accept") return "";
        expectTypeOf(answer.content.sure).toEqualTypeOf<boolean>();
        expectTypeOf(answer.content.size).toEqualTypeOf<"s" | "l">();
        expectTypeOf(answer.content.note).toEqualTypeOf<string | undefined>();
        return "";
      },
    });
  });
});

describe("prompts", () => {
  it("type their arguments, required ones as there, and what completes them", () => {
    server().prompt("p", {
      arguments: {
        code: { required: true, complete: (typed) => [typed.toUpperCase()] },
        language: { complete: ["a"] },
      },
      run(args) {
        expectTypeOf(args.code).toEqualTypeOf<string>();
        expectTypeOf(args.language).toEqualTypeOf<string | undefined>();
        // @ts-expect-error there is no such argument
        return String(args.other);
      },
    });
    server().prompt("none", { run: () => "" });
  });
});
