// The token file keeps others out, survives crashes of its users, and is never half written.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Credentials } from "../../src/auth/client/credential-store.js";
import { lockFile, tokenFile } from "../../src/node/token-file.js";

const KEY = "https://mcp.example/mcp";
const CREDENTIALS: Credentials = {
  issuer: "https://as.example",
  resource: KEY,
  tokenEndpoint: "https://as.example/token",
  client: {
    clientId: "c",
    method: "client_secret_basic",
    clientSecret: "s",
    redirectUri: "http://127.0.0.1:1/callback",
    expiresAt: 5,
  },
  tokens: { accessToken: "a", type: "DPoP", expiresAt: 7, refreshToken: "r", scopes: ["x"] },
  requestedScopes: ["x", "y"],
  dpopKey: { kty: "EC", crv: "P-256", x: "x", y: "y", d: "d" },
};

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "token-file-"));
  file = join(folder, "deep", "tokens.json");
});
afterEach(() => rm(folder, { recursive: true }));

const write = (path = file, key = KEY): Promise<void> =>
  tokenFile(path).exclusively(key, (held) => held.write(CREDENTIALS));
const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("a token file", () => {
  it.skipIf(process.platform === "win32")("is not waited for when it is a pipe, nor is its lock", async () => {
    await mkdir(join(folder, "deep"));
    const lock = `${file}.lock`;
    for (const path of [file, lock]) execFileSync("mkfifo", ["-m", "600", path]);
    // Whoever waits is let go.
    const letGo = (path: string): void => closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    let waited = false;
    const late = setInterval(() => {
      waited = true;
      for (const path of [file, lock]) letGo(path);
    }, 3_000);
    try {
      await expect(tokenFile(file).read(KEY)).rejects.toThrow("is no file; move it away");
      await expect(lockFile(file, { waitMs: 1 })).rejects.toThrow("lock");
      expect(waited).toBe(false);
    } finally {
      clearInterval(late);
    }
  });

  it("gives back what was written, to its owner only", async () => {
    await write();
    expect(await tokenFile(file).read(KEY)).toEqual(CREDENTIALS);
    expect(await mode(file)).toBe(0o600);
    expect(await mode(join(folder, "deep"))).toBe(0o700);
    expect(await readdir(join(folder, "deep"))).toEqual(["tokens.json"]);
  });

  it("keeps servers apart and forgets one without the others", async () => {
    await write();
    await write(file, "https://other.example/");
    await tokenFile(file).exclusively(KEY, (held) => held.write(undefined));
    expect(await tokenFile(file).read(KEY)).toBe(undefined);
    expect(await tokenFile(file).read("https://other.example/")).toEqual(CREDENTIALS);
  });

  it.each([0o640, 0o604, 0o660, 0o644])("is refused when others can get at it: mode %o", async (bad) => {
    await write();
    await chmod(file, bad);
    await expect(tokenFile(file).read(KEY)).rejects.toMatchObject({ code: "AUTH_STORE" });
    await expect(write()).rejects.toThrow(/chmod 600/);
  });

  it("is refused in a folder that others can write to", async () => {
    await write();
    await chmod(join(folder, "deep"), 0o777);
    await expect(write()).rejects.toThrow(/chmod 700/);
  });

  it("is refused when it is a link, or no token file", async () => {
    const link = join(folder, "link.json");
    await write();
    await symlink(file, link);
    await expect(tokenFile(link).read(KEY)).rejects.toThrow(/link/);
    await writeFile(file, "{ half");
    await expect(tokenFile(file).read(KEY)).rejects.toThrow(/no token file/);
    expect(await readFile(file, "utf8")).toBe("{ half");
  });

  it("is written for many servers at once, one of which is being worked on all the time", async () => {
    const store = tokenFile(file);
    const keys = Array.from({ length: 12 }, (_, at) => `https://mcp.example/${at}`);
    await store.exclusively(KEY, async (held) => {
      await Promise.all(keys.map((key) => write(file, key)));
      await held.write(CREDENTIALS);
    });
    for (const key of [KEY, ...keys]) expect(await store.read(key)).toEqual(CREDENTIALS);
    expect(await readdir(join(folder, "deep"))).toEqual(["tokens.json"]);
  });

  it("believes nothing of the form of a record", async () => {
    await write();
    for (const record of [null, 7, [], {}, { issuer: 1 }, { ...CREDENTIALS, tokens: { accessToken: 5 } }]) {
      await writeFile(file, JSON.stringify({ version: 1, servers: { [KEY]: record } }));
      expect((await tokenFile(file).read(KEY))?.tokens).toBe(undefined);
    }
  });
});

describe("a lock", () => {
  it("is held by one at a time", async () => {
    let inside = 0;
    let most = 0;
    const path = join(folder, "f");
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const lock = await lockFile(path);
        most = Math.max(most, ++inside);
        await lock.check();
        inside--;
        await lock.release();
      }),
    );
    expect(most).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  it("of a process that was killed is taken away at once, by one of those who wait", async () => {
    const path = join(folder, "f");
    const lock = await lockFile(path);
    const text = await readFile(`${path}.lock`, "utf8");
    await lock.release();
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
    await once(child, "spawn");
    child.kill("SIGKILL");
    await once(child, "exit");
    await writeFile(`${path}.lock`, text.replace(String(process.pid), String(child.pid)));
    let inside = 0;
    const turns = Array.from({ length: 8 }, async () => {
      const got = await lockFile(path, { waitMs: 10_000 });
      expect(++inside).toBe(1);
      await got.check();
      inside--;
      await got.release();
    });
    await Promise.all(turns);
    expect(await readdir(folder)).toEqual([]);
  });

  it("that shows no life is taken away, and its owner cannot write any more", async () => {
    const path = join(folder, "f");
    const slept = await lockFile(path, { staleMs: 3_600_000 });
    const longAgo = new Date(Date.now() - 3_700_000);
    await utimes(`${path}.lock`, longAgo, longAgo);
    const next = await lockFile(path, { staleMs: 3_600_000 });
    await expect(slept.check()).rejects.toMatchObject({ code: "AUTH_STORE" });
    await slept.release();
    await next.check();
    await next.release();
  });

  it("of somebody alive is waited for, but not for ever", async () => {
    const path = join(folder, "f");
    const lock = await lockFile(path);
    await expect(lockFile(path, { waitMs: 20 })).rejects.toThrow(new RegExp(`pid ${process.pid}`));
    await lock.release();
  });

  it("is let go when the work fails", async () => {
    const store = tokenFile(file);
    await expect(store.exclusively(KEY, () => Promise.reject(new Error("work")))).rejects.toThrow("work");
    await store.exclusively(KEY, () => Promise.resolve());
  });
});
