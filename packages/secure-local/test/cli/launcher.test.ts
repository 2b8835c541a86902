// The launcher keeps V8's code for the next start, and uses it only when nobody else can have changed it.
import { execFileSync, spawn } from "node:child_process";
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { watch } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { COMMAND, type Ran, run, start } from "./command.js";

const home = mkdtempSync(join(tmpdir(), "launcher-"));
const env = { XDG_CACHE_HOME: join(home, "cache") };
const folder = join(env.XDG_CACHE_HOME, "mcp-secure-local");
const state = join(home, "state/mcp-secure-local");
const keyFile = join(state, "code-key");
const OWN_VERSION = { code: 0, stdout: "0.1.0\n" };
const RIGHT = { code: 0, stdout: expect.stringContaining('"text":"42"') as string };

const kept = (): string[] =>
  (existsSync(folder) ? readdirSync(folder) : []).filter((name) => /^code-.*-serving-main\.cjs\.bin$/.test(name));
const file = (): string => join(folder, kept()[0]!);
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const params = { name: "calculate", arguments: { expression: "6*7" }, _meta: META };
const input = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`;
const calculate = (): Promise<Ran> => run([], { home, env, input });
/** The same code is loaded, and less of it run. */
const sayVersion = (): Promise<Ran> => run(["--version"], { home, env });

/** What V8 makes of a text as long as the real one, which is all it compares. */
function foreignCode(): Buffer {
  const length = readFileSync(join(dirname(COMMAND), "main.cjs"), "latin1").length;
  const text = '(function () { require_("fs").writeSync(1, "FOREIGN"); process.exit(); \n})'.replace(
    "require_",
    "process.getBuiltinModule",
  );
  const source = `${text.slice(0, -3)}${" ".repeat(length - text.length)}${text.slice(-3)}`;
  // In a process like the launcher's: the code is of its flags.
  const make = `process.stdout.write(new (require("vm").Script)(require("fs").readFileSync(0, "latin1")).createCachedData())`;
  return execFileSync(process.execPath, ["-e", make], { input: source, maxBuffer: 2 ** 25 });
}

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

  it("keeps the code of commands apart: they run other functions, and none is taken for that of a serving one", async () => {
    rmSync(file());
    const follows = start(["audit", "tail"], { home, env });
    const all = (): string => (existsSync(folder) ? readdirSync(folder).join(" ") : "");
    await vi.waitUntil(() => all().includes("-command-main.cjs.bin"), 10_000);
    follows.kill();
    await once(follows, "close");
    expect(kept()).toHaveLength(0);
    await serveUntilKept();
    expect(all()).toMatch(/-command-main\.cjs\.bin/);
  });

  it("keeps it once the program has come to rest: what a busy one runs is part of what it starts with", async () => {
    const dist = mkdtempSync(join(home, "busy-"));
    const cache = join(dist, "cache");
    const lists = `process.stdout.write(fs.existsSync(folder) ? fs.readdirSync(folder).join() : "nothing")`;
    const main = `(function (exports, require) {
      const fs = require("node:fs");
      const folder = ${JSON.stringify(join(cache, "mcp-secure-local"))};
      let steps = 0;
      const step = () => {
        for (const until = Date.now() + 400; Date.now() < until; );
        if (++steps < 3) return setTimeout(step, 1);
        ${lists};
        process.stdin.resume();
      };
      step();
    })`;
    writeFileSync(join(dist, "main.cjs"), main);
    copyFileSync(COMMAND, join(dist, basename(COMMAND)));
    const child = spawn(process.execPath, [join(dist, basename(COMMAND))], {
      env: { HOME: dist, XDG_CACHE_HOME: cache, XDG_STATE_HOME: join(dist, "state") },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    expect(said.toString()).toBe("nothing");
    const code = join(cache, "mcp-secure-local");
    await vi.waitUntil(
      () => existsSync(code) && readdirSync(code).some((name) => name.endsWith("-main.cjs.bin")),
      10_000,
    );
    child.stdin.end();
    await once(child, "close");
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

  it("starts without it when others made it, by whatever way that can be made to look right", async () => {
    const sound = readFileSync(file());
    const code = foreignCode();
    const sealed = (key: Buffer): Buffer =>
      createHmac("sha256", key)
        .update(`${basename(file(), "-main.cjs.bin")}-main.cjs\n`)
        .update(code)
        .digest();
    const digest = createHash("sha256").update(code).digest();
    const own = readFileSync(keyFile);
    for (const seal of [digest, sealed(Buffer.alloc(32)), sealed(Buffer.alloc(0)), sound.subarray(0, 32)]) {
      writeFileSync(file(), Buffer.concat([seal, code]));
      expect(await sayVersion()).toMatchObject(OWN_VERSION);
    }
    // What carries the right seal is run: so the cases above and below were refused for nothing else.
    writeFileSync(file(), Buffer.concat([sealed(own), code]));
    expect(await sayVersion()).toMatchObject({ stdout: "FOREIGN" });
    const cases: (readonly [() => void, () => void])[] = [
      [() => chmodSync(keyFile, 0o644), () => chmodSync(keyFile, 0o600)],
      [() => chmodSync(state, 0o777), () => chmodSync(state, 0o700)],
      [() => linkSync(keyFile, `${keyFile}.2`), () => rmSync(`${keyFile}.2`)],
      [() => writeFileSync(keyFile, own.subarray(1)), () => writeFileSync(keyFile, own)],
      [
        () => (renameSync(keyFile, `${keyFile}.3`), symlinkSync(`${keyFile}.3`, keyFile)),
        () => renameSync(`${keyFile}.3`, keyFile),
      ],
      [() => chmodSync(folder, 0o777), () => chmodSync(folder, 0o700)],
    ];
    for (const [spoil, mend] of cases) {
      spoil();
      expect(await sayVersion()).toMatchObject(OWN_VERSION);
      mend();
    }
    expect((await sayVersion()).stdout).toBe("FOREIGN");
    // Under the name of another file, or of another build, it is worth nothing.
    const another = createHmac("sha256", own).update("code-x-main.cjs\n").update(code).digest();
    writeFileSync(file(), Buffer.concat([another, code]));
    expect(await sayVersion()).toMatchObject(OWN_VERSION);
    writeFileSync(file(), sound);
  });

  it("makes a key of its own, for its owner only, where there is none", async () => {
    const elsewhere = join(home, "another-state");
    const changes = join(elsewhere, "mcp-secure-local/code-key");
    rmSync(file());
    const child = start([], { home, env: { ...env, XDG_STATE_HOME: elsewhere } });
    await vi.waitUntil(() => kept().length > 0, 10_000);
    child.stdin.end();
    await once(child, "close");
    expect(statSync(changes)).toMatchObject({ size: 32 });
    expect(statSync(changes).mode & 0o777).toBe(0o600);
    expect(readFileSync(changes).equals(readFileSync(keyFile))).toBe(false);
    rmSync(file());
    await serveUntilKept();
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
