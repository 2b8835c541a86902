// docs/jobs.md: each policy there can be used as it stands, means what it seems to, and does the job it is for.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Client, connect } from "@secure-local/mcp/client/node";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { reviewPolicy } from "../../src/policy/review-policy.js";
import { reviewedTools } from "../../src/cli/settings.js";
import { COMMAND, environmentOf } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { sampleSqlite } from "../databases/sample-databases.js";
import { hasWall } from "../sandbox/walls.js";

const PAGE = readFileSync(new URL("../../../../docs/jobs.md", import.meta.url), "utf8");
const POLICIES = [...PAGE.matchAll(/^## ([^\n]*)\n+```yaml\n([^]*?)```/gm)].map(([, title = "", text = ""]) => ({
  title,
  text,
}));

describe("docs/jobs.md", () => {
  it("has a policy for each job", () => expect(POLICIES.length).toBeGreaterThan(4));

  it.each(POLICIES)("$title: can be used, and nothing in it is surely not meant", async ({ text }) => {
    const policy = await parsePolicy(text, { file: "policy.yaml", environment: { HOME: "/home/ada" } });
    expect(reviewPolicy(policy, reviewedTools(policy)).map(({ message }) => message)).toEqual([]);
  });
});

/** Not in the folder for temporary files: a sandbox has one of its own. */
const home = mkdtempSync(join(homedir(), ".jobs-test-"));
const project = join(home, "src/project");

beforeAll(() => {
  for (const folder of [project, join(home, "notes"), join(home, "data")]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(project, "main.ts"), "let one = 1;\n");
  writeFileSync(join(home, "notes/plan.txt"), "buy milk\n");
  sampleSqlite(join(home, "data/sales.sqlite"));
  const person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"];
  const git = (...words: readonly string[]): unknown => execFileSync("git", [...person, ...words], { cwd: project });
  git("init", "--quiet", "--initial-branch=main");
  git("add", ".");
  git("commit", "--quiet", "--message=The first day");
  writeFileSync(join(project, "main.ts"), "let one = 2;\n");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** A client of the program under a job's policy, whose user says yes to all. */
async function served(file: string): Promise<{ readonly client: Client; readonly asked: string[] }> {
  const asked: string[] = [];
  const elicit = ({ message }: { readonly message: string }) => {
    asked.push(message);
    return { action: "accept", content: { decision: "approve this one call" } } as const;
  };
  const args = [COMMAND, "--policy", file];
  const client = await connect({ command: process.execPath, args, env: environmentOf(home) }, { elicit });
  onTestFinished(() => client.close());
  return { client, asked };
}

function written(job: string): string {
  const file = join(home, "policy.yaml");
  writeFileSync(file, POLICIES.find(({ title }) => title.startsWith(`${job}:`))?.text ?? "");
  return file;
}

async function text(client: Client, tool: string, given: object): Promise<string> {
  const { content } = await client.call(tool, given as never);
  return content.map((block) => (block.type === "text" ? block.text : block.type)).join("\n");
}

describe("each job of docs/jobs.md is done:", () => {
  it("Notes", async () => {
    const { client, asked } = await served(written("Notes"));
    const path = join(home, "notes/plan.txt");
    expect(await text(client, "read_file", { path })).toContain("buy milk");
    await text(client, "write_file", { path: join(home, "notes/new.txt"), content: "more" });
    expect(readFileSync(join(home, "notes/new.txt"), "utf8")).toBe("more");
    expect(asked.length).toBe(1);
  });

  it("A repository", async () => {
    const { client } = await served(written("A repository"));
    expect(await text(client, "search_text", { query: "let one", path: project })).toContain("main.ts");
    const history = await client.read(`git://${project}?path=main.ts&ref=main`);
    expect(JSON.stringify(history)).toContain("let one = 1;");
    expect((await client.prompt("code_review", { code: "x = 1" })).messages.length).toBeGreaterThan(0);
  });

  it("A database", async () => {
    const { client } = await served(written("A database"));
    expect(await text(client, "query_database", { sql: "SELECT name FROM people" })).toContain("Ada");
  });

  // Nobody beyond this machine is spoken to, so the program is asked what it would allow.
  it.each(["https://en.wikipedia.org/wiki/Ada", "https://docs.python.org/3/", "https://html.duckduckgo.com/html/"])(
    "Research, of %s",
    async (url) => {
      const { stdout } = await runQuickly(["policy", "explain", "fetch", url, "--policy", written("Research")], {
        home,
      });
      expect(stdout).toMatch(/^allowed/);
    },
  );

  it.runIf(hasWall()).each([
    ["status", "modified:   main.ts"],
    ["log", "The first day"],
    ["diff", "+let one = 2;"],
  ])("Builds, by git %s", async (action, shown) => {
    const { client, asked } = await served(written("Builds"));
    expect(await text(client, "run_command", { command: "git", arguments: [action] })).toContain(shown);
    expect(asked.length).toBe(1);
  });
});

describe("git in a sandbox that lets nobody see a repository", () => {
  const policy = (): string =>
    POLICIES.find(({ title }) => title.startsWith("Builds:"))!
      .text.replace(/^sandbox:.*\n/m, "")
      .replace(/^approvals:\n.*\n/m, "");

  it.runIf(hasWall())("is told which key lets it", async () => {
    const file = join(home, "without.yaml");
    writeFileSync(file, policy());
    const { client } = await served(file);
    expect(await text(client, "run_command", { command: "git", arguments: ["status"] })).toContain(
      "[exit code 128: programs in the sandbox see no .git; to let them, write git: true below sandbox in the policy]",
    );
  });

  it("is noted by policy check", async () => {
    const parsed = await parsePolicy(policy(), { file: "policy.yaml", environment: { HOME: home } });
    const messages = reviewPolicy(parsed, reviewedTools(parsed)).map(({ message }) => message);
    expect(messages).toEqual([expect.stringContaining('"git" runs git, which sees no .git in its sandbox')]);
  });
});
