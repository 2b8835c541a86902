// Plants each fault the house checker must catch in a temporary tree, and asserts that it is caught.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkHouse } from "../check-layers/check-house.mjs";
import { drawPictures } from "../check-layers/pictures.mjs";

type Files = Record<string, string>;

const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const real = JSON.parse(readFileSync(join(repository, "layers.json"), "utf8"));
/** The house's own table without its exceptions, with one that is needed and one word in its place. */
const table = JSON.stringify({
  ...real,
  library: { ...real.library, homonyms: {}, slivers: {} },
  product: { ...real.product, homonyms: {}, slivers: {} },
  pages: ["docs"],
  counts: {},
  words: { folders: ["packages/secure-local/src"], allowed: {}, instead: [["desk", "approval channel"]] },
});
const mcp = (path: string): string => `packages/mcp/src/${path}`;
const product = (path: string): string => `packages/secure-local/src/${path}`;
const tools = (path: string): string => `packages/mcp-tools/src/${path}`;
const inspection = (path: string): string => `packages/inspection/src/${path}`;
const source = (...lines: string[]): string => ["// Stands for a file.", ...lines, ""].join("\n");
const times = (count: number, line: string): string[] => Array.from({ length: count }, () => line);

const clean: Files = {
  "packages/mcp/package.json": JSON.stringify({
    name: "@secure-local/mcp",
    exports: { "./server": "./dist/entries/server.js" },
  }),
  "packages/secure-local/package.json": JSON.stringify({
    name: "mcp-secure-local",
    devDependencies: { "@secure-local/mcp": "1", "@secure-local/mcp-tools": "1", "@secure-local/inspection": "1" },
  }),
  "packages/mcp-tools/package.json": JSON.stringify({
    name: "@secure-local/mcp-tools",
    private: true,
    exports: { "./examine": { types: "./src/doctor/examine.ts", default: "./src/doctor/examine.ts" } },
    devDependencies: { "@secure-local/inspection": "1" },
  }),
  "packages/inspection/package.json": JSON.stringify({
    name: "@secure-local/inspection",
    private: true,
    exports: { "./inspect": { types: "./src/items/inspect.ts", default: "./src/items/inspect.ts" } },
  }),
  [inspection("items/inspect.ts")]: source("export const inspect = (): boolean => false;"),
  [tools("doctor/examine.ts")]: source(
    'import { inspect } from "@secure-local/inspection/inspect";',
    "export const examine: unknown = inspect;",
  ),
  [mcp("jsonrpc/message.ts")]: source("export interface Message { readonly id: number }"),
  [mcp("protocol/revisions/march.ts")]: source('export const march = "2025-03-26";'),
  [mcp("server/server.ts")]: source(
    'import type { Message } from "../jsonrpc/message.js";',
    "export type Sent = Message;",
  ),
  [mcp("node/stdio-pipe.ts")]: source('import { stdin } from "node:process";', "export const pipe: unknown = stdin;"),
  [mcp("entries/server.ts")]: source('export type { Sent } from "../server/server.js";'),
  [product("policy/decide.ts")]: source("export const decide = (): boolean => false;"),
  [product("policy/load-policy.ts")]: source(
    'import { readFileSync } from "node:fs";',
    "export const load: unknown = readFileSync;",
  ),
  [product("audit/append.ts")]: source('import { openSync } from "node:fs";', "export const open: unknown = openSync;"),
  [product("tools/search/search.ts")]: source(
    'import { Server } from "@secure-local/mcp/server";',
    "export const run = (ctx: { fetch(): void }): void => ctx.fetch();",
    "export const made: unknown = Server;",
  ),
};

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function plant(files: Files): string {
  const root = mkdtempSync(join(tmpdir(), "house-"));
  folders.push(root);
  write(root, { "layers.json": table, ...files });
  return root;
}

function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

let house: string;
beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), "house-"));
  write(house, { "layers.json": table, ...clean });
});
afterAll(() => rmSync(house, { recursive: true }));

