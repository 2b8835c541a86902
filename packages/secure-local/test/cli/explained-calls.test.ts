// What `policy explain` says of a call, a read or a prompt is what a running server does with it.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { ruleOf } from "../../src/audit/call-records.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { judgeQuestion, type PolicyQuestion } from "../../src/cli/policy-explain.js";
import { policyContext } from "../../src/cli/settings.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { APPROVE, person, STATEFUL } from "../approvals/approving-server.js";
import { MadeRepository } from "../git/made-repository.js";
import "../databases/plain-wasm.js";

const inside = realpathSync(mkdtempSync(join(tmpdir(), "explained-")));
afterAll(() => rmSync(inside, { recursive: true, force: true }));
new MadeRepository(join(inside, "r")).main({ "notes.md": "# History", "secret/a.md": "x" });
for (const folder of ["d", "d/deep", "e"]) mkdirSync(join(inside, folder));
for (const file of ["d/notes.md", "d/deep/a.md", "e/b.md", "d/.env"]) writeFileSync(join(inside, file), "# Notes");
writeFileSync(join(inside, "app.log"), `${new Date().toISOString()} ERROR it broke\n`);
symlinkSync("d", join(inside, "link"));

const PATHS = [
  "d",
  "d/notes.md",
  "d/deep/a.md",
  "d/.env",
  "e/b.md",
  "link/notes.md",
  "link/deep",
  "none.md",
  "app.log",
];
const tool = (name: string, args: Readonly<Record<string, unknown>>): PolicyQuestion => ({
  kind: "tool",
  name,
  arguments: args,
});
const resource = (name: string): PolicyQuestion => ({ kind: "resource", name });
const prompt = (name: string, args: Readonly<Record<string, unknown>>): PolicyQuestion => ({
  kind: "prompt",
  name,
  arguments: args,
});

const QUESTIONS: readonly PolicyQuestion[] = [
  ...PATHS.flatMap((path) => [
    tool("read_file", { path: `${inside}/${path}` }),
    tool("list_directory", { path: `${inside}/${path}` }),
    tool("search_text", { path: `${inside}/${path}`, query: "x" }),
    resource(`file://${inside}/${path}`),
  ]),
  ...["d/new.md", "link/new.md", "e/b.md"].map((path) =>
    tool("write_file", { path: `${inside}/${path}`, content: "# Notes" }),
  ),
  tool("write_file", { path: `${inside}/e/b.md`, content: "x", mode: "replace" }),
  ...["", "notes.md", "secret/a.md", "secret"].map((path) => resource(`git://${inside}/r?path=${path}`)),
  resource(`git://${inside}/r`),
  resource(`git://${inside}/r?ref=HEAD&path=notes.md`),
  resource(`file://${inside}/r/notes.md`),
  resource("server://info"),
  resource("server://other"),
  resource("db://c/schema"),
  resource("db://c/schema/t"),
  resource("db://other/schema"),
  tool("calculate", { expression: "1+1" }),
  tool("get_timestamp", {}),
  tool("search_files", { pattern: "*.md" }),
  tool("query_database", { sql: "SELECT 1", database: "c" }),
  tool("query_database", { sql: "SELECT 1" }),
  tool("import_csv", { file: `${inside}/d/notes.md` }),
  tool("nothing", {}),
  prompt("code_review", { code: "x" }),
  prompt("code_review", { code: "x", focus: "security" }),
  prompt("analyze_logs", { timeframe: "24h" }),
  prompt("analyze_logs", { timeframe: "1h" }),
  prompt("nothing", {}),
];

const some = (values: readonly string[]): fc.Arbitrary<string[]> => fc.subarray([...values]);
const half = (text: string): fc.Arbitrary<string> => fc.constantFrom("", text);
const FOLDERS = ["**", "d/**", "d/notes.md", "link/**", "r/**", "e/**", "r/secret/**"].map(
  (each) => `${inside}/${each}`,
);
const TOOLS = [
  "read_file",
  "list_directory",
  "search_*",
  "write_file",
  "query_database",
  "calculate",
  "import_csv",
  "*",
];
const URIS = [
  "file:///*",
  `file://${inside}/d/*`,
  `file://${inside}/link/*`,
  `file://${inside}/e/b.md`,
  "git:///*",
  `git://${inside}/r?path=secret*`,
  "db://*",
  "db://c/schema/*",
  "server://info",
];
const PROMPTS = ["*", "code_review", "analyze_*"];
const APPROVED = ["all", "destructive", "tainted", ...TOOLS, "code_review", "analyze_logs"];
const WHEN = [
  `path: "${inside}/d/**"`,
  `path: "${inside}/link/**"`,
  `path: "**/*.log"`,
  `path: "*md"`,
  "database: c",
  "database: other",
  'sql: "*t*"',
  "timeframe: 1h",
  "focus: security",
  "mode: either",
  "kind: any",
  "limit: 100",
];

