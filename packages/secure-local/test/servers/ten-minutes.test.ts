// Walks the first section of docs/gateway.md word for word: two clients with five servers, behind the guard and back again.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { digestIn, COMMAND, run } from "../cli/command.js";
import { hasWall } from "../sandbox/walls.js";
import { Household, tool } from "./household.js";

const PAGE = readFileSync(new URL("../../../../docs/gateway.md", import.meta.url), "utf8");
const [, SECTION = ""] = PAGE.split(/^## /m);
/** Each block with its language. */
const BLOCKS = [...SECTION.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
  language,
  text,
}));
const house = new Household();
const home = house.folder;
afterAll(() => house.close());

/** As the page has it: a person called ada, on a machine where everything lies at its usual place. */
function asOnPage(text: string): string {
  return text
    .replaceAll(`${home}/state/`, "/home/ada/.local/state/")
    .replaceAll(home, "/home/ada")
    .replaceAll(COMMAND, "/usr/lib/node_modules/mcp-secure-local/dist/mcp-secure-local.cjs")
    .replaceAll(process.execPath, "/usr/bin/node")
    .replace(/\d{4}-\d\d-\d\dT[\d-]+Z/g, "2026-11-23T09-30-00-000Z")
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "2026-11-23 09:30:00")
    .replace(/--digest [0-9a-f]{64}/g, `--digest ${SHORT}`)
    .replace(/mcp-secure-local \d+\.\d+\.\d+/g, "mcp-secure-local 0.1.0")
    .replace(/[ \t]+$/gm, "")
    .trimEnd();
}

/** What the page says a command prints; a line of `…` stands for any lines. */
function expectPrinted(printed: string, said: string, command: string): void {
  const parts = said.split(/^…$/m).map((part) => part.trim());
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const found = printed.indexOf(part, at);
    if (found < 0 || (index === 0 && found > 0)) expect(printed, command).toBe(said);
    at = found + part.length;
  }
  if (parts.at(-1) !== "") expect(printed.slice(at).trim(), command).toBe("");
}

/** How the page writes the digest of what was shown: each is another. */
const SHORT = "5d41…";

const there = (path: string): string => path.replace(/^~|^\/home\/ada/, home);

it.skipIf(!hasWall())("is true of every file and every command", { timeout: 240_000 }, async () => {
  const files = new Map<string, string>();
  let commands = 0;
  let digest = "";
  for (const name of ["notes", "calendar", "wiki"]) house.program(name, { tools: [tool(`read_${name}`)] });
  house.program("board", { tools: [tool("list_cards"), tool("delete_card")] });
  house.program("tickets", {
    tools: [tool("count")],
    answers: { count: `() => process.env.TICKETS_TOKEN === "tkt_5f1f2c7e9a" ? "3 tickets" : "no token"` },
  });
  for (const { language, text } of BLOCKS) {
    if (language === "jsonc" || language === "json") {
      // Its first line says which file it is.
      const [first = "", ...rest] = text.split("\n");
      const file = there(first.replace("// ", ""));
      const content = rest.join("\n").replaceAll("/home/ada/mcp", `${home}/programs`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      files.set(file, content);
    } else if (language === "yaml") {
      const [entry = "", line = ""] = text.split("\n");
      const policy = join(home, ".config/mcp-secure-local/policy.yaml");
      const before = readFileSync(policy, "utf8");
      expect(before).toContain(`\n${entry}\n`);
      writeFileSync(policy, before.replace(`\n${entry}\n`, `\n${entry}\n${line}\n`));
    } else {
      for (const each of text.split(/^\$ mcp-secure-local /m).slice(1)) {
        const [line = "", ...printed] = each.trimEnd().split("\n");
        const words = line.replace(SHORT, digest).split(" ").map(there);
        const { stdout, stderr } = await run(words, { home, cwd: home, env: { TZ: "UTC" } });
        digest = digestIn({ stderr }) ?? digest;
        const said = asOnPage(stdout + stderr).replaceAll("/home/ada/programs", "/home/ada/mcp");
        expectPrinted(said, printed.join("\n").trimEnd(), line);
        commands++;
      }
    }
  }
  expect(files.size).toBe(2);
  expect(commands).toBeGreaterThan(8);
  for (const [file, content] of files) expect(readFileSync(file, "utf8")).toBe(content);
  // The secrets are in files of their own by then, and nowhere else.
  const policy = readFileSync(join(home, ".config/mcp-secure-local/policy.yaml"), "utf8");
  expect(policy).not.toContain("tkt_5f1f2c7e9a");
  expect(readFileSync(join(home, ".config/mcp-secure-local/secrets/tickets_tickets_token"), "utf8")).toBe(
    "tkt_5f1f2c7e9a",
  );
  expect(existsSync(join(home, "state/mcp-secure-local/installs/cursor.json"))).toBe(false);
});
