// Commands under a policy: what is run, with what, and what becomes of the rest.
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createRun, type RunResult } from "../../src/capabilities/policy-run.js";
import { commandUsages } from "../../src/capabilities/command-usage.js";
import { RunError } from "../../src/capabilities/refusals.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { runCommand } from "../../src/tools/run-command/run-command.js";
import { powers, wordsOf } from "../tools/powers.js";
import { hasWall } from "./walls.js";

const home = mkdtempSync(join(homedir(), ".run-test-"));
const data = join(home, "data");
mkdirSync(data);
writeFileSync(join(data, "notes.txt"), "line one\nline two\n");
writeFileSync(join(data, ".env"), "KEY=secret");
writeFileSync(join(home, "outside.txt"), "outside");
symlinkSync(join(home, "outside.txt"), join(data, "link.txt"));
const copy = join(home, "copied-cat");
copyFileSync("/bin/cat", copy);

const POLICY = `
version: "1.0"
filesystem: { allowed_paths: ["${data}/**"] }
commands:
  blocked: [rm]
  allowed:
    - name: cat
      executable: /bin/cat
      arguments: [{ path: read, repeat: 4, optional: true }]
    - name: sh
      executable: /bin/sh
      arguments: [{ fixed: "-c" }, { pattern: ".*" }]
      env: { GREETING: "hello there" }
      timeout: 1
    - name: slow
      executable: /bin/sh
      arguments: [{ fixed: "-c" }, { pattern: ".*" }]
    - name: work
      executable: /bin/sh
      arguments: [{ fixed: "-c" }, { pattern: ".*" }]
      working_directory: ${data}
    - name: tee
      executable: /usr/bin/tee
      arguments: [{ path: write }]
    - name: hashed
      executable: ${copy}
      sha256: ${createHash("sha256").update(readFileSync(copy)).digest("hex")}
      arguments: [{ path: read }]
    - name: gone
      executable: /usr/bin/no-such-program
    - name: rm
      executable: /bin/rm
      arguments: [{ path: write }]
`;

function policyOf(text: string): Promise<Policy> {
  return parsePolicy(text, { file: "policy.yaml", environment: {} });
}

const policy = await policyOf(POLICY);
const run = createRun(() => policy);

async function refusal(name: string, args: readonly string[]): Promise<RunError> {
  const error: unknown = await run(name, args).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunError);
  return error as RunError;
}

const clean: Partial<RunResult> = { exitCode: 0, timedOut: false, truncated: false, stderr: "" };

function commandOf(process: string): string {
  try {
    return /^\d+$/.test(process) ? readFileSync(`/proc/${process}/cmdline`, "latin1") : "";
  } catch {
    return "";
  }
}

afterAll(() => rmSync(home, { recursive: true }));

