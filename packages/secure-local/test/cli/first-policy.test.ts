// Follows docs/first-policy.md word for word: its questions, its commands, its files, and what it says they print.
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { askWishes } from "../../src/cli/policy-command.js";
import { policyText } from "../../src/policy/policy-text.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const PAGE = readFileSync(new URL("../../../../docs/first-policy.md", import.meta.url), "utf8");
const HOME = "/home/ada";

/** The blocks of one language, as they are for this home. */
function blocks(language: string, home: string): string[] {
  const parts = PAGE.replaceAll(HOME, home).split(/^```/m);
  // Every second part stands between two fences, and begins with its language.
  const inside = parts.filter((_, index) => index % 2 === 1);
  return inside.filter((part) => part.startsWith(`${language}\n`)).map((part) => part.slice(language.length + 1));
}

/** Each command of the page, without its name, and what it prints. */
function* commands(home: string): Generator<{ readonly words: string[]; readonly printed: string }> {
  for (const block of blocks("", home)) {
    for (const part of block.split(/^\$ mcp-secure-local /m).slice(1)) {
      const [line = "", ...printed] = part.trimEnd().split("\n");
      yield { words: line.split(" ").map((word) => word.replace(/^~(?=\/)/, home)), printed: printed.join("\n") };
    }
  }
}

/** Where the page says … is anything; hashes, times and durations are others each time. */
function pattern(printed: string): RegExp {
  const escaped = printed.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const open = escaped.replace(/…/g, "[^]*").replace(/(?<=sha-256 )[0-9a-f]+/g, "[0-9a-f]+");
  return new RegExp(
    `^${open
      .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "\\d{4}-\\d\\d-\\d\\d [\\d:]{8}")
      .replace(/time \\\(UTC\\\) +/, "time \\(UTC[^)]*\\) +")
      .replace(/denied \d+ ms +/g, "denied \\d+ ms +")}\\s*$`,
  );
}

/** What `policy init` would write for the answers the page gives to the questions it shows. */
async function initial(printed: string, home: string): Promise<string> {
  const shown = printed.split("\n").filter((line) => line.includes("?"));
  const asked: string[] = [];
  const wishes = await askWishes(async (question) => {
    const line = shown[asked.push(question.trim()) - 1] ?? "";
    expect(line.startsWith(question.trim()), `${line} is not asked, but ${question}`).toBe(true);
    return line.slice(question.trim().length).trim().replace(/^~/, home);
  }, undefined);
  expect(asked.length).toBe(shown.length);
  return policyText(wishes);
}

it("is true of every command, and of an official client that is given its entry", { timeout: 60_000 }, async () => {
  const home = realpathSync(temporaryFolder());
  const cwd = join(home, "agent");
  for (const folder of ["agent", "notes"]) mkdirSync(join(home, folder));
  writeFileSync(join(home, "notes/plan.txt"), "buy milk\n");
  const [cases = ""] = blocks("yaml", home);
  writeFileSync(join(cwd, "cases.yaml"), cases);
  for (const { words, printed } of commands(home)) {
    if (words[1] === "init") {
      writeFileSync(join(cwd, words[2] ?? ""), await initial(printed, home), { mode: 0o600 });
      continue;
    }
    const { stdout, stderr } = await runQuickly(words, { home, cwd });
    expect(`${stdout}${stderr}`, words.join(" ")).toMatch(pattern(printed));
  }
  await givenToClient(home);
});

async function givenToClient(home: string): Promise<void> {
  const [entry = ""] = blocks("json", home);
  const { mcpServers } = JSON.parse(entry) as { mcpServers: Record<string, { args: string[] }> };
  const [script, ...args] = mcpServers["secure-local"]?.args ?? [];
  expect(basename(script ?? "")).toBe(basename(COMMAND));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [COMMAND, ...args],
    env: { HOME: home },
  });
  const client = new Client({ name: "follower", version: "1.0.0" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const listed = /policy\.yaml\n([^]*?)```/.exec(PAGE.slice(PAGE.indexOf("$ mcp-secure-local tools")))?.[1] ?? "";
  const names = listed.trim().split("\n");
  expect(tools.map(({ name }) => name).toSorted()).toEqual(names.map((line) => line.split(" ")[0] ?? "").toSorted());
  const read = (path: string) => client.callTool({ name: "read_file", arguments: { path } });
  expect(await read(join(home, "notes/plan.txt"))).toMatchObject({ content: [{ text: "buy milk\n" }] });
  expect(await read("/etc/passwd")).toMatchObject({ isError: true });
  await client.close();
}
