// What a command advises it takes itself: no error names an option that the command which said it refuses.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMAND_PAGES } from "../../src/cli/command-reference.js";
import { COMMON_OPTIONS } from "../../src/cli/option-reference.js";
import { changeableBy, changeableIn, inOptions } from "../../src/cli/failure.js";
import { Household } from "../servers/household.js";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "../../src");
const house = new Household();
/** Lets nobody in. */
const guarded = createServer((_request, response) => response.writeHead(401).end());
let url = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => guarded.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(guarded.address() as AddressInfo).port}/mcp`;
  house.write(`version: "1.0"
servers:
  tix: { url: "${url}" }
  board: { url: "${url}", login: oauth }
`);
  const cursor = join(house.folder, ".cursor/mcp.json");
  mkdirSync(dirname(cursor), { recursive: true });
  writeFileSync(cursor, JSON.stringify({ mcpServers: { far: { url } } }));
});
afterAll(async () => {
  guarded.close();
  await house.close();
});

/** The page of the command that a line begins with. */
function pageOf(words: readonly string[]): (typeof COMMAND_PAGES)[number] | undefined {
  const named = [words.slice(0, 2).join(" "), words[0]];
  return COMMAND_PAGES.find(({ name }) => named.includes(name));
}

/** Options that a text names and the command does not have. */
function foreign(text: string, words: readonly string[]): string[] {
  const own = new Set([...COMMON_OPTIONS, ...(pageOf(words)?.options ?? [])]);
  // What is said of another command is that command's.
  const aboutIt = text.replace(/mcp-secure-local [a-z]+[^\n;,]*/g, "");
  return [...aboutIt.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([option]) => option).filter((each) => !own.has(each));
}

const REACHING = (): readonly string[][] => [
  ["servers", "add", "more", url],
  ["servers", "review"],
  ["servers", "test", "tix"],
  ["servers", "test", "board"],
  ["servers", "login", "board"],
  ["servers", "import", "cursor", "--yes"],
  ["install", "cursor", "--move", "--yes"],
  ["tools", url],
  ["call", url, "go"],
  ["read", url, "note://a"],
  ["prompt", url, "p"],
  ["inspect", url],
  ["doctor", url],
  ["list", "--config", join(house.folder, ".cursor/mcp.json")],
];

describe("a server that wants authorization", () => {
  it("is answered with what the command that met it has", { timeout: 120_000 }, async () => {
    for (const words of REACHING()) {
      const { stdout, stderr } = await house.run(words);
      expect(foreign(stdout + stderr, words), `${words.join(" ")}:\n${stdout}${stderr}`).toEqual([]);
    }
  });

  it("is answered with the words for an entry, where it is one of the policy's", async () => {
    const { stderr } = await house.run(["servers", "review", "tix"]);
    expect(stderr).toContain('write headers: { Authorization: "Bearer ${secret:NAME}" } into servers.tix');
    expect((await house.run(["tools", url])).stderr).toMatch(/--token-file FILE|--token/);
  });
});

/** What the library says of its settings, as it says it. */
const SAID = [
  "It was not answered within 30 s. Raise maxTimeoutMs if it needs longer.",
  "It was not answered within 30 s. Raise timeoutMs, or pass onProgress so that progress grants more time.",
  "https://host sent too much. Ask for less, or raise limits.messageBytes.",
  "It has more than the limit members.",
  "https://host answered with 401. It wants authorization: give a token in `headers`, or an authorizer.",
  "https://host needs a person to authorize it: run this in a terminal, or give --token",
  "host is private, not an address on the internet; if you trust it, name it in allowHosts",
  "its metadata is a, which is not at b; if you trust it, name c.example in allowHosts",
  "The authorization server registers no clients by itself: register one there and give it as preRegistered",
  'mcp.json asks for TOKEN of "far"; give the value with --env or --header instead',
];

it.each(COMMAND_PAGES.map(({ name }) => name))(
  "%s names no option of others for a setting of the library's",
  async (name) => {
    const words = name.split(" ");
    const by = await changeableBy(words);
    for (const said of SAID) {
      const told = inOptions(said, by);
      expect(foreign(told, words), told).toEqual([]);
      expect(told).not.toMatch(/maxTimeoutMs|timeoutMs|messageBytes|allowHosts|preRegistered|authorizer/);
      expect(foreign(inOptions(said, changeableIn("tix")), [])).toEqual([]);
    }
  },
);

it("each command line that a text of the sources advises is taken", () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  let found = 0;
  for (const file of files) {
    for (const [line, rest = ""] of readFileSync(join(SOURCES, file), "utf8").matchAll(
      /mcp-secure-local ([a-z]+(?: [a-z]+)?[^"`\n]*?--[a-z][^"`\n]*)/g,
    )) {
      const plain = rest.replace(/\$\{[^}]*\}/g, "X").split(/[;,:()—]| {2,}/)[0]!;
      const words = plain.split(/\s+/).filter((word) => word !== "");
      const page = pageOf(words);
      if (page === undefined) continue;
      found += 1;
      expect(foreign(plain, words), `${file}: ${line}`).toEqual([]);
    }
  }
  expect(found).toBeGreaterThan(5);
});
