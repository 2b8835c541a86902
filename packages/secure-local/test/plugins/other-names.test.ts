// Hard links in a plugin's folder: what has another name among the files that no tool reads is no part of a plugin, and a copy has one name.
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PluginCache } from "../../src/plugins/plugin-cache.js";
import { hashPlugin, takeContent } from "../../src/plugins/plugin-content.js";

let base = "";
let cache: PluginCache;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "other-names-")));
  vi.stubEnv("HOME", join(base, "home"));
  put("home/work/plugin/plugin.mjs", "export default {}");
  cache = new PluginCache(join(base, "state/copies"));
});
afterEach(() => {
  cache.close();
  vi.unstubAllEnvs();
  vi.useRealTimers();
  rmSync(base, { recursive: true, force: true });
});

function put(name: string, text = "SECRET"): string {
  const path = join(base, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function linked(name: string, as = "data/x"): void {
  const path = join(base, "home/work/plugin", as);
  mkdirSync(dirname(path), { recursive: true });
  linkSync(join(base, name), path);
}

const taken = (more: { readonly sha256?: string } = {}): Promise<string> =>
  cache
    .take(join(base, "home/work/plugin"), {
      own: [join(base, "own"), join(base, "conf/policy.yaml"), join(base, "log/audit")],
      ...more,
    })
    .then(
      (kept) => kept.root,
      (error: Error) => error.message,
    );

describe("a file in a plugin's folder", () => {
  it.each([
    "home/.ssh/id",
    "home/.ssh/deep/er/than/names/begin/id",
    "home/.netrc",
    "home/.aws/credentials",
    "home/.config/gh/hosts.yml",
    "home/.local/share/keyrings/login.keyring",
    "home/.mozilla/firefox/p.default/logins.json",
    "home/.bash_history",
    "home/work/.env",
    "home/work/config/secrets.yml",
    "home/projects/web/.env",
    "home/zz/.ssh/work",
    "home/zz/a/b/c/d/e/f/g/h/.ssh/deep/er/work",
    "home/projects/web/.aws/work",
    "home/work/beside/server.key",
    "own/tokens/a",
    "own/b",
    "conf/policy.yaml",
    "log/audit.jsonl",
  ])("is refused where it is another name of %s", async (name) => {
    put(name);
    linked(name);
    expect(await taken()).toContain(
      `data/x is another name (hard link) of ${join(base, name)}, which no plugin may read`,
    );
  });

  it("is refused where it is another name of what a protected link leads to", async () => {
    put("home/store/rc");
    symlinkSync("store/rc", join(base, "home/.npmrc"));
    linked("home/store/rc");
    expect(await taken()).toContain("is another name (hard link)");
  });

  it.each(Array.from({ length: 40 }, (_, seed) => [seed]))("is refused at any depth of the home (%d)", async (seed) => {
    const next = (most: number, turn: number): number => ((seed + 1) * 7_919 + turn * 104_729) % most;
    const folders = Array.from({ length: next(9, 1) }, (_, at) => ["a", "b.c", "work", ".x", "ä"][next(5, at + 2)]);
    const name = [".env", ".ssh/k", ".netrc", "id_rsa", "x.pem", "config/secrets.yml", ".aws/w/x", ".env.local"][
      next(8, 20)
    ];
    const secret = ["home", ...folders, name].join("/");
    put(secret);
    linked(secret, ["data/x", "node_modules/p/i.js", "x"][next(3, 21)]);
    expect(await taken()).toContain("is another name (hard link) of");
  });

  it("is refused where it is another name of what a link deep in the home leads to", async () => {
    put("home/a/shared/settings");
    mkdirSync(join(base, "home/a/b/web"), { recursive: true });
    symlinkSync("../../shared/settings", join(base, "home/a/b/web/.env"));
    linked("home/a/shared/settings");
    expect(await taken()).toContain("is another name (hard link)");
  });

  it("is refused where it is another name of a secret that a link at home leads to", async () => {
    put("data/projects/web/.env");
    symlinkSync("../data/projects", join(base, "home/projects"));
    symlinkSync("/", join(base, "home/all"));
    linked("data/projects/web/.env");
    expect(await taken()).toContain("is another name (hard link)");
  });

  it("is taken where its other names are those of packages, whatever they are called", async () => {
    const packaged = [
      "home/other/node_modules/.pnpm/p@1/node_modules/p/test/server.key",
      "home/.local/share/pnpm/store/v10/files/00/.env",
      "home/.pnpm-store/v3/files/.env",
      "home/.cache/uv/archive-v0/x/server.key",
      "home/v/lib/python3.12/site-packages/p/id_rsa",
    ];
    for (const [at, name] of packaged.entries()) {
      put(name);
      linked(name, `node_modules/p/${at}`);
    }
    put("home/work/plugin/keys/server.key");
    linkSync(join(base, "home/work/plugin/keys/server.key"), join(base, "home/other/plain"));
    expect(await taken()).toContain("copies");
  });

  it("is refused with the way to allow it where there is too much to look through", async () => {
    put("home/x/plain");
    for (let file = 0; file < 50; file += 1) put(`home/many/${file}`);
    linked("home/x/plain");
    const apart = { own: [], copies: [], most: 30 };
    const plugin = join(base, "home/work/plugin");
    await expect(takeContent(plugin, { apart })).rejects.toThrow(/too many files at home .*package-import-method=copy/);
    await expect(takeContent(plugin, { apart: { ...apart, most: 500_000 } })).resolves.toBeDefined();
  });

  it("is refused as the whole plugin, too", async () => {
    put("home/.netrc");
    const file = join(base, "home/work/alone.mjs");
    linkSync(join(base, "home/.netrc"), file);
    await expect(cache.take(file, { own: [] })).rejects.toThrow("is another name (hard link)");
  });

  it("has as many other names as it likes, where none of them is kept from being read", async () => {
    for (const name of ["home/.ssh/id", "home/.irbrc", "store/package/index.js", "home/work/other.js"]) put(name);
    for (const name of ["home/.irbrc", "store/package/index.js", "home/work/other.js"]) linked(name, `lib/${name}`);
    linkSync(join(base, "home/work/plugin/plugin.mjs"), join(base, "home/work/plugin/again.mjs"));
    // Copies of plugins lie among the program's own files, and are made from others.
    linked("store/package/index.js", "lib/x");
    const root = await taken();
    expect(readFileSync(join(root, "lib/x"), "utf8")).toBe("SECRET");
  });

  it("is looked at again when it was given another name", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    put("store/index.js");
    linked("store/index.js");
    expect(await taken()).toContain("copies");
    mkdirSync(join(base, "home/.ssh"));
    linkSync(join(base, "store/index.js"), join(base, "home/.ssh/id"));
    expect(await taken()).toContain("is another name (hard link)");
  });
});

it("a copy that somebody gave another name is no copy any more", async () => {
  const sha256 = hashPlugin(join(base, "home/work/plugin"));
  const root = await taken({ sha256 });
  chmodSync(root, 0o700);
  linkSync(join(root, "plugin.mjs"), join(base, "held"));
  const again = await taken({ sha256 });
  expect(statSync(join(again, "plugin.mjs")).nlink).toBe(1);
  chmodSync(join(base, "held"), 0o600);
  writeFileSync(join(base, "held"), "EVIL");
  expect(hashPlugin(again)).toBe(sha256);
});
