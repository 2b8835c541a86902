// Plants faults in made-up sources: each number turns on its own fault and no other, whatever stands within what.
import { ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { expect, it, onTestFinished } from "vitest";
import { mutantsOf } from "../mutants/make-mutants.mjs";
import { HITS, ON, switched, turnOn } from "../mutants/switch-mutants.mjs";
import { watchPrograms } from "../mutants/watch-programs.mjs";

const SOURCE = `const PLACES = ["/proc", "/sys"];
const log = [];
function judge(path, deep = 2) {
  if (path === "/" || (deep > 1 && PLACES.includes(path))) return "denied";
  log.push(path);
  records.record(path);
  return deep < 3 ? "shallow" : "deep";
}
const records = { record: () => log.push("recorded") };
process.stdout.write(JSON.stringify([judge("/"), judge("/proc"), judge("/sys", 1), judge("/x", 3), log]));
`;

const mutants = mutantsOf("judge.ts", SOURCE);

/** What the program says with these variables: with all mutants in it, or as it is with one of them written in. */
function said(text: string, env: Record<string, string> = {}): string {
  let output = "";
  const { getBuiltinModule } = process;
  const own = { env, getBuiltinModule, stdout: { write: (part: string) => (output += part) } };
  runInNewContext(text, { process: own });
  return output;
}

it("finds each decision, guard, limit and effect", () => {
  const kinds = new Set(mutants.map(({ what }) => what));
  for (const kind of ["a guard taken out", "a condition negated", "=== as !==", "|| as &&", "a call left out"])
    expect(kinds).toContain(kind);
  expect(mutants.find(({ after }) => after === 'const PLACES = ["/proc", "\\u0000none"];')).toMatchObject({
    once: true,
  });
  expect(new Set(mutants.map(({ number }) => number)).size).toBe(mutants.length);
});

it("turns on the one whose number is given, and none without", () => {
  const whole = switched(SOURCE, mutants);
  expect(said(whole)).toBe(said(SOURCE));
  for (const { number, start, end, replace, after } of mutants) {
    const alone = SOURCE.slice(0, start) + replace + SOURCE.slice(end);
    expect(said(whole, { [ON]: String(number) }), after).toBe(said(alone));
  }
});

it("writes down whose places a program comes by", () => {
  const folder = mkdtempSync(join(tmpdir(), "mutants-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "hits");
  expect(said(switched(SOURCE, mutants), { [HITS]: path })).toBe(said(SOURCE));
  const hits = readFileSync(path, "utf8").trim().split("\n").map(Number);
  expect(new Set(hits)).toEqual(new Set(mutants.map(({ number }) => number)));
});

it("turns one on in a built program too, whatever environment a test gives it, and in no other", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mutants-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "dist"));
  for (const name of ["dist/built.mjs", "other.mjs"])
    writeFileSync(join(folder, name), `console.log(process.env.${ON} ?? "none");`);
  const told = async (name: string, env: Record<string, string>): Promise<string> =>
    (await promisify(execFile)(process.execPath, [join(folder, name)], { env })).stdout.trim();
  const { prototype } = ChildProcess as unknown as { prototype: { spawn: unknown } };
  const { spawn } = prototype;
  onTestFinished(() => {
    turnOn(0);
    delete process.env[ON];
    prototype.spawn = spawn;
  });
  for (const number of [7, 8]) {
    turnOn(number);
    expect(await told("dist/built.mjs", { A: "1" })).toBe(String(number));
    expect(await told("other.mjs", { A: "1" })).toBe("none");
  }
});

it.runIf(process.platform === "linux").each([
  ["waits", "process.stdin.resume()", 1_000],
  ["spins", "for (;;);", 0.3],
])("tells of programs of which one %s, and that by no clock of the machine's", async (verdict, program, most) => {
  const child = execFile(process.execPath, ["-e", program]);
  const told = new Promise((resolve) => void watchPrograms(child.pid, most, resolve, 50));
  expect(await told).toBe(verdict);
  child.kill("SIGKILL");
  await once(child, "close");
});
