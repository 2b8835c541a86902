// What a wall lets in and out, how it ends, and what it says where there is none.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findWall, noWall } from "../../src/sandbox/find-wall.js";
import { seccompFilter } from "../../src/sandbox/seccomp-filter.js";
import { endWalled, startWalled } from "../../src/sandbox/start-walled.js";
import { hasWall, LIMITS, runWalled } from "./walls.js";

const SHELL = "/bin/sh";

describe.skipIf(!hasWall())("bubblewrap", () => {
  const folder = mkdtempSync(join(homedir(), ".wall-test-"));
  const file = join(folder, "file.txt");

  beforeAll(() => writeFileSync(file, "granted"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("lets a granted folder be read, and written only where that is granted", async () => {
    const script = `cat ${file}; echo changed > ${file} || echo refused`;
    const read = await runWalled({
      executable: SHELL,
      args: ["-c", script],
      reach: [{ path: folder, access: "read" }],
    });
    expect(read.stdout).toBe("grantedrefused\n");
    const write = await runWalled({
      executable: SHELL,
      args: ["-c", script],
      reach: [{ path: folder, access: "write" }],
    });
    expect(write).toMatchObject({ code: 0, stdout: "granted" });
    expect(readFileSync(file, "utf8")).toBe("changed\n");
  });

  test("starts nothing where what is seen inside is not what was judged", async () => {
    const { dev, ino } = statSync(file, { bigint: true });
    const close = (): void => undefined;
    const reach = (number: bigint) => [{ path: folder, access: "read", held: { dev, ino: number, close } }] as const;
    const at = statSync(folder, { bigint: true }).ino;
    const run = (number: bigint) =>
      runWalled({ executable: SHELL, args: ["-c", `echo ran; touch ${folder}/made`], reach: reach(number) });
    await expect(run(ino)).rejects.toThrow(`"${folder}" was exchanged while its sandbox was built`);
    expect(await run(at)).toMatchObject({ stdout: "ran\n" });
  });

  test("covers what is hidden in a granted folder", async () => {
    const reach = [
      { path: folder, access: "write" },
      { path: file, access: "hidden" },
    ] as const;
    const { stdout } = await runWalled({
      executable: SHELL,
      args: ["-c", `cat ${file}; echo x > ${file} || echo refused; rm -f ${file} || echo kept`],
      reach,
    });
    expect(stdout).toBe("refused\nkept\n");
  });

  test("hands over arguments, environment and files as they are, and the exit code back", async () => {
    const ended = await runWalled({
      executable: SHELL,
      args: [
        "-c",
        'printf "%s|" "$@"; printf %s "$VALUE"; cat /run/mcp-secure-local/note; exit 7',
        "sh",
        "$(id)",
        "a b",
      ],
      env: { VALUE: "--bind / /" },
      handed: [{ path: "/run/mcp-secure-local/note", bytes: Buffer.from("read me") }],
    });
    expect(ended).toEqual({ code: 7, stdout: "$(id)|a b|--bind / /read me", stderr: "" });
  });

  test("ends with everything in it, sessions of their own included", async () => {
    const wall = await findWall({ mode: "required" });
    const args = ["-c", "setsid sh -c 'trap \"\" TERM; echo here; sleep 1000' & wait"];
    const child = startWalled(wall, { executable: SHELL, args, limits: LIMITS }, ["ignore", "pipe", "inherit"]);
    await once(child.stdout!, "data");
    endWalled(wall, child);
    // Every process inside holds the pipe, so its end shows that the last of them is gone.
    await once(child, "close");
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("leaves nothing of its settings in the list of processes", async () => {
    const wall = await findWall({ mode: "required" });
    const { args, env } = wall.launch({ executable: SHELL, args: [], env: { KEY: "hidden-value" }, limits: LIMITS });
    expect(JSON.stringify([args, env])).not.toContain("hidden-value");
  });
});

describe("the system call filter", () => {
  test.each(["x64", "arm64"] as const)("is well formed on %s", (processor) => {
    const bytes = seccompFilter(processor, { unixSockets: false, keeper: false });
    const size = bytes.length / 8;
    for (let index = 0; index < size; index += 1) {
      const [code, yes, no] = [bytes.readUInt16LE(index * 8), bytes[index * 8 + 2]!, bytes[index * 8 + 3]!];
      if ((code & 0x07) === 0x05) expect(index + 1 + Math.max(yes, no)).toBeLessThan(size);
      else expect([yes, no]).toEqual([0, 0]);
    }
    expect(bytes.readUInt16LE((size - 1) * 8)).toBe(0x06);
  });

  test("lets Unix sockets through only for a proxy", () => {
    const without = seccompFilter("x64", { unixSockets: false, keeper: false });
    expect(seccompFilter("x64", { unixSockets: true, keeper: false }).length).toBe(without.length + 8);
  });
});

describe("no wall", () => {
  test("is had only where the policy says so, and passes on no environment", async () => {
    expect(await findWall({ mode: "none" })).toBe(noWall);
    const { env } = noWall.launch({ executable: SHELL, args: [], limits: LIMITS });
    expect(Object.keys(env).sort()).toEqual(["HOME", "LANG", "PATH", "TMPDIR"]);
  });

  test("has no network of its own to offer", () => {
    expect(() => noWall.launch({ executable: SHELL, args: [], egress: "/x", limits: LIMITS })).toThrow(/network/);
  });
});