const list = (values: readonly string[]): string => `[${values.map((each) => JSON.stringify(each)).join(", ")}]`;
const named = (each: string): string => (/^(?:all|destructive|tainted)$/.test(each) ? each : list([each]));
const approval = fc
  .tuple(fc.constantFrom(...APPROVED), fc.option(fc.constantFrom(...WHEN)))
  .map(([each, when]) => `{ approve: ${named(each)}${when === null ? "" : `, when: { ${when} }`} }`);

const policies = fc
  .record({
    tools: some(TOOLS),
    noTools: fc.oneof(fc.constant([]), some(TOOLS.slice(0, -1))),
    uris: some(URIS),
    noUris: fc.oneof(fc.constant([]), some(URIS)),
    prompts: some(PROMPTS),
    log: half(`, analyze_logs: { log_file: "${inside}/app.log" }`),
    allowed: some(FOLDERS),
    readable: some(FOLDERS),
    readOnly: half(", read_only: true"),
    denied: fc.oneof(fc.constant([]), some(FOLDERS.slice(1))),
    databases: half(`databases: { c: { file: "${inside}/c.db", read_only: false } }`),
    approvals: fc.array(approval, { maxLength: 3 }),
  })
  .map(
    (given) => `version: "1.0"
tools: { allowed: ${list(given.tools)}, denied: ${list(given.noTools)}, rate_limits: { default: 1000 } }
resources: { allowed: ${list(given.uris)}, denied: ${list(given.noUris)} }
prompts: { allowed: ${list(given.prompts)}${given.log} }
filesystem: { allowed_paths: ${list(given.allowed)}, readable_paths: ${list(given.readable)}, denied_paths: ${list(given.denied)}${given.readOnly} }
${given.databases}
approvals: [${given.approvals.join(", ")}]`,
  );

const METHODS = { tool: "tools/call", prompt: "prompts/get", resource: "resources/read" } as const;
type Asked = Extract<PolicyQuestion, { readonly kind: keyof typeof METHODS }>;

/** What a server does that runs by the policy, for each question: with a person who says yes. */
async function served(text: string, questions: readonly PolicyQuestion[]): Promise<string[]> {
  const audit = new MemoryAudit();
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const secure = new SecureServer({ policy, audit, version: "1" });
  const shown: string[] = [];
  const peer = await connectInMemory(secure.server, {
    ...person(() => ({ action: "accept", content: { decision: APPROVE } }), shown),
    revision: STATEFUL,
  });
  const outcomes: string[] = [];
  for (const question of questions as readonly Asked[]) {
    const [before, from] = [shown.length, audit.records().length];
    const args = question.kind === "resource" ? { uri: question.name } : { ...question };
    const said: unknown = await peer.request(METHODS[question.kind], args).catch((error: unknown) => String(error));
    const ends = audit
      .records()
      .slice(from)
      .map(({ outcome }) => outcome);
    // What is denied behind links is told as the answer of a read.
    const refused =
      ends.some((each) => each === "denied" || each === "unknown") || String(said).startsWith("RpcError: Denied");
    outcomes.push(refused ? "denied" : shown.length > before ? "approval" : "allowed");
  }
  await peer.close();
  return outcomes;
}

async function explained(text: string, questions: readonly PolicyQuestion[]): Promise<string[]> {
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const around = await policyContext(policy, {} as never);
  return questions.map((question) => judgeQuestion(policy, question, around).verdict);
}

