// The file that keeps the token: who may read it, and what else it may be.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { clusterPlace, clusterSettings, storedShareKeys, storedToken } from "../../src/cli/serve-http-settings.js";
import { tokenFile } from "../../src/cli/settings.js";
import { configFolder } from "../../src/policy/own-places.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

const MODE = 0o777;
const POSIX = process.platform !== "win32";

describe("the token", () => {
  it("is made once, for its owner only, and leaves nothing else behind", () => {
    const file = join(temporaryFolder(), "config", "deep", "token");
    const token = storedToken(file);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(storedToken(file)).toBe(token);
    expect(readFileSync(file, "utf8")).toBe(`${token}\n`);
    expect(readdirSync(join(file, ".."))).toEqual(["token"]);
    if (POSIX) expect([statSync(file).mode & MODE, statSync(join(file, "..")).mode & MODE]).toEqual([0o600, 0o700]);
    expect(storedToken(join(temporaryFolder(), "token"))).not.toBe(token);
  });

  it.runIf(POSIX)("is not believed once others could have read it", () => {
    const file = join(temporaryFolder(), "token");
    const token = storedToken(file);
    for (const mode of [0o640, 0o604, 0o620, 0o666]) {
      chmodSync(file, mode);
      expect(() => storedToken(file)).toThrow(`may be read by others (mode 0${mode.toString(8)})`);
      expect(() => storedToken(file)).not.toThrow(token);
    }
    chmodSync(file, 0o400);
    expect(storedToken(file)).toBe(token);
  });

  it("is not taken from what is no token file", () => {
    const folder = temporaryFolder();
    const file = join(folder, "token");
    for (const text of ["", "short\n", `${"x".repeat(43)} ${"y".repeat(10)}\n`, "x".repeat(1_000)]) {
      writeFileSync(file, text, { mode: 0o600 });
      expect(() => storedToken(file)).toThrow(`${file} holds no token`);
    }
    mkdirSync(join(folder, "folder"), { mode: 0o700 });
    expect(() => storedToken(join(folder, "folder"))).toThrow("no file");
    expect(() => storedToken(join(file, "below"))).toThrow(`the token file ${join(file, "below")} cannot be used`);
    if (!POSIX) return;
    symlinkSync(file, join(folder, "link"));
    expect(() => storedToken(join(folder, "link"))).toThrow("is a link");
  });

  it("is kept where each system keeps configuration, or where the environment says", () => {
    expect(tokenFile({ MCP_SECURE_LOCAL_TOKEN_FILE: "/run/token" })).toBe("/run/token");
    expect(tokenFile({ XDG_CONFIG_HOME: "/config" })).toBe("/config/mcp-secure-local/token");
    expect(configFolder({}, "linux")).toMatch(/\.config[\\/]mcp-secure-local$/);
    expect(configFolder({ XDG_CONFIG_HOME: "not/absolute" }, "linux")).not.toContain("not/absolute");
    expect(configFolder({}, "darwin")).toMatch(/Library[\\/]Preferences[\\/]mcp-secure-local$/);
    expect(configFolder({ APPDATA: "/roaming" }, "win32")).toMatch(/roaming[\\/]mcp-secure-local[\\/]Config$/);
  });
});

describe("the key that processes share", () => {
  it("is made once, for its owner only; two lines are two keys, while they are changed", () => {
    const file = join(temporaryFolder(), "share-key");
    const made: string[] = [];
    const keys = (): readonly string[] => storedShareKeys(file, (path) => made.push(path));
    const [key = ""] = keys();
    expect(Buffer.from(key, "base64")).toHaveLength(32);
    expect(keys()).toEqual([key]);
    expect(made).toEqual([file]);
    if (POSIX) expect(statSync(file).mode & MODE).toBe(0o600);
    const newer = Buffer.alloc(32, 7).toString("base64");
    writeFileSync(file, `${newer}\n${key}\n`);
    expect(keys()).toEqual([newer, key]);
  });

  it("is made by nobody but serve, and in no folder that was only misspelt", () => {
    const folder = temporaryFolder();
    const line = { redis: "redis://127.0.0.1", prefix: undefined, address: undefined };
    const lost = clusterSettings({ ...line, shareKey: join(folder, "share-kye") });
    if (lost === undefined) throw new Error("no settings");
    expect(() => clusterPlace(lost)).toThrow(`there is no key at ${join(folder, "share-kye")}: `);
    expect(readdirSync(folder)).toEqual([]);
    const astray = clusterSettings({ ...line, shareKey: join(folder, "gone", "share-key") });
    if (astray === undefined) throw new Error("no settings");
    expect(() => clusterPlace(astray, () => undefined)).toThrow(`there is no folder ${join(folder, "gone")}`);
    expect(readdirSync(folder)).toEqual([]);
    // The usual folder is made, as it is for the token.
    const usual = clusterSettings({ ...line, shareKey: undefined }, { XDG_CONFIG_HOME: join(folder, "config") });
    if (usual === undefined) throw new Error("no settings");
    expect(clusterPlace(usual, () => undefined).keys).toHaveLength(1);
  });

  it("is mended without leaving the others: nothing that is told makes a key of one process alone", () => {
    const file = join(temporaryFolder(), "share-key");
    const [key = ""] = storedShareKeys(file, () => undefined);
    const told = (): string => {
      try {
        return storedShareKeys(file, () => undefined).join();
      } catch (error) {
        return (error as Error).message;
      }
    };
    writeFileSync(file, `${key.slice(1)}\n`);
    expect(told()).toContain(`${file} holds no key: copy it anew from a machine that has it`);
    if (!POSIX) return;
    writeFileSync(file, `${key}\n`);
    chmodSync(file, 0o644);
    expect(told()).toContain(
      `may be read by others (mode 0644): if you copied it and nobody else could read it, chmod 600 ${file}; otherwise change the key in all processes, as docs/scale.md says`,
    );
    symlinkSync(file, `${file}-link`);
    expect(() => storedShareKeys(`${file}-link`, () => undefined)).toThrow("put a copy in its place");
  });
});

it.runIf(POSIX)(
  "a token that others may read is kept where it was copied from another machine, whose token it has to be",
  () => {
    const file = join(temporaryFolder(), "token");
    const token = storedToken(file);
    chmodSync(file, 0o644);
    expect(() => storedToken(file)).toThrow(
      `if you copied it and nobody else could read it, chmod 600 ${file}; otherwise remove it, and the next start makes a new one`,
    );
    chmodSync(file, 0o600);
    expect(storedToken(file)).toBe(token);
  },
);
