// What the page Policy says of the lines of a file: which calls each decided, where a rule stands now, what all of it reaches.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { PolicyState, Trial } from "@secure-local/console/api";
import type { LogRecord } from "../../src/audit/call-records.js";
import { readCommandLine } from "../../src/cli/command-line.js";
import { judgeQuestion, readQuestionText } from "../../src/cli/policy-explain.js";
import { reachOf } from "../../src/cli/policy-map.js";
import { policyContext } from "../../src/cli/settings.js";
import type { LineOf } from "../../src/console/call-filter.js";
import { CallIndex } from "../../src/console/call-index.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { profiledPolicy } from "../../src/policy/read-names.js";
import { ruleLines } from "../../src/policy/describe-policy.js";
import { Watched } from "./running.js";

const parsed = (text: string): ReturnType<typeof parsePolicy> => parsePolicy(text, { file: "/home/p/policy.yaml" });

const POLICY = `version: "1.0"
filesystem:
  allowed_paths: ["/notes/**"]
  denied_paths: ["**/salary*"]
tools:
  allowed: [read_file, "board__list_cards"]
  rate_limits:
    default: 60
    read_file: 8
servers:
  board:
    command: [/usr/bin/node, /srv/board.mjs]
    tools: { denied: [delete_card] }
`;

it("finds the line of every rule that a record names, however the file was moved, and of a rate limit", async () => {
  const call = { method: "tools/call", name: "read_file" };
  const lines = [
    ["filesystem.denied_paths: **/salary*", 4],
    ["filesystem.denied_paths: **/budget*", undefined],
    ["tools.allowed: read_file", 6],
    ["servers.board.tools.denied: delete_card", 13],
    ["rate limit: 8 a minute", 9],
    ["rate limit: 60 a minute", undefined],
    ["default deny", undefined],
  ] as const;
  const lineOf = ruleLines(await parsed(POLICY));
  for (const [rule, line] of lines) expect([rule, lineOf({ ...call, rule })]).toEqual([rule, line]);
  expect(lineOf({ ...call, name: "other", rule: "rate limit: 60 a minute" })).toBe(8);
  expect(lineOf({ ...call, method: "resources/read", rule: "rate limit: 8 a minute" })).toBeUndefined();
  const moved = ruleLines(await parsed(`# mine\n# own\n${POLICY}`));
  for (const [rule, line] of lines)
    expect([rule, moved({ ...call, rule })]).toEqual([rule, line === undefined ? undefined : line + 2]);
});

it("keeps rules for one tool apart, by their conditions, when a line between them goes", async () => {
  const rules = ["/notes/a/**", "/notes/b/**", "/notes/c/**"].map(
    (path) => `  - { approve: [write_file], when: { path: "${path}" } }\n`,
  );
  const written = (left: readonly string[]): string => `${POLICY}approvals:\n${left.join("")}`;
  const of = (path: string) => ({
    method: "tools/call",
    name: "write_file",
    rule: `approvals: write_file when path: ${path}`,
  });
  const before = ruleLines(await parsed(written(rules)));
  expect(["/notes/a/**", "/notes/b/**", "/notes/c/**"].map((path) => before(of(path)))).toEqual([15, 16, 17]);
  const after = ruleLines(await parsed(written([...rules.slice(0, 1), ...rules.slice(2)])));
  expect(["/notes/a/**", "/notes/b/**", "/notes/c/**"].map((path) => after(of(path)))).toEqual([15, undefined, 16]);
});

