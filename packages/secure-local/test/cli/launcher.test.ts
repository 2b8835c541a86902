// The launcher keeps V8's code for the next start, and uses it only when nobody else can have changed it.
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ran, run, start } from "./command.js";

const home = mkdtempSync(join(tmpdir(), "launcher-"));
const env = { XDG_CACHE_HOME: join(home, "cache") };
const folder = join(env.XDG_CACHE_HOME, "mcp-secure-local");
const RIGHT = { code: 0, stdout: "42\n" };

const kept = (): string[] =>
  (existsSync(folder) ? readdirSync(folder) : []).filter((name) => /^code-.*-main\.cjs\.bin$/.test(name));
const file = (): string => join(folder, kept()[0]!);
const calculate = (): Promise<Ran> => run(["call", "calculate", "expression=6*7"], { home, env });
/** The same code is loaded, and less of it run. */
const sayVersion = (): Promise<Ran> => run(["--version"], { home, env });

/** Serves until the code is there: it appears whole, by a rename. */
async function serveUntilKept(): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const changes = watch(folder);
  const child = start([], { home, env });
  for await (const _change of changes) if (kept().length > 0) break;
  child.stdin.end();
  await once(child, "close");
}

describe("the launcher", () => {
  beforeAll(serveUntilKept);
  afterAll(() => rmSync(home, { recursive: true }));

  it("keeps the code of a program that goes on, for its owner only", () => {
    expect(kept()).toHaveLength(1);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it("starts with it", async () => {
    expect(await calculate()).toMatchObject(RIGHT);
  });

  it("starts without it when a single bit was changed, or the end is missing", async () => {
    const sound = readFileSync(file());
    const changed = Buffer.from(sound);
    changed[changed.length >> 1]! ^= 1;
    writeFileSync(file(), changed);
    expect(await calculate()).toMatchObject(RIGHT);
    for (const bytes of [sound.subarray(0, sound.length >> 1), Buffer.alloc(0)]) {
      writeFileSync(file(), bytes);
      expect(await sayVersion()).toMatchObject({ code: 0, stderr: "" });
    }
    writeFileSync(file(), sound);
  });

  it("keeps no more than the code of four builds", async () => {
    const now = Date.now() / 1_000;
    for (const [age, build] of ["a", "b", "c", "d"].entries()) {
      for (const name of ["one", "two"]) {
        const old = join(folder, `code-${build}-v1.0.0-x64-${name}.cjs.bin`);
        writeFileSync(old, "");
        utimesSync(old, now - 60 - age, now - 60 - age);
      }
    }
    rmSync(file());
    await serveUntilKept();
    const builds = readdirSync(folder).map((name) => name.split("-")[1]);
    expect(builds.filter((name) => name === "d")).toHaveLength(0);
    expect(builds.filter((name) => name === "c")).toHaveLength(2);
  });

  it("starts without it when others could have written it", async () => {
    chmodSync(folder, 0o777);
    expect(await calculate()).toMatchObject(RIGHT);
    chmodSync(folder, 0o700);
  });

  it("starts where there is no place to keep it", async () => {
    const outcome = await run(["--version"], { home, env: { XDG_CACHE_HOME: "/dev/null/nowhere" } });
    expect(outcome).toMatchObject({ code: 0 });
  });
});
