// A process that shares nothing loads nothing of what sharing needs; and what is said of a Redis before anything is shared.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasRedis, startRedis } from "../../../mcp/test/cluster/redis-fixture.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf, run } from "../cli/command.js";

/** The files of the built program that only sharing needs. */
const SHARING = /^(?:open-cluster|redis|ioredis|cluster|redis-doctor)\.cjs$/;
/** What only a program that speaks with Redis says. */
const REDIS = /PEXPIRE|redis\.call/;
/** The sandbox of plugins, which this does not need, is half of it all. */
const LARGE = "strip-types.cjs";

describe("the program without --redis", () => {
  it("serves where the files are missing that sharing needs", () => {
    const dist = dirname(COMMAND);
    const names = readdirSync(dist).filter((name) => name.endsWith(".cjs"));
    const others = names.filter((name) => !SHARING.test(name) && name !== LARGE);
    expect(names.filter((name) => SHARING.test(name))).toEqual(
      expect.arrayContaining(["ioredis.cjs", "open-cluster.cjs", "redis.cjs"]),
    );
    for (const name of others) expect(readFileSync(join(dist, name), "utf8"), name).not.toMatch(REDIS);
    const home = temporaryFolder();
    const copy = join(home, "program/dist");
    mkdirSync(copy, { recursive: true });
    for (const name of others) cpSync(join(dist, name), join(copy, name));
    cpSync(join(dist, "../package.json"), join(copy, "../package.json"));
    const call = ["call", "calculate", "expression=6 * 7"];
    const env = environmentOf(home);
    expect(
      execFileSync(process.execPath, [join(copy, "mcp-secure-local.cjs"), ...call], { env, encoding: "utf8" }),
    ).toBe("42\n");
  });

  it.each([
    [["serve", "--share-key", "key"], "--share-key belongs to --redis"],
    [["serve", "--redis", "nonsense"], "is no address of Redis: write it as redis://host:port"],
    [["serve", "--redis", "redis://:SECRET@127.0.0.1:1"], "redis://127.0.0.1:1 cannot be reached"],
    [["tools", "--redis", "redis://127.0.0.1"], "--redis belongs to serve and doctor and audit"],
    [["doctor", "--redis", "redis://127.0.0.1:1"], "cannot be reached"],
    [["doctor", "--redis", "redis://127.0.0.1:1", "--share-key", "/gone/key"], "there is no key at /gone/key"],
    [["doctor", "--prefix", "team"], "--prefix belongs to doctor --redis"],
    [["doctor", "--share-key", "key"], "--share-key belongs to doctor --redis"],
  ])("says in one line what is wrong with %j", { timeout: 30_000 }, async (args, said) => {
    const home = temporaryFolder();
    const { code, stderr } = await run(args, { home });
    expect(stderr).toContain(said);
    expect(stderr).not.toContain("SECRET");
    expect(existsSync(join(home, ".config/mcp-secure-local/share-key"))).toBe(false);
    // Before that `serve` may have said that it has made a key.
    const lines = stderr.trimEnd().split("\n");
    expect([code, lines.filter((line) => !line.includes("made a new key at ")).length]).toEqual([2, 1]);
  });
});

describe.runIf(hasRedis)("doctor --redis", () => {
  it("names each thing that is wrong and what to change, with code 2, and is content with a sound one", async () => {
    const redis = await startRedis();
    const home = temporaryFolder();
    const look = (): ReturnType<typeof run> => run(["doctor", "--redis", redis.url], { home });
    redis.cli("config", "set", "maxmemory-policy", "allkeys-lru");
    const two = await look();
    expect([two.code, two.stderr]).toEqual([
      2,
      "mcp-secure-local: Redis keeps nothing over a restart, and sessions and tasks end with it: set appendonly yes\n" +
        "mcp-secure-local: Redis would forget keys once it has a maxmemory (allkeys-lru): set maxmemory-policy noeviction\n",
    ]);
    redis.cli("config", "set", "maxmemory", "100mb");
    expect(await look()).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/forgets keys when its memory is full/) as string,
    });
    redis.cli("config", "set", "maxmemory-policy", "noeviction");
    redis.cli("config", "set", "appendonly", "yes");
    expect(await look()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/noeviction, keeps data by aof/) as string,
    });
  });

  it("is a part of doctor where the variable says that processes share", async () => {
    const redis = await startRedis("--requirepass", "right");
    const home = temporaryFolder();
    const alone = await run(["doctor"], { home });
    const env = { MCP_SECURE_LOCAL_REDIS: redis.url };
    const shared = await run(["doctor"], { home, env });
    expect([alone.stderr.includes("password"), shared.code]).toEqual([false, 2]);
    expect(shared.stderr).toContain("needs a password: redis://:PASSWORD@host");
    expect(shared.stdout).toBe(alone.stdout);
  });

  it("says that Redis needs a password, or another one", async () => {
    const redis = await startRedis("--requirepass", "right");
    const home = temporaryFolder();
    const { code, stderr } = await run(["doctor", "--redis", redis.url], { home });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`127.0.0.1:${redis.port} needs a password: redis://:PASSWORD@host`) as string,
    ]);
    const wrong = await run(["doctor", "--redis", redis.url.replace("//", "//:wrong@")], { home });
    expect(wrong.stderr).toContain("takes another password");
    expect(wrong.stderr).not.toContain("cannot be reached");
  });
});