it("counts for a line the calls that it decided under any policy with that rule, and lists the same ones", () => {
  const index = new CallIndex();
  const denied = (id: number, policy: string, rule: string): LogRecord => ({
    ...{
      kind: "denied",
      time: "2026-11-27T01:00:00.000Z",
      id,
      method: "tools/call",
      tool: "read_file",
      outcome: "denied",
    },
    ...{ policy, decision: { allowed: false, rule, line: 4 } },
  });
  const place = { log: 0, ino: 1, offset: 0, length: 10 };
  index.add({ kind: "start", detail: { policy: { file: "/other.yaml", hash: "cccccccccccc0" } } }, place);
  index.add(denied(1, "aaaaaaaaaaaa", "filesystem.denied_paths: **/salary*"), place);
  index.add(denied(2, "bbbbbbbbbbbb", "filesystem.denied_paths: **/budget*"), place);
  index.add(denied(3, "cccccccccccc", "filesystem.denied_paths: **/salary*"), place);
  expect(index.isOfAnotherFile("cccccccccccc", "/home/p/policy.yaml")).toBe(true);
  expect(index.isOfAnotherFile("aaaaaaaaaaaa", "/home/p/policy.yaml")).toBe(false);
  const lineOf: LineOf = ({ rule }, policy) =>
    !index.isOfAnotherFile(policy, "/home/p/policy.yaml") && rule.endsWith("salary*") ? 5 : undefined;
  expect(index.decidedBy(lineOf)).toEqual({ 5: { allowed: 0, denied: 1 } });
  expect(index.list({ line: { number: 5, lineOf } }, { limit: 9 }).map(({ n }) => n)).toEqual([1]);
  expect(index.list({ line: { number: 4, lineOf } }, { limit: 9 })).toEqual([]);
});

it.each([
  ['"board__list_cards"', ["Tools: board__list_cards"], ["Tools: board__delete_card"]],
  ['"board__*"', ["Tools: board__*"], ["Tools: board__delete_card"]],
  ['"*"', ["Tools: board__*"], ["Tools: board__delete_card"]],
  ['"board__delete_card"', ["No tools: the policy allows none of board__*"], ["Tools: board__delete_card"]],
  ['"board2__list"', ["No tools: the policy allows none of board__*"], ["Tools: board__delete_card"]],
  [
    '"board__get_*", "board__list_cards"',
    ["Tools: board__get_*", "Tools: board__list_cards"],
    ["Tools: board__delete_card"],
  ],
])(
  "shows of a server with %s the tools that may be called, and apart what is denied",
  async (allowed, tools, denied) => {
    const groups = reachOf(await parsed(POLICY.replace('"board__list_cards"', allowed)));
    const board = groups.find(({ title }) => title === "Server board");
    expect(board?.entries.filter((entry) => /tools:/i.test(entry))).toEqual(tools);
    expect(board?.denied).toEqual(denied);
    expect(groups.find(({ title }) => title === "Files to read and change")).toMatchObject({
      entries: ["/notes/**"],
      denied: ["**/salary*"],
    });
  },
);

const PROFILED = `version: "1.0"
filesystem: { allowed_paths: ["/notes/**"] }
commands: { allowed: [{ name: git, executable: /usr/bin/git, arguments: [{ fixed: log }] }] }
tools: { allowed: [read_file, write_file, run_command, "board__*", "mail__*"] }
prompts: { allowed: ["*"] }
servers:
  board: { command: [/usr/bin/node, /srv/board.mjs] }
  mail: { command: [/usr/bin/node, /srv/mail.mjs] }
profiles:
  review:
    servers: [board]
    tools: { allowed: [read_file, "board__list*"] }
  open: { tools: { denied: [run_command] } }
`;

it("reaches by a profile what that leaves: no program, no change of a file, no server whose tools it does not name", async () => {
  const policy = await parsed(PROFILED);
  const of = (profile: string): Record<string, { entries: readonly string[]; denied: readonly string[] }> =>
    Object.fromEntries(
      reachOf(profiledPolicy(policy, profile)).map(({ title, entries, denied }) => [title, { entries, denied }]),
    );
  const review = of("review");
  expect(review["Tools"]).toEqual({ entries: ["read_file"], denied: ["write_file", "run_command"] });
  expect(review["Files to read"]).toEqual({ entries: ["/notes/**"], denied: [] });
  expect(review["Files to read and change"]).toBeUndefined();
  expect(review["Files to change"]).toEqual({ entries: [], denied: ["/notes/**"] });
  expect(review["Commands"]?.entries).toEqual([]);
  expect(review["Commands"]?.denied).toEqual([expect.stringMatching(/^git/)]);
  expect(review["Server board"]?.entries).toContain("Tools: board__list*");
  expect(review["Server board"]?.entries).not.toContain("Tools: board__*");
  expect(review["Server mail"]).toEqual({ entries: [], denied: ["all of it: the profile leaves it out"] });
  const open = of("open");
  expect(open["Tools"]).toEqual({ entries: ["read_file", "write_file"], denied: ["run_command"] });
  expect(open["Files to read and change"]?.entries).toEqual(["/notes/**"]);
  expect(open["Commands"]?.entries).toEqual([]);
  expect(open["Server mail"]?.entries).toContain("Tools: mail__*");
});

