// What a sandbox is refused is told of in a few words, however often it asks.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { createRun } from "../../src/capabilities/policy-run.js";
import { RefusalTally } from "../../src/capabilities/sandbox-reach.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { hasWall } from "./walls.js";

const ground = mkdtempSync(join(homedir(), ".test-refusals-"));
afterAll(() => rmSync(ground, { recursive: true, force: true }));
afterEach(() => vi.useRealTimers());

const TIMES = 300;

test.skipIf(!hasWall())("a command that is refused hundreds of times makes a line for each rule", async () => {
  const [folder, readable] = [join(ground, "written"), join(ground, "read")];
  for (const each of [folder, readable]) mkdirSync(each);
  writeFileSync(join(folder, ".env"), "secret");
  const policy = await parsePolicy(
    `version: "1.0"
filesystem: { allowed_paths: ["${folder}/**"], readable_paths: ["${readable}/**"] }
commands:
  allowed:
    - name: perl
      executable: /usr/bin/perl
      arguments: [{ fixed: "-e" }, { pattern: "(?s).*" }, { path: read }]
      working_directory: ${folder}
`,
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const told: (readonly [command: string, what: string, rule: string])[] = [];
  const run = createRun(
    () => policy,
    [],
    (...refusal) => told.push(refusal),
  );
  const script = `for (1 .. ${TIMES}) { open(F, ">", ".npmrc"); open(F, "<", ".env") }
    symlink("/tmp", ".config"); open(F, ">", "$ARGV[0]/new"); open(F, ">", "fine")`;
  const { exitCode } = await run("perl", ["-e", script, readable]);
  expect(exitCode).toBe(0);
  const lines = told.map(([command, what, rule]) => `${command}: ${what.replace(/ \(\d+ times\)$/, "")}: ${rule}`);
  // On a busy machine what was refused is told of in between as well.
  expect(told.length).toBeLessThan(20);
  expect([...new Set(lines)].sort()).toEqual([
    `perl: bring ${folder}/.config: built-in protection of where protected names begin`,
    expect.stringMatching(/^perl: read \S+\/\.env: built-in protection of \.env\*: /),
    `perl: write ${readable}/new: default deny`,
    expect.stringMatching(/^perl: write \S+\/\.npmrc: built-in protection of \.npmrc: /),
  ]);
  const times = told
    .filter(([, what]) => what.includes(".npmrc"))
    .map(([, what]) => Number(/\((\d+) times/.exec(what)?.[1] ?? 1));
  expect(times.reduce((sum, each) => sum + each)).toBe(TIMES);
});

test("what lives for long tells less and less often, of some paths and of most rules together", () => {
  vi.useFakeTimers();
  const told: string[] = [];
  const tally = new RefusalTally((what, rule) => told.push(`${rule}: ${what}`));
  const minutes = 24 * 60;
  for (let minute = 0; minute < minutes; minute += 1) {
    for (let each = 0; each < 100; each += 1) tally.add(`/p/${each}`, "read", "one");
    vi.advanceTimersByTime(60_000);
  }
  tally.close();
  // Once in ten minutes, and a few times at its beginning.
  expect(told.length).toBeLessThan(minutes / 10 + 10);
  expect(told[0]).toBe("one: read /p/0, read /p/1, read /p/2, read /p/3, read /p/4, … (100 times)");
  told.length = 0;
  for (let each = 0; each < 1_000; each += 1) tally.add("/p/x", "write", `rule ${each}`);
  tally.close();
  expect(told).toHaveLength(17);
  expect(told.at(-1)).toBe("further rules: write /p/x (984 times)");
});
