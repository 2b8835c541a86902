// Limits of a sandbox as a whole, where the kernel lets this user make a control group; elsewhere none is made.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
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
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).filter((name) => name.startsWith(`mcp-secure-local-${process.pid}-`)));
}

test("is there for all sandboxes or for none", () => {
  const group = controlGroup(LIMITS);
  expect(group !== undefined).toBe(hasControlGroups());
  group?.remove();
});

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