it("asks about a profile whether it leaves a tool for what is asked, too", async () => {
  const policy = await parsed(PROFILED);
  const verdict = async (question: string, profile?: string): Promise<string[]> => {
    const asked = profile === undefined ? policy : profiledPolicy(policy, profile);
    const line = readCommandLine(["policy", "explain"]);
    const { verdict: is, steps } = judgeQuestion(asked, readQuestionText(question), await policyContext(asked, line));
    return [is, steps.at(-1)?.decision.rule.text ?? ""];
  };
  expect((await verdict("write /notes/a.md"))[0]).toBe("allowed");
  expect(await verdict("write /notes/a.md", "review")).toEqual(["denied", "profiles: review"]);
  expect((await verdict("read /notes/a.md", "review"))[0]).toBe("allowed");
  expect((await verdict("write /notes/a.md", "open"))[0]).toBe("allowed");
  // A server that the profile leaves out has no prompts in it.
  expect((await verdict("prompt board__ask", "review"))[0]).toBe("allowed");
  expect((await verdict("prompt mail__ask", "review"))[0]).toBe("denied");
  expect((await verdict("prompt mail__ask", "open"))[0]).toBe("allowed");
  expect(await verdict("run git log", "open")).toEqual(["denied", "profiles.open.tools.denied: run_command"]);
});

it("says of a trial how far back it reaches, and how many older calls it leaves out", async () => {
  const watched = await Watched.start({ records: 2_400 });
  onTestFinished(() => watched.end());
  const { text } = JSON.parse((await watched.get("/api/policy")).text) as PolicyState;
  const trial = async (): Promise<Trial> => JSON.parse((await watched.post("/api/trial", { text })).text) as Trial;
  await expect.poll(async () => (await trial()).older, { timeout: 20_000 }).toBe(200);
  expect(await trial()).toMatchObject({ calls: 1_000, untried: 0, since: expect.any(Number) as number });
});

it("tries a change on the calls of its own policy, and on none that another file decided", async () => {
  const watched = await Watched.start({
    records: 40,
    prepare: (home) => {
      const folder = join(home, "state/mcp-secure-local");
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const of = { time: new Date().toISOString(), connection: 1, policy: "cccccccccccc" };
      const call = { ...of, method: "tools/call", tool: "read_file" };
      const lines = [
        { kind: "start", time: of.time, detail: { policy: { file: "/other.yaml", hash: "cccccccccccc0000" } } },
        ...Array.from({ length: 9 }, (_, id) => ({ ...call, id, kind: "call.intent", arguments: { path: "/x" } })),
      ];
      writeFileSync(join(folder, "audit.2.log"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""), {
        mode: 0o600,
      });
      return {};
    },
  });
  onTestFinished(() => watched.end());
  const shown = async (): Promise<number> =>
    (JSON.parse((await watched.get("/api/calls")).text) as readonly unknown[]).length;
  await expect.poll(shown, { timeout: 20_000 }).toBe(29);
  const { text } = JSON.parse((await watched.get("/api/policy")).text) as PolicyState;
  const trial = JSON.parse((await watched.post("/api/trial", { text: `${text}# more\n` })).text) as Trial;
  expect(trial).toMatchObject({ calls: 20, untried: 0, older: 0 });
});