/** In a clean tree that all tests share, which is left as clean as before. */
function faultsWith(files: Files): string[] {
  write(house, files);
  try {
    return checkHouse(house).faults;
  } finally {
    for (const path of Object.keys(files)) rmSync(join(house, path));
    write(house, Object.fromEntries(Object.entries(clean).filter(([path]) => path in files)));
  }
}

/** Each row: what is planted, the file, its text, and what the only fault must say. */
const faults: [what: string, path: string, text: string, says: RegExp][] = [
  [
    "an import of a layer below",
    mcp("jsonrpc/up.ts"),
    source('import "../server/server.js";'),
    /up\.ts:2: layer jsonrpc may not import layer server/,
  ],
  [
    "a type import of a layer below",
    mcp("schema/up.ts"),
    source('export type A = import("../jsonrpc/message.js").Message;'),
    /up\.ts:2: layer schema may not import layer jsonrpc/,
  ],
  [
    "a dynamic import of a layer below",
    mcp("protocol/up.ts"),
    source('export const a = (): unknown => import("../server/server.js");'),
    /up\.ts:2: layer protocol may not import layer server/,
  ],
  [
    "the client importing the server",
    mcp("client/peer.ts"),
    source('import "../server/server.js";'),
    /layer client may not import layer server/,
  ],
  [
    "one era importing the other",
    mcp("era/handshake/open.ts"),
    source('import "../stateless/envelope.js";'),
    /open\.ts:2: names both era\/handshake\/ and era\/stateless\//,
  ],
  [
    "a second file that joins the eras",
    mcp("endpoint/both.ts"),
    source('import "../era/handshake/a.js";', 'import "../era/stateless/b.js";'),
    /both\.ts:3: names both/,
  ],
  ["a file in no layer", mcp("loose.ts"), source("export const loose = 1;"), /loose\.ts:1: belongs to no layer/],
  [
    "a folder that is no layer",
    mcp("extras/loose.ts"),
    source("export const loose = 1;"),
    /extras\/loose\.ts:1: belongs to no layer/,
  ],
  [
    "Node in a neutral file",
    mcp("endpoint/clock.ts"),
    source('import { hrtime } from "node:process";', "export const t: unknown = hrtime;"),
    /clock\.ts:2: "node:process" in a runtime-neutral file/,
  ],
  [
    "a type of Node in a neutral file",
    mcp("endpoint/clock.ts"),
    source('import type { Stats } from "fs";', "export type S = Stats;"),
    /clock\.ts:2: "node:fs" in a runtime-neutral file/,
  ],
  [
    "a package in the library",
    mcp("server/check.ts"),
    source('import "ajv/dist/2020.js";'),
    /check\.ts:2: layer server may not import the package "ajv/,
  ],
  [
    "a re-export",
    mcp("server/again.ts"),
    source('export { pipe } from "../jsonrpc/message.js";'),
    /again\.ts:2: re-export of \.\.\/jsonrpc/,
  ],
  [
    "a re-export of everything",
    mcp("server/again.ts"),
    source('export * from "../jsonrpc/message.js";'),
    /again\.ts:2: re-export/,
  ],
  [
    "a re-export in two steps",
    mcp("server/again.ts"),
    source('import { a } from "../jsonrpc/message.js";', "export { a };"),
    /again\.ts:3: re-export of a,/,
  ],
  [
    "a re-export in the product",
    product("guard/again.ts"),
    source('export { open } from "../audit/append.js";'),
    /again\.ts:2: re-export/,
  ],
  [
    "a revision as a literal",
    mcp("server/when.ts"),
    source('export const when = "2025-06-18";'),
    /when\.ts:2: revision 2025-06-18/,
  ],
  [
    "a revision as a type",
    mcp("server/when.ts"),
    source('export type When = "2026-07-28";'),
    /when\.ts:2: revision 2026-07-28/,
  ],
  [
    "a revision in a template",
    mcp("server/when.ts"),
    source("export const when = (a: string): string => `${a} 2024-11-05`;"),
    /when\.ts:2: revision 2024-11-05/,
  ],
  ["a long file", mcp("server/long.ts"), source(...times(600, "// More.")), /long\.ts:601: 601 lines/],
  [
    "a long function",
    mcp("server/long.ts"),
    source("export function long(a: number): void {", ...times(49, "  a++;"), "}"),
    /long\.ts:2: function long has 51 lines/,
  ],
  [
    "a long arrow function",
    mcp("server/long.ts"),
    source("export const wide = (a: number): void => {", ...times(49, "  a++;"), "};"),
    /long\.ts:2: function wide has 51 lines/,
  ],
  ["any", mcp("server/loose.ts"), source("export const loose = (a: any[]): unknown => a;"), /loose\.ts:2: type any/],
  ["index.ts", mcp("server/index.ts"), source("export const a = 1;"), /index\.ts:1: file name index\.ts/],
  ["utils.ts", product("guard/utils.ts"), source("export const a = 1;"), /utils\.ts:1: file name utils\.ts/],
  ["helpers.ts in tests", "packages/mcp/test/helpers.ts", source("export const a = 1;"), /helpers\.ts:1: file name/],
  ["types.ts", mcp("server/types.ts"), source("export const a = 1;"), /types\.ts:1: file name types\.ts/],
  [
    "a camel-case name",
    mcp("server/theServer.ts"),
    source("export const a = 1;"),
    /theServer\.ts:1: file name .* kebab-case/,
  ],
  [
    "no opening comment",
    mcp("server/bare.ts"),
    "export const a = 1;\n// Too late.\n",
    /bare\.ts:1: does not open with a comment/,
  ],
  [
    "an opening comment that is no sentence",
    mcp("server/bare.ts"),
    "// stuff\nexport const a = 1;\n",
    /bare\.ts:1: does not open/,
  ],
  ["a file that does not parse", mcp("server/broken.ts"), source("export const = ;"), /broken\.ts:2: does not parse/],
  ["a long test", "packages/mcp/test/long.test.ts", source(...times(600, "// More.")), /long\.test\.ts:601: 601 lines/],
  ["a long screen", "packages/console/src/long.tsx", source(...times(600, "// More.")), /long\.tsx:601: 601 lines/],
  [
    "a long part of a screen",
    "packages/console/src/long.tsx",
    source("export const Long = (): JSX.Element => (", "  <p>", ...times(48, "    word"), "  </p>", ");"),
    /long\.tsx:2: function Long has 52 lines/,
  ],
  [
    "a long function of a screen",
    "packages/console/src/long.ts",
    source("export function long(): void {", ...times(49, "  long();"), "}"),
    /long\.ts:2: function long has 51 lines/,
  ],
  [
    "a long function inside another of a screen",
    "packages/console/src/screens/long.tsx",
    source("export const rows = [1].map(", "  (each) => {", ...times(48, "    each++;"), "    return each;", "  });"),
    /long\.tsx:3: function \(anonymous\) has 51 lines/,
  ],
  [
    "a long function of the launcher",
    "packages/secure-local/launcher/long.cjs",
    source("function long() {", ...times(49, "  long();"), "}"),
    /long\.cjs:2: function long has 51 lines/,
  ],
  [
    "a screen that does not parse",
    "packages/console/src/odd.tsx",
    source("export const Odd = () => <p>;"),
    /odd\.tsx:\d+: does not parse/,
  ],
  ["a long script", "scripts/long.mjs", source(...times(600, "// More.")), /scripts\/long\.mjs:601: 601 lines/],
  [
    "a private path of the library",
    product("guard/deep.ts"),
    source('import "@secure-local/mcp/dist/server/server.js";'),
    /deep\.ts:2: .* is not a public subpath/,
  ],
  [
    "the library's bare name",
    product("guard/deep.ts"),
    source('import "@secure-local/mcp";'),
    /deep\.ts:2: .* is not a public subpath/,
  ],
  [
    "the library by a relative path",
    product("guard/deep.ts"),
    source('import "../../../mcp/src/server/server.js";'),
    /deep\.ts:2: import of .* leaves packages\/secure-local\/src/,
  ],
  [
    "the library in a layer without it",
    product("audit/deep.ts"),
    source('import "@secure-local/mcp/server";'),
    /deep\.ts:2: layer audit may not import the library/,
  ],
  [
    "a private path of a private package",
    product("server/deep.ts"),
    source('import "@secure-local/inspection/rules/read-rules";'),
    /deep\.ts:2: .* is not a public subpath, import one of @secure-local\/inspection\/inspect/,
  ],
  [
    "a private package in a layer without it",
    product("policy/deep.ts"),
    source('import "@secure-local/inspection/inspect";'),
    /deep\.ts:2: layer policy may not import inspection/,
  ],
  [
    "a private package by a relative path",
    product("server/deep.ts"),
    source('import "../../../inspection/src/items/inspect.js";'),
    /deep\.ts:2: import of .* leaves packages\/secure-local\/src/,
  ],
  [
    "the inspection importing what stands on it",
    inspection("items/up.ts"),
    source('import "@secure-local/mcp-tools/examine";'),
    /up\.ts:2: layer items may not import the package "@secure-local\/mcp-tools/,
  ],
  [
    "the tools importing the product",
    tools("doctor/up.ts"),
    source('import "../../../secure-local/src/policy/decide.js";'),
    /up\.ts:2: import of .* leaves packages\/mcp-tools\/src/,
  ],
  [
    "an import of a layer below in the inspection",
    inspection("texts/up.ts"),
    source('import "../items/inspect.js";'),
    /up\.ts:2: layer texts may not import layer items/,
  ],
  [
    "files in the inspection",
    inspection("rules/read.ts"),
    source('import "node:fs";'),
    /read\.ts:2: layer rules reaches for "node:fs"/,
  ],
  ["a long file of the tools", tools("remote/long.ts"), source(...times(600, "// More.")), /long\.ts:601: 601 lines/],
  [
    "files in a tool",
    product("tools/read.ts"),
    source('import "node:fs/promises";'),
    /read\.ts:2: layer tools reaches for "node:fs\/promises"/,
  ],
  [
    "sockets beside a pure function",
    product("tools/dial.ts"),
    source('import { connect, isIP } from "node:net";', "export const a: unknown[] = [connect, isIP];"),
    /dial\.ts:2: layer tools reaches for "node:net"/,
  ],
  [
    "processes in a policy matcher",
    product("policy/match.ts"),
    source('import "child_process";'),
    /match\.ts:2: layer policy reaches for "node:child_process"/,
  ],
  [
    "global fetch in a tool",
    product("tools/get.ts"),
    source('export const get = (): unknown => fetch("x:");'),
    /get\.ts:2: layer tools uses the global fetch/,
  ],
  [
    "globalThis.fetch in a tool",
    product("tools/get.ts"),
    source("export const get: unknown = globalThis.fetch;"),
    /get\.ts:2: layer tools uses the global fetch/,
  ],
  [
    "a package in a layer without it",
    product("guard/read.ts"),
    source('import "yaml";'),
    /read\.ts:2: layer guard may not import the package "yaml"/,
  ],
];

