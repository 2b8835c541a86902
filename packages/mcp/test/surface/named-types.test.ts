// Every type that a signature names has a public name: without one, a package that publishes declarations and only
// passes on what this library gave it does not compile (TS2742).
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { layOut } from "../../../../scripts/lib/lay-out-package.mjs";
import { run } from "../../../../scripts/lib/run-command.mjs";
import { companions, reachableTypes } from "../support/reachable-types.js";
import { ENTRIES } from "./entries.js";

const dist = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "dist");
const entryOf = (subpath: string): string =>
  join(dist, "entries", `${subpath.slice("./".length).replaceAll("/", "-")}.d.ts`);

/** What only the library itself reads of a `Call` and of a `Context`: nothing a program writes is of these types. */
const INSIDE = [
  ...["AskServices", "Asker", "ByHand", "Cancellation", "Codec", "Connection", "Handling", "InService", "MethodRecord"],
  ...["OngoingProgress"],
  // Steps on the way to a type that the compiler has worked out before it is written down.
  ...["Alternatives", "ArrayOf", "Described", "LOGGING_LEVELS", "Members", "Named", "ObjectOf", "Known"],
  ...["NameOf", "NamesIn", "NamesOf", "WithoutOperator"],
  // Of the classes that stand in for those of other SDKs.
  ...["Enter", "MethodOf", "Owner"],
];

const shown = (at: string): string => at.slice(dist.length + 1);

describe.each(Object.keys(ENTRIES))("%s", (subpath) => {
  it("gives away, by itself or in what it takes names from, every type that its signatures name", () => {
    const entry = entryOf(subpath);
    const { given, reached } = reachableTypes(entry, INSIDE);
    const named = new Set(given);
    const open = companions(entry);
    for (const other of open) {
      for (const at of reachableTypes(other).given) named.add(at);
      for (const next of companions(other)) if (!open.includes(next)) open.push(next);
    }
    const nameless = [...reached].filter(([at]) => !named.has(at));
    // Add it to src/entries/types.ts, or to INSIDE where no program can have it.
    expect(nameless.map(([at, by]) => `${shown(at)}, by way of ${by}`)).toEqual([]);
  });
});

/** Functions that only pass on what the library gave them, as packages of tools have them. */
const HELPERS = `
import { inputRequired, result, Server, text, type Context } from "@secure-local/mcp/server";
import { connect } from "@secure-local/mcp/client";
import { toFetch } from "@secure-local/mcp/fetch";
import { serveHttp } from "@secure-local/mcp/http";
import { serveStdio } from "@secure-local/mcp/stdio";
import { connectInMemory } from "@secure-local/mcp/testing";
export const confirm = (ctx: Context) => ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
export const ask = (ctx: Context) => ctx.sample({ messages: [], maxTokens: 10 });
export const again = () => inputRequired({ state: 1 });
export const hello = () => result({ content: [text("hello")] });
export const parts = (ctx: Context) => ({ roots: ctx.roots(), who: ctx.identity, given: ctx.inputResponses });
export const server = new Server({ name: "a", version: "1" });
export const template = server.resourceTemplate("note://{id}", { read: (_, { id }) => String(id) });
export const tool = server.tool("t", { input: { type: "object", properties: { a: { type: "number" } } }, run: () => "" });
export const prompt = server.prompt("p", { arguments: { who: { required: true } }, run: ({ who }) => who });
export const client = connect("http://127.0.0.1/mcp");
export const listed = async () => ({ tools: await (await client).tools(), prompts: await (await client).prompts() });
export const called = async () => (await (await client).call("t")).content;
export const handler = toFetch(server);
export const http = serveHttp(server);
export const stdio = () => serveStdio(server);
export const peer = () => connectInMemory(server);
`;

it("lets a package with declarations pass on what the library gave it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "named-types-"));
  try {
    layOut("packages/mcp", folder);
    writeFileSync(join(folder, "helpers.mts"), HELPERS);
    const compilerOptions = {
      ...{ module: "nodenext", target: "es2023", lib: ["es2023", "esnext.disposable", "dom"], strict: true, types: [] },
      ...{ declaration: true, emitDeclarationOnly: true, skipLibCheck: true },
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["helpers.mts"] }));
    expect(await run("tsc", ["-p", folder], { cwd: folder })).toMatchObject({ code: 0, output: "" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("excepts nothing that has a name by now", () => {
  const given = Object.keys(ENTRIES).flatMap((subpath) => [...reachableTypes(entryOf(subpath)).given]);
  const names = new Set(given.map((at) => basename(at).split("#")[1]));
  expect(INSIDE.filter((name) => names.has(name))).toEqual([]);
});