describe("what is said of a request", () => {
  it("is that a person is asked where one is, for resources and prompts as for tools", async () => {
    const text = `version: "1.0"
tools: { allowed: [read_file] }
resources: { allowed: ["file:///*", "git:///*", "db://*"] }
prompts: { allowed: ["*"], analyze_logs: { log_file: "${inside}/app.log" } }
filesystem: { readable_paths: ["${inside}/**"] }
databases: { c: { file: "${inside}/c.db" } }
approvals: [{ approve: [read_file, query_database], when: { path: "${inside}/d/**" } }, { approve: [query_database, analyze_logs] }]`;
    const asked = [
      tool("read_file", { path: `${inside}/link/notes.md` }),
      resource(`file://${inside}/link/notes.md`),
      resource("db://c/schema"),
      prompt("analyze_logs", { timeframe: "1h" }),
    ];
    expect(await explained(text, asked)).toEqual(asked.map(() => "approval"));
    expect(await served(text, asked)).toEqual(asked.map(() => "approval"));
    const others = [
      resource(`file://${inside}/e/b.md`),
      resource(`git://${inside}/r?path=notes.md`),
      prompt("code_review", { code: "x" }),
    ];
    expect(await explained(text, others)).toEqual(others.map(() => "allowed"));
    expect(await served(text, others)).toEqual(others.map(() => "allowed"));
  });

  it("is the rule on record, too: a denied name outside the allowed folders is denied by its line, not by default", async () => {
    const text = `version: "1.0"
tools: { allowed: [read_file] }
filesystem:
  allowed_paths: ["${inside}/d/**"]
  denied_paths: ["**/salary*"]`;
    const asked = [`${inside}/d/../e/salary.txt`, `${inside}/e/b.md`].map((path) => tool("read_file", { path }));
    const policy = await parsePolicy(text, { file: "policy.yaml" });
    const around = await policyContext(policy, {} as never);
    const rules = asked.map((question) => judgeQuestion(policy, question, around).steps.at(-1)?.decision.rule);
    expect(rules).toMatchObject([{ text: "filesystem.denied_paths: **/salary*", line: 5 }, { text: "default deny" }]);
    const audit = new MemoryAudit();
    const secure = new SecureServer({ policy, audit, version: "1" });
    const peer = await connectInMemory(secure.server, { revision: STATEFUL });
    for (const question of asked) await peer.request("tools/call", { ...question });
    // A link tells nobody where it leads.
    symlinkSync("../e/salary.txt", join(inside, "d/leads-away"));
    writeFileSync(join(inside, "e/salary.txt"), "1");
    await peer.request("tools/call", { name: "read_file", arguments: { path: `${inside}/d/leads-away` } });
    await peer.close();
    const ends = audit.records().filter(({ kind }) => kind === "call.result");
    expect(ends.map((end) => ruleOf(end))).toEqual([
      { rule: "filesystem.denied_paths: **/salary*", line: 5 },
      { rule: "default deny", line: undefined },
      { rule: "default deny", line: undefined },
    ]);
  });

  it.each([
    ["filesystem.read_only", tool("write_file", { path: `${inside}/d/new.md`, content: "x" })],
    ["network.offline", tool("web_fetch", { url: "https://example.com/" })],
  ] as const)("names the line of %s where that takes the tool away", async (key, question) => {
    const text = `version: "1.0"
tools: { allowed: [write_file, web_fetch] }
filesystem: { allowed_paths: ["${inside}/**"], read_only: true }
network: { allowed_endpoints: [{ host: example.com }], offline: true }`;
    const policy = await parsePolicy(text, { file: "policy.yaml" });
    const [, at = ""] = key.split(".");
    const line = text.split("\n").findIndex((each) => each.includes(at)) + 1;
    const step = judgeQuestion(policy, question, await policyContext(policy, {} as never)).steps.at(-1);
    expect(step?.decision).toMatchObject({ allowed: false, rule: { text: expect.stringContaining(key), line } });
    const audit = new MemoryAudit();
    const peer = await connectInMemory(new SecureServer({ policy, audit, version: "1" }).server, {
      revision: STATEFUL,
    });
    await peer.request("tools/call", { ...question }).catch(() => undefined);
    await peer.close();
    const denied = audit.records().find(({ kind }) => kind === "denied") ?? {};
    expect(ruleOf(denied as never)).toMatchObject({ rule: expect.stringContaining(key), line });
  });

  it("is what a running server does with it", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        policies,
        fc.shuffledSubarray([...QUESTIONS], { minLength: 18, maxLength: 18 }),
        async (text, asked) => {
          const [does, says] = [await served(text, asked), await explained(text, asked)];
          const pairs = (verdicts: readonly string[]): string[] =>
            verdicts.flatMap((verdict, index) =>
              says[index] === does[index] ? [] : [`${JSON.stringify(asked[index])}: ${verdict}`],
            );
          expect(pairs(says), text).toEqual(pairs(does));
        },
      ),
      { numRuns: 60, seed: 20_261_123 },
    );
  });
});
