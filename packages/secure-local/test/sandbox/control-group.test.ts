// Limits of a sandbox as a whole, where the kernel lets this user make a control group; elsewhere none is made.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createRun, type RunResult } from "../../src/capabilities/policy-run.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { controlGroup, hasControlGroups, SHARED_SHARE } from "../../src/sandbox/control-group.js";
import { hasWall, LIMITS } from "./walls.js";

const MEMORY_MB = 32;

async function run(script: string): Promise<RunResult> {
  const policy = await parsePolicy(
    `version: "1.0"
sandbox: { processes: 20, memory_mb: ${MEMORY_MB}, file_mb: 512 }
commands: { allowed: [{ name: sh, executable: /bin/sh, arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }] }] }`,
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  return await createRun(() => policy)("sh", ["-c", script]);
}

function groupsLeft(): string[] {
  const folders = readFileSync("/proc/self/cgroup", "utf8").trim().split("\n");
  return folders
    .map((line) => line.split(":"))
    .flatMap(([, name = "", path = "/"]) => [`/sys/fs/cgroup/${name}${path}`, `/sys/fs/cgroup${dirname(path)}`])
    .filter((folder, at, all) => existsSync(folder) && all.indexOf(folder) === at)
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => path.includes(`mcp-secure-local-${process.pid}-`));
}

/** Whether a group that has this file may be made in the folder, and a process of ours put into it. */
function mayLimit(folder: string, file: string): boolean {
  const group = join(folder, `test-${process.pid}`);
  try {
    mkdirSync(group);
    if (!existsSync(join(group, file))) return false;
    execFileSync("/bin/sh", ["-c", 'echo $$ > "$1/cgroup.procs"', "sh", group], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    if (existsSync(group)) rmdirSync(group);
  }
}

test("is there for all sandboxes or for none", () => {
  const group = controlGroup(LIMITS);
  expect(group !== undefined).toBe(hasControlGroups());
  group?.remove();
});

test.skipIf(process.platform !== "linux")(
  "is there wherever the kernel lets this user make one, of either kind",
  () => {
    const own = readFileSync("/proc/self/cgroup", "utf8").trim().split("\n");
    const paths = new Map(own.map((line) => line.split(":")).map(([, name = "", path = "/"]) => [name, path]));
    const first = (name: string): string => `/sys/fs/cgroup/${name}${paths.get(name) ?? "/"}`;
    const second = join("/sys/fs/cgroup", dirname(paths.get("") ?? "/"));
    const ofFirst = mayLimit(first("memory"), "memory.limit_in_bytes") && mayLimit(first("pids"), "pids.max");
    const ofSecond = mayLimit(second, "memory.max") && mayLimit(second, "pids.max");
    expect(hasControlGroups()).toBe(ofFirst || ofSecond);
  },
);

test.skipIf(!hasControlGroups())("is made anew where one that was kept for who comes next has been removed", () => {
  const limits = { ...LIMITS, processes: LIMITS.processes + 1 };
  const before = new Set(groupsLeft());
  controlGroup(limits)?.remove();
  const kept = groupsLeft().filter((folder) => !before.has(folder));
  expect(kept).not.toEqual([]);
  // As a process does that takes the one that made it for gone: it sees other processes than we do.
  for (const folder of kept) rmdirSync(folder);
  const group = controlGroup(limits);
  const child = spawn("sleep", ["60"]);
  try {
    group?.hold(child.pid ?? 0);
    expect(readFileSync(`/proc/${child.pid}/cgroup`, "utf8")).toContain(`mcp-secure-local-${process.pid}-`);
  } finally {
    child.kill("SIGKILL");
  }
});

test.skipIf(!hasControlGroups())("takes none that another has made under a name that it could have given", () => {
  const limits = { ...LIMITS, processes: LIMITS.processes + 2 };
  const before = new Set(groupsLeft());
  const first = controlGroup(limits);
  const places = new Set(groupsLeft().flatMap((folder) => (before.has(folder) ? [] : [dirname(folder)])));
  // As a process of the same number does in another container, or a second copy of the program in this one.
  const names = Array.from({ length: 64 }, (_, number) => `mcp-secure-local-${process.pid}-${number + 1}`);
  const foreign = [...places]
    .flatMap((place) => names.map((name) => join(place, name)))
    .filter((folder) => !existsSync(folder));
  for (const folder of foreign) mkdirSync(folder);
  try {
    const second = controlGroup(limits);
    expect(second).toBeDefined();
    expect(foreign.filter((folder) => !existsSync(folder))).toEqual([]);
    second?.remove();
    first?.remove();
  } finally {
    for (const folder of foreign) if (existsSync(folder)) rmdirSync(folder);
  }
});

test.skipIf(!hasControlGroups())(
  "has the limits of the policy, with room for the two processes of the wall itself",
  () => {
    const before = groupsLeft();
    const group = controlGroup({ ...LIMITS, processes: 71, memoryMb: 47 });
    const made = groupsLeft().filter((path) => !before.includes(path));
    const limits = (file: string): string[] =>
      made
        .map((path) => join(path, file))
        .flatMap((path) => (existsSync(path) ? [readFileSync(path, "utf8").trim()] : []));
    expect(limits("pids.max")).toContain("73");
    expect([...limits("memory.max"), ...limits("memory.limit_in_bytes")]).toContain(
      `${47 * SHARED_SHARE * 1024 * 1024}`,
    );
    group?.remove();
  },
);

describe.skipIf(!hasWall() || !hasControlGroups())("in a control group", () => {
  test("memory that processes share counts", async () => {
    const fill = (megabytes: number): string => `head -c ${megabytes}m /dev/zero > /tmp/held && echo held`;
    expect((await run(fill(MEMORY_MB))).stdout).toBe("held\n");
    expect((await run(fill(MEMORY_MB * SHARED_SHARE * 2))).stdout).toBe("");
  });

  test("processes are limited, for root as well", async () => {
    const script = (count: number): string =>
      `for i in $(seq ${count}); do sleep 60 & done 2> /dev/null; echo $(ls -d /proc/[0-9]* | wc -l)`;
    expect(Number((await run(script(5))).stdout)).toBeGreaterThan(5);
    // A shell that can start nothing more ends, with or without a word.
    expect(Number((await run(script(60))).stdout)).toBeLessThan(25);
  });

  test("the next sandbox gets the one that is over, whatever limits others had", () => {
    const limits = { ...LIMITS, processes: 63 };
    // More than are kept.
    for (let processes = 100; processes < 110; processes += 1) controlGroup({ ...LIMITS, processes })?.remove();
    controlGroup(limits)?.remove();
    const before = groupsLeft();
    const next = controlGroup(limits);
    expect(groupsLeft().filter((name) => !before.includes(name))).toEqual([]);
    next?.remove();
    expect(before.length).toBeGreaterThan(0);
  });
});
