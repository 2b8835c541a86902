// Every kind of value that JSON would lose, in every place a tool can put one: it becomes what was meant, or the call fails and the
// log names the tool, the place and what to write.
import { describe, expect, it } from "vitest";
import { audio, image, link, resource, result, Server, text, type ToolDefinition } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";

interface Seen {
  readonly result: { content: { type: string; text: string }[]; structuredContent?: unknown; isError: boolean };
  readonly log: string;
}

async function seen(run: ToolDefinition<undefined, undefined>["run"], definition: object = {}): Promise<Seen> {
  const log: string[] = [];
  const server = new Server({
    name: "s",
    version: "1",
    report: (level, message, details) => log.push(`${level} ${message} ${String(details?.["error"])}`),
  });
  server.tool("t", { ...definition, run });
  const peer = await connect(server, { revision: "2026-07-28" });
  const answer = await peer.request("tools/call", { name: "t" });
  return { result: answer as unknown as Seen["result"], log: log.join("\n") };
}

function* count(): Generator<number> {
  yield 1;
}

async function* countLater(): AsyncGenerator<number> {
  yield await Promise.resolve(1);
}

class Secret {
  readonly #value = 1;
  get value(): number {
    return this.#value;
  }
}

/** What it is called, how it is made, and what it becomes. */
const BECOMES: readonly (readonly [string, () => unknown, unknown])[] = [
  ["a Map", () => new Map<string, unknown>([["a", new Map([["b", 1]])]]), { a: { b: 1 } }],
  ["a Map with __proto__", () => new Map([["__proto__", 1]]), JSON.parse('{"__proto__":1}')],
  ["a Set", () => new Set([1, new Set([2])]), [1, [2]]],
  ["a promise", () => Promise.resolve({ a: 1 }), { a: 1 }],
  ["promises in a list", () => [1, 2].map(async (each) => Promise.resolve(each * 2)), [2, 4]],
  ["a promise of a Map of promises", async () => Promise.resolve(new Map([["a", Promise.resolve(1)]])), { a: 1 }],
  ["nothing in an object", () => ({}), {}],
  ["null", () => ({ a: null }), { a: null }],
];

/** What it is called, how it is made, and what the log says of it. */
const REFUSED: readonly (readonly [string, () => unknown, string])[] = [
  ["an Error", () => new Error("x"), "an Error"],
  ["an iterator", count, "an iterator"],
  ["an iterator of a Map", () => new Map([["a", 1]]).values(), "return [...value]"],
  ["an async iterator", countLater, "for await"],
  ["a RegExp", () => /x/, "return String(value)"],
  ["Headers", () => new Headers({ a: "b" }), "return Object.fromEntries(value)"],
  ["URLSearchParams", () => new URLSearchParams("a=b"), "return String(value)"],
  ["a Blob", () => new Blob(["x"]), "await blob.arrayBuffer()"],
  ["a WeakMap", () => new WeakMap(), "use a Map"],
  ["a WeakSet", () => new WeakSet(), "use a Set"],
  ["a Map with other keys", () => new Map([[1, 2]]), "Object.fromEntries(map)"],
  ["NaN", () => Number.NaN, "NaN"],
  ["Infinity", () => Number.POSITIVE_INFINITY, "Infinity"],
  ["a Date that is none", () => new Date("x"), "a Date that is no date"],
  ["a BigInt", () => 5n, "String(value)"],
  ["a Response", () => new Response("x"), "await response.json()"],
  ["bytes", () => new Uint8Array(2), "resource(uri, bytes)"],
  ["a Buffer", () => Buffer.from("x"), "resource(uri, bytes)"],
  ["numbers in a typed array", () => new Float64Array(2), "[...value]"],
  ["an object without members", () => new Secret(), "an object of class Secret"],
  ["an object in itself", circular, "an object that it is in itself"],
];

function circular(): object {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  return value;
}

interface Place {
  readonly name: string;
  readonly put: (value: unknown) => unknown;
  readonly where: string;
  readonly definition?: object;
}

/** Where a value stands: what is returned, and the words for the place. */
const PLACES: readonly Place[] = [
  { name: "alone", put: (value) => value, where: "" },
  { name: "a member", put: (value) => ({ m: value }), where: " at m" },
  { name: "an item", put: (value) => [0, value], where: " at [1]" },
  { name: "deep", put: (value) => ({ rows: [{ "a b": value }] }), where: ' at rows[0]["a b"]' },
  { name: "with a schema", put: (value) => ({ m: value }), where: " at m", definition: { output: { type: "object" } } },
  { name: "in result()", put: (value) => result({ structuredContent: { m: value } }), where: " at m" },
];

function shown({ result: { content, structuredContent } }: Seen, place: string): unknown {
  return place === "in result()" ? structuredContent : JSON.parse(content[0]?.text ?? "");
}

function plain({ name, put }: Place, value: unknown): unknown {
  return name === "in result()" ? { m: value } : put(value);
}