describe("check-layers", () => {
  it("passes a clean tree and counts its files", () => {
    const { faults: found, files } = checkHouse(house);
    expect(found).toEqual([]);
    expect(files).toBe(11);
  });

  it.each(faults)("catches %s", (_what, path, text, says) => {
    const found = faultsWith({ [path]: text });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(says);
    expect(found[0]).toMatch(/^[\w./-]+:\d+: .+, .+/);
  });

  it("catches a cycle between files, type imports included", () => {
    const found = faultsWith({
      [mcp("server/a.ts")]: source('import type { B } from "./tasks/b.js";', "export type A = B;"),
      [mcp("server/tasks/b.ts")]: source('import type { C } from "../lists/c.js";', "export type B = C;"),
      [mcp("server/lists/c.ts")]: source('import { A } from "../a.js";', "export type C = A;"),
    });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/import cycle .*a\.ts → .*b\.ts → .*c\.ts → .*a\.ts, /);
  });

  it("catches one exported name with two meanings, in one package only", () => {
    const files = {
      [mcp("server/task.ts")]: source("export interface Task { id: string }"),
      [mcp("client/task.ts")]: source("export class Task {}"),
      [product("server/task.ts")]: source("export type Task = string;"),
    };
    const found = faultsWith(files);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/server\/task\.ts:2: exports Task, as .*client\/task\.ts does, /);
    const allowed = JSON.parse(table);
    allowed.library.homonyms = { Task: "two ends of one" };
    const layers = { "layers.json": JSON.stringify(allowed) };
    expect(checkHouse(plant({ ...clean, ...files, ...layers })).faults).toEqual([]);
    const stale = checkHouse(plant({ ...clean, ...layers })).faults;
    expect(stale).toEqual(["layers.json:1: library.homonyms allows Task, which has one meaning, take it out"]);
  });

  it("catches a short file with a single importer in its folder, unless it has a test or is loaded on demand", () => {
    const part = { [mcp("server/part.ts")]: source("export const part = 1;") };
    const whole = (line: string): Files => ({ [mcp("server/whole.ts")]: source(line) });
    const importing = whole('import { part } from "./part.js"; export const whole: number = part;');
    const found = faultsWith({ ...part, ...importing });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/server\/part\.ts:1: only .*server\/whole\.ts imports these 2 lines, /);
    const test = { "packages/mcp/test/part.test.ts": source('import "../src/server/part.js";') };
    expect(faultsWith({ ...part, ...importing, ...test })).toEqual([]);
    expect(faultsWith({ ...part, ...whole('export const load = (): unknown => import("./part.js");') })).toEqual([]);
    const long = { [mcp("server/part.ts")]: source("export const part = 1;", ...times(120, "// More.")) };
    expect(faultsWith({ ...long, ...importing })).toEqual([]);
  });

  it("takes a short file that a public subpath stands for as no part of its importer", () => {
    const files = {
      [inspection("items/whole.ts")]: source(
        'import { inspect } from "./inspect.js";',
        "export const a: unknown = inspect;",
      ),
    };
    expect(faultsWith(files)).toEqual([]);
  });

  it("catches too many files, a middle one of the wrong length, and a package that nobody counts", () => {
    const library = { houses: ["library"], files: 5, medianLines: [1, 5], reason: "a house for tests" };
    const counts = { groups: { library }, apart: { "packages/gone/src": "it went" } };
    const told = (group: object): string[] => {
      const text = { ...JSON.parse(table), counts: { ...counts, groups: { library: { ...library, ...group } } } };
      return checkHouse(plant({ ...clean, "layers.json": JSON.stringify(text) })).faults;
    };
    const uncounted = ["inspection", "mcp-tools", "secure-local"].map((name) => `packages/${name}/src is counted by`);
    const always = [...uncounted, "counts.apart allows packages/gone/src"];
    const says = (faults: string[], texts: string[]): void => {
      expect(faults).toHaveLength(texts.length);
      for (const [at, text] of texts.entries()) expect(faults[at]).toContain(text);
    };
    says(told({}), always);
    says(told({ files: 4 }), ["library has 5 files, at most 4", ...always]);
    says(told({ medianLines: [90, 160] }), ["the middle file of library has 2 lines, 90 to 160", ...always]);
    says(told({ medianLines: undefined }), ["the middle file of library has 2 lines", ...always]);
    says(told({ reason: undefined }), ["have lines of their own, say why", ...always]);
  });

  it("catches packages in a ring", () => {
    const ring = JSON.parse(table);
    ring.inspection.neighbours = { "mcp-tools": "packages/mcp-tools" };
    const found = checkHouse(plant({ ...clean, "layers.json": JSON.stringify(ring) })).faults;
    expect(found).toContain(
      "layers.json:1: packages in a ring: inspection → mcp-tools → inspection, move what they share into one below both",
    );
  });

  it("catches a manifest that does not name what its package imports", () => {
    const manifest = JSON.stringify({ name: "@secure-local/mcp-tools", private: true, exports: {} });
    const { faults: found } = checkHouse(plant({ ...clean, "packages/mcp-tools/package.json": manifest }));
    expect(found).toEqual([
      "packages/mcp-tools/package.json:1: packages/mcp-tools/src imports @secure-local/inspection, name it among the devDependencies",
    ]);
  });

  it.each(["dependencies", "peerDependencies"])("catches a published manifest with a private package in %s", (kind) => {
    const [own, named] = [
      JSON.parse(clean["packages/secure-local/package.json"]!),
      { "@secure-local/inspection": "1" },
    ];
    const manifest = { "packages/secure-local/package.json": JSON.stringify({ ...own, [kind]: named }) };
    expect(checkHouse(plant({ ...clean, ...manifest })).faults).toEqual([
      "packages/secure-local/package.json:1: needs @secure-local/inspection, which is not published, bundle it and name it among the devDependencies",
    ]);
  });

  it.each(["// Asks at the desk.", "export const taskDesk = 1;", "export interface Desks { a: 1 }"])(
    "catches a word of a dialect: %s",
    (line) => {
      const found = faultsWith({ [product("guard/ask.ts")]: source(line) });
      expect(found).toEqual([`${product("guard/ask.ts")}:2: the word "desk", say approval channel`]);
    },
  );

  it("leaves alone what only holds the letters of such a word", () => {
    expect(faultsWith({ [product("guard/ask.ts")]: source("export const desktop = 1; // Deskbound.") })).toEqual([]);
  });

  it("catches a picture that is not what the imports give, and none that was drawn from them", () => {
    const page = "# House\n\n<!-- picture:product (drawn) -->\nold\n<!-- picture:end -->\n";
    const root = plant({ ...clean, "ARCHITECTURE.md": page });
    expect(checkHouse(root).faults).toEqual([
      "ARCHITECTURE.md:1: a picture is not what the code gives, run node scripts/draw-pictures.mjs",
    ]);
    const drawn = drawPictures(root, JSON.parse(table), page);
    expect(drawn).toContain("```mermaid\nflowchart TD\n  tools --> library\n```\n");
    expect(checkHouse(plant({ ...clean, "ARCHITECTURE.md": drawn })).faults).toEqual([]);
  });

  it("catches a long line of a page, but not in its tables and code", () => {
    const long = "word ".repeat(30);
    const page = ["# Page", `| ${long} |`, "```", long, "```", long, ""].join("\n");
    expect(faultsWith({ "docs/page.md": page })).toEqual(["docs/page.md:6: 150 characters, break the line at 120"]);
  });

  it.each(["packages/mcp", "packages/secure-local", "packages/mcp-tools", "packages/inspection"])(
    "refuses to pass when it sees no file in %s",
    (gone) => {
      const left = Object.entries(clean).filter(([path]) => !path.startsWith(`${gone}/src`));
      const { faults: found } = checkHouse(plant(Object.fromEntries(left)));
      expect(found.join("\n")).toContain(`layers.json:1: no file seen in ${gone}/src`);
    },
  );

  it("does not count blank lines and comments of a function, nor revisions in comments", () => {
    const body = [...times(48, "  a++;"), ...times(20, "  // 2025-06-18 said so"), "", "  /* 2025-06-18", "  */"];
    const text = source("export function long(a: number): void {", ...body, "}");
    expect(faultsWith({ [mcp("server/long.ts")]: text })).toEqual([]);
  });

  it("tells power from types, from pure functions and from names bound in the file", () => {
    const text = source(
      'import type { Stats } from "node:fs";',
      'import { isIP } from "node:net";',
      "export const seen = (a: Stats): unknown => isIP(a.dev.toString());",
      "export const get = ({ fetch }: { fetch(): void }): void => fetch();",
      "export interface Net { fetch: number }",
    );
    expect(faultsWith({ [product("tools/get.ts")]: text })).toEqual([]);
  });

  it("exits with 1 and prints the faults, or with 0 and the number of files", () => {
    const script = join(repository, "scripts/check-layers.mjs");
    const good = spawnSync(process.execPath, [script, plant(clean)], { encoding: "utf8" });
    expect(good).toMatchObject({ status: 0, stdout: "11 files, 0 faults\n", stderr: "" });
    const bad = spawnSync(process.execPath, [script, plant({})], { encoding: "utf8" });
    expect(bad.status).toBe(1);
    expect(bad.stderr).toContain("no file seen");
  });
});
