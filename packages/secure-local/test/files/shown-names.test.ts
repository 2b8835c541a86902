// A name of a file, whatever characters it has, stays on its own line in all that shows names, and can be told from every other.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { completedName, shownName } from "../../src/capabilities/files/files.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { MadeRepository } from "../git/made-repository.js";

const CODES = [0x01, 0x09, 0x0a, 0x0b, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x200b, 0x200f, 0x2028, 0x2029, 0x202e];
const ODD = [...CODES, 0x2066, 0x2800, 0x3164, 0xe000, 0xfeff, 0xe0041].map((code) => String.fromCodePoint(code));
const NAMES = [
  ...ODD.map((odd) => `a${odd}b (1 bytes)${odd}c`),
  '"quoted"',
  "a\\u000ab",
  "plain é.txt",
  "\u{1F468}\u200D\u{1F469}",
];
const SEEN = new Set(ODD);
const isSafe = (line: string): boolean => ![...line].some((character) => SEEN.has(character));

const folder = realpathSync(mkdtempSync(join(tmpdir(), "shown-names-")));
const place = join(folder, "names");
let peer: MemoryPeer;

beforeAll(async () => {
  for (const name of NAMES) {
    mkdirSync(join(place, `d${name}`), { recursive: true });
    writeFileSync(join(place, `f${name}`), "needle\n");
  }
  new MadeRepository(join(folder, "r")).main(Object.fromEntries(NAMES.map((name) => [`f${name}`, "x"])));
  const text = `version: "1.0"
tools: { allowed: ["*"] }
resources: { allowed: ["file:///*", "git:///*"] }
filesystem: { readable_paths: ["${folder}/**"] }`;
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1" });
  peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
});
afterAll(async () => {
  await peer.close();
  rmSync(folder, { recursive: true, force: true });
});

async function tool(name: string, args: object): Promise<string[]> {
  const { content } = await peer.request("tools/call", { name, arguments: args });
  return (content as { text: string }[])[0]?.text.split("\n") ?? [];
}

async function resource(uri: string): Promise<string[]> {
  const { contents } = await peer.request("resources/read", { uri });
  return (contents as { text: string }[])[0]?.text.split("\n") ?? [];
}

async function completed(uri: string, argument: object, known = {}): Promise<string[]> {
  const params = { ref: { type: "ref/resource", uri }, argument, context: { arguments: known } };
  const { completion } = await peer.request("completion/complete", params);
  return (completion as { values: string[] }).values;
}

const both = NAMES.length * 2;
const WAYS: readonly (readonly [string, number, () => Promise<string[]>])[] = [
  ["list_directory", both + 1, () => tool("list_directory", { path: place })],
  ["search_files", both, () => tool("search_files", { pattern: "**", path: place })],
  ["search_text", NAMES.length, () => tool("search_text", { query: "needle", path: place })],
  ["a folder", both, () => resource(`file://${place}`)],
  ["a folder of git", NAMES.length, () => resource(`git://${folder}/r`)],
  ["completion", both, () => completed("file:///{+path}", { name: "path", value: `${place.slice(1)}/` })],
  [
    "completion in git",
    NAMES.length,
    () =>
      completed("git:///{+repository}{?ref,path}", { name: "path", value: "" }, { repository: `${folder.slice(1)}/r` }),
  ],
];

describe("names of files", () => {
  it.each(WAYS)("take one line each, all of which is seen, in %s", async (_way, count, lines) => {
    const shown = await lines();
    expect(shown.filter((line) => !isSafe(line))).toEqual([]);
    expect(shown).toHaveLength(count);
    expect(new Set(shown).size).toBe(count);
  });

  it("lead to their files as they are completed", async () => {
    const values = await completed("file:///{+path}", { name: "path", value: `${place.slice(1)}/f` });
    for (const value of values.filter((each) => !each.includes("\\") && !each.includes('"')))
      expect(await resource(`file:///${encodeURI(value).replaceAll("%25", "%")}`), value).toEqual(["needle", ""]);
  });

  it("are shown so that no two are alike and none has a character that is not seen", () => {
    const text = fc.array(fc.oneof(fc.constantFrom(...ODD, '"', "\\", "u", "0", "a"), fc.string({ unit: "grapheme" })));
    fc.assert(
      fc.property(text, (parts) => {
        const name = parts.join("");
        const shown = shownName(name);
        expect(isSafe(shown)).toBe(true);
        expect(isSafe(completedName(name))).toBe(true);
        expect(shown.startsWith('"') ? JSON.parse(shown) : shown).toBe(name);
      }),
    );
  });
});