describe.each(PLACES)("$name:", (place) => {
  const { name, put, where, definition } = place;

  it.each(BECOMES)("%s becomes what was meant", async (_, make, becomes) => {
    const answer = await seen(() => put(make()) as object, definition);
    expect(answer.log).toBe("");
    expect(answer.result.isError).toBe(false);
    expect(JSON.stringify(shown(answer, name))).toBe(JSON.stringify(plain(place, becomes)));
    if (definition !== undefined)
      expect(JSON.stringify(answer.result.structuredContent)).toBe(JSON.stringify({ m: becomes }));
  });

  it.each(REFUSED)("%s fails, and the log says where and what to write", async (what, make, words) => {
    const answer = await seen(() => put(make()) as object, definition);
    expect(answer.result.isError).toBe(true);
    expect(answer.log).toContain('tools/call "t" failed');
    expect(answer.log).toContain(words);
    if (what !== "an object in itself") expect(answer.log).toContain(`${where}, which JSON cannot carry`);
  });

  it("a content block or a whole result among data fails, and the log says what to write", async () => {
    for (const make of [() => text("a"), () => result({ content: ["a"] })]) {
      const answer = await seen(() => put({ beside: [make(), 1] }) as object, definition);
      expect(answer.result.isError).toBe(true);
      expect(answer.log).toContain(".beside[0]".slice(where === "" ? 1 : 0));
      expect(answer.log).toContain("result(");
    }
  });
});

describe("content is", () => {
  const a = { type: "text", text: "a" };
  const b = { type: "text", text: "b" };
  it.each([
    ["blocks among texts", [text("a"), "b"], [a, b]],
    ["a block of the wire", a, [a]],
    ["blocks of the wire", [a, "b"], [a, b]],
    ["a result in place, with our blocks", { content: [text("a"), b] }, [a, b]],
  ])("%s", async (_, value, content) => {
    const answer = await seen(() => value);
    expect(answer.result).toMatchObject({ content, isError: false });
    expect(answer.result).not.toHaveProperty("structuredContent");
  });

  it("not what only looks like it", async () => {
    for (const value of [
      { type: "text", text: "a", marks: [] },
      { type: "text" },
      { type: "image", data: 5 },
      ["a", "b"],
    ]) {
      expect(JSON.parse((await seen(() => value)).result.content[0]?.text ?? "")).toEqual(value);
    }
    const answer = await seen(() => a, { output: { type: "object" } });
    expect(answer.result.structuredContent).toEqual(a);
  });

  it("a promise in a result that rejects is the tool's error", async () => {
    const answer = await seen(() => [Promise.reject(new Error("lost")), Promise.reject(new Error("too"))]);
    expect(answer.result.isError).toBe(true);
    expect(answer.log).toContain("lost");
  });
});

describe("a content function says at once what to write instead of", () => {
  const call = (made: () => unknown): string => {
    try {
      made();
    } catch (error) {
      return String(error);
    }
    return "nothing";
  };
  it.each<readonly [string, () => unknown, string]>([
    ["text(5)", () => text(5 as never), "not 5: write text(String(value))"],
    ["text()", () => text(undefined as never), "not undefined: write text("],
    ["text({})", () => text({} as never), "not an object: write text("],
    ["image without a type", () => image("AAAA", undefined as never), 'write image(data, "image/png")'],
    ["audio without a type", () => audio("AAAA", undefined as never), 'write audio(data, "audio/wav")'],
    ["image of a buffer", () => image(new ArrayBuffer(1) as never, "image/png"), "new Uint8Array(buffer)"],
    ["link without a name", () => link({ uri: "a://b" } as never), "needs a `name`"],
    ["link of a text", () => link("a://b" as never), "write link({ uri:"],
    ["resource without contents", () => resource("a://b", undefined as never), "write resource(uri, contents)"],
    ["resource without a URI", () => resource(undefined as never, "a"), "takes a URI first"],
    ["result({ contents })", () => result({ contents: [] } as never), 'did you mean "content"?'],
    ["result of a text", () => result("a" as never), "write result({ content"],
    ["result with content as text", () => result({ content: "a" } as never), "write content: [...]"],
    ["result with a number", () => result({ content: [5] } as never), "not 5: write text(...)"],
  ])("%s", (_, made, words) => {
    expect(call(made)).toContain(words);
  });

  it("ctx.fail without words, and takes an error's message", async () => {
    expect((await seen((_args, ctx) => ctx.fail(undefined as never))).log).toContain('write return ctx.fail("');
    const answer = await seen((_args, ctx) => ctx.fail(new Error("no note")));
    expect(answer.result).toMatchObject({ isError: true, content: [{ text: "no note" }] });
    expect(answer.log).toBe("");
  });

  it("ctx.fail whose result is not returned, in the log", async () => {
    const answer = await seen((_args, ctx) => void ctx.fail("no"));
    expect(answer.result.isError).toBe(false);
    expect(answer.log).toContain("The tool t called ctx.fail(...) and returned something else");
  });
});