describe.skipIf(!hasWall())("a command", () => {
  test("sees the files its arguments name, and no others", async () => {
    expect(await run("cat", [join(data, "notes.txt")])).toMatchObject({ ...clean, stdout: "line one\nline two\n" });
    const listed = await run("slow", ["-c", `ls ${data} ${home} /root /home 2>&1 || true`]);
    expect(listed.stdout).not.toContain("notes.txt");
  });

  test.each([
    ["outside the allowed folders", () => ["/etc/passwd"]],
    ["protected by name", () => [join(data, ".env")]],
    ["where a link leads out", () => [join(data, "link.txt")]],
    ["by dots", () => [`${data}/../outside.txt`]],
  ])("reads nothing %s", async (_what, args) => {
    const error = await refusal("cat", args());
    expect(error.message).not.toContain("outside.txt is");
  });

  test("has its environment from the policy alone, and an empty folder of its own", async () => {
    const { stdout } = await run("sh", [
      "-c",
      'env | cut -d= -f1 | sort | tr "\\n" " "; ls -A | wc -l; pwd; echo $GREETING',
    ]);
    expect(stdout).toMatch(/^GREETING HOME LANG PATH PWD TMPDIR 0\n\/tmp\/work\nhello there\n$/);
  });

  test("works in the folder the policy gives it, where what is protected is covered", async () => {
    const script = "cat notes.txt .env; echo made > made.txt; ls -A | tr '\\n' ' '";
    const ended = await run("work", ["-c", script]);
    expect(ended.stdout).toContain("line one\nline two\n");
    expect(ended.stdout).not.toContain("secret");
    expect(readFileSync(join(data, "made.txt"), "utf8")).toBe("made\n");
  });

  test("may make the file it was allowed to write", async () => {
    expect(await run("tee", [join(data, "new.txt")])).toMatchObject(clean);
    expect(existsSync(join(data, "new.txt"))).toBe(true);
  });

  test("gives its exit code and both outputs back", async () => {
    const ended = await run("slow", ["-c", "echo out; echo err >&2; exit 3"]);
    expect(ended).toEqual({
      exitCode: 3,
      signal: undefined,
      timedOut: false,
      stdout: "out\n",
      stderr: "err\n",
      truncated: false,
    });
  });

  test("is ended with all it started when its time is up", async () => {
    const ended = await run("sh", ["-c", "trap '' TERM; (setsid sleep 100 &); echo begun; sleep 100"]);
    expect(ended).toMatchObject({ timedOut: true, exitCode: undefined, stdout: "begun\n" });
  });

  test("is ended with its call, long before its time is up", async () => {
    const call = new AbortController();
    const mark = `9${process.pid}.25`;
    const alive = (): boolean => readdirSync("/proc").some((name) => commandOf(name).includes(`sleep\0${mark}`));
    const running = run("slow", ["-c", `sleep ${mark}`], { signal: call.signal });
    await vi.waitFor(() => expect(alive()).toBe(true), { timeout: 20_000 });
    call.abort();
    const cancelled = expect(running).rejects.toMatchObject({ code: "cancelled" });
    await vi.waitFor(() => expect(alive()).toBe(false));
    await cancelled;
  });

  test("that writes without end is cut and ended", async () => {
    const ended = await run("slow", ["-c", "yes"]);
    expect(ended.truncated).toBe(true);
    expect(ended.stdout.length).toBe(256 * 1024);
    expect(ended.signal ?? ended.exitCode).not.toBe(0);
  });

  test("with a hash is run only as the very bytes that were hashed", async () => {
    expect(await run("hashed", [join(data, "notes.txt")])).toMatchObject({ ...clean, stdout: "line one\nline two\n" });
    const other = await policyOf(POLICY.replace(/sha256: \w+/, `sha256: ${"ab".repeat(32)}`));
    await expect(createRun(() => other)("hashed", [join(data, "notes.txt")])).rejects.toMatchObject({
      code: "executable",
    });
  });

  test("whose program was changed after a run is refused, and runs again once it is the same", async () => {
    const bytes = readFileSync(copy);
    writeFileSync(copy, Buffer.concat([bytes, Buffer.from("x")]));
    expect((await refusal("hashed", [join(data, "notes.txt")])).code).toBe("executable");
    writeFileSync(copy, bytes);
    for (let turn = 0; turn < 3; turn += 1)
      expect(await run("hashed", [join(data, "notes.txt")])).toMatchObject({ ...clean, exitCode: 0 });
  });

  test("that goes over a limit of its sandbox is told which", async () => {
    const small = await policyOf(`${POLICY}\nsandbox: { file_mb: 1, cpu_seconds: 1 }`);
    const long = await createRun(() => small)("slow", ["-c", "head -c 3000000 /dev/zero > /tmp/long"]);
    expect(long.limit).toContain("sandbox.file_mb");
    const tool = runCommand({ run: createRun(() => small), commands: commandUsages(small) });
    const busy = await tool.run({ command: "slow", arguments: ["-c", "exec perl -e '1 while 1'"] }, powers());
    expect(wordsOf(busy)).toContain("sandbox.cpu_seconds");
  });

  const WAITS = "touch begun; until [ -e go ]; do sleep 0.05; done; echo whole";

  /** Runs one that waits, puts another policy in force, and looks twice before the command may end by itself. */
  async function reloadedUnder(text: string): Promise<RunResult> {
    for (const name of ["begun", "go"]) rmSync(join(data, name), { force: true });
    const [before, after] = [await policyOf(POLICY), await policyOf(text)];
    let [inForce, looks] = [before, 0];
    const asked = (): Policy => {
      looks += inForce === after ? 1 : 0;
      return inForce;
    };
    // As every call has one; it is not given up.
    const { signal } = new AbortController();
    const running = createRun(asked)("work", ["-c", WAITS], { signal });
    void running
      .catch(() => undefined)
      .then(() => {
        looks += 10;
      });
    await vi.waitFor(() => expect(existsSync(join(data, "begun"))).toBe(true), { timeout: 10_000 });
    inForce = after;
    await vi.waitFor(() => expect(looks).toBeGreaterThan(4), { timeout: 10_000 });
    writeFileSync(join(data, "go"), "");
    return running;
  }

  test.each([
    ["a file is denied", POLICY.replace(`["${data}/**"]`, `["${data}/**"], denied_paths: ["${data}/notes.txt"]`)],
    ["nothing may be written", POLICY.replace(`["${data}/**"]`, `["${data}/**"], read_only: true`)],
    ["its folder is taken away", POLICY.replace(`"${data}/**"`, `"${data}/other/**"`)],
    ["all is offline", `${POLICY}\nnetwork: { offline: true }`],
    ["the sandbox is smaller", `${POLICY}\nsandbox: { file_mb: 1 }`],
    ["it is blocked", POLICY.replace("blocked: [rm]", "blocked: [rm, work]")],
    ["it has another name", POLICY.replace("name: work", "name: working")],
    [
      "it is another program",
      POLICY.replace("name: work\n      executable: /bin/sh", "name: work\n      executable: /bin/dash"),
    ],
  ])("ends when a reload takes back what it has: %s", async (_what, text) => {
    expect(text).not.toBe(POLICY);
    const error: unknown = await reloadedUnder(text).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "denied", message: expect.stringContaining("policy was changed") });
    expect(existsSync(join(data, "go"))).toBe(true);
  });

  test.each([
    ["a tool is allowed", `${POLICY}\ntools: { allowed: [run_command] }`],
    ["lines were moved", `# ${"\n#".repeat(9)}${POLICY}`],
    ["another command is there", `${POLICY}    - { name: other, executable: /bin/true }\n`],
  ])("goes on when a reload takes nothing from it: %s", async (_what, text) => {
    expect((await reloadedUnder(text)).stdout).toBe("whole\n");
  });

  test("whose program is missing says so", async () => {
    expect(await run("gone", [])).toMatchObject({ exitCode: 127 });
  });

  test("gets arguments as they are: no shell reads them", async () => {
    const hostile = ["$(touch /tmp/x)", "`id`", "; id", "| id", "&& id", "\n id", "${IFS}id", "'\"", "*", "~"];
    for (const text of hostile) expect((await refusal("cat", [text])).code).toBe("denied");
  });

  test("is described with its flags behind the words that never change, and before everything else", async () => {
    const described = await policyOf(`version: "1.0"
commands:
  allowed:
    - { name: log, executable: /bin/log, arguments: [{ fixed: show }, { integer: [1, 5] }], flags: [-v] }
    - { name: any, executable: /bin/any, arguments: [{ enum: [a, b] }], flags: [{ flag: --n, pattern: "[0-9]" }] }
    - { name: bare, executable: /bin/bare, arguments: [{ fixed: all }], flags: [-q] }
`);
    expect(commandUsages(described).map(({ usage }) => usage)).toEqual([
      "show [-v] 1..5",
      "[--n /[0-9]/] a|b",
      "all [-q]",
    ]);
  });

  test("as a tool answers with data, and names the rule of a refusal", async () => {
    const tool = runCommand({ run, commands: commandUsages(policy) });
    expect(tool.description).toContain("cat [PATH…]");
    const good = await tool.run({ command: "slow", arguments: ["-c", "echo out; exit 2"] }, powers());
    expect(good).toMatchObject({ structured: { exitCode: 2, stdout: "out\n" }, text: "out\n\n[exit code 2]" });
    const bad = await tool.run({ command: "rm", arguments: [join(data, "notes.txt")] }, powers());
    expect(bad).toMatchObject({ rule: expect.stringContaining("commands.blocked: rm") });
    expect(wordsOf(bad)).toContain("blocks");
  });
});

describe("what is refused before anything starts", () => {
  test.each([
    ["a command nobody named", "curl", []],
    ["a flag", "cat", ["--help"]],
    ["a dash", "cat", ["-"]],
    ["an operand that looks like a flag", "cat", ["-n", "x"]],
    ["a blocked command", "rm", ["/tmp/x"]],
    ["too many arguments", "gone", ["x"]],
    ["NUL", "slow", ["-c", "a\0b"]],
  ])("%s", async (_what, name, args) => {
    const error = await refusal(name, args);
    expect(error.code).toBe("denied");
    expect(error.rule).toBeDefined();
  });

  test("more commands at a time than the machine should bear", async () => {
    const many = Array.from({ length: 20 }, () => run("cat", ["--no"]).catch((error: RunError) => error.code));
    expect(await Promise.all(many)).toContain("busy");
  });
});
