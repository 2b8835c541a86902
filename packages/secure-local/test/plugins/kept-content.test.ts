// What was taken of a plugin is what is started, at every start: pinned, locked, or neither, whatever becomes of its files.
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeEach, describe, expect, it, test, vi } from "vitest";
import { repeated } from "../../../mcp/test/support/soak.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { PluginCache } from "../../src/plugins/plugin-cache.js";
import { hashPlugin, takeContent } from "../../src/plugins/plugin-content.js";
import { PluginError } from "../../src/plugins/plugin-description.js";
import { lockFileOf, relocked, writeLock } from "../../src/server/plugin-lock.js";
import { itemsOf } from "../../src/server/plugin-names.js";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { hasWall } from "../sandbox/walls.js";
import { type ServedPlugins, servePlugins } from "./plugin-server.js";

const folder = pluginFolder();
afterAll(() => folder.remove());

/** A plugin whose words lie in a nested file. */
function written(name: string, words = "approved"): string {
  const path = folder.write(name, { "manifest.yaml": MANIFEST(name), "main.sh": MAIN });
  mkdirSync(join(path, "lib"), { recursive: true });
  writeFileSync(join(path, "lib", "words.sh"), `words=${words}\n`);
  return path;
}
const MANIFEST = (name: string): string =>
  `name: ${name}\nversion: "1"\nrun: [./main.sh]\ntools: { go: { description: Goes } }\n`;
const MAIN = `#!/bin/sh
. "$(dirname "$0")/lib/words.sh"
read -r line
id=$(printf %s "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')
printf '{"id":%s,"content":"%s"}\\n' "$id" "$words"
`;
const MODULE = `
import { words } from "./lib/words.mjs";
export default { name: "mod", version: "1", tools: {
  go: { description: "Goes", run: () => words },
  end: { description: "Ends", run: () => process.exit(1) } } };
`;

/** Puts a link in the place of a folder and takes it away again, as fast as it can. */
const SWAPPER = `
const { renameSync, symlinkSync, rmSync } = require("node:fs");
const { workerData: { path, outside, stop } } = require("node:worker_threads");
while (Atomics.load(stop, 0) === 0) {
  renameSync(path + "/lib", path + "/was");
  symlinkSync(outside, path + "/lib");
  Atomics.wait(stop, 0, 0, 1);
  rmSync(path + "/lib");
  renameSync(path + "/was", path + "/lib");
  Atomics.wait(stop, 0, 0, 1);
}
`;

describe("the hash", () => {
  let at = 0;
  let path = "";
  beforeEach(() => (path = written(`hashed${(at += 1)}`)));
  const file = (name: string): string => join(path, name);

  const CHANGES: readonly (readonly [string, () => void])[] = [
    ["a byte of a nested file", () => writeFileSync(file("lib/words.sh"), "words=Approved\n")],
    ["whether a file may be run", () => chmodSync(file("main.sh"), 0o644)],
    ["a file more", () => writeFileSync(file("lib/more"), "")],
    ["a hidden file", () => writeFileSync(file(".hidden"), "")],
    ["an empty folder", () => mkdirSync(file("empty"))],
    ["a file less", () => rmSync(file("manifest.yaml"))],
    ["another name", () => renameSync(file("lib/words.sh"), file("lib/wordz.sh"))],
    ["another folder", () => renameSync(file("lib"), file("bin"))],
    [
      "a link in place of a file of its text",
      () => (rmSync(file("main.sh")), symlinkSync("lib/words.sh", file("main.sh"))),
    ],
    ["a file in place of a folder", () => (rmSync(file("lib"), { recursive: true }), writeFileSync(file("lib"), ""))],
  ];
  it.each(CHANGES)("is another with %s", (_what, change) => {
    const before = hashPlugin(path);
    change();
    expect(hashPlugin(path)).not.toBe(before);
  });

  it("tells a link from a file that holds its target, and one target from another", () => {
    const hashes = [
      () => symlinkSync("lib/words.sh", file("x")),
      () => writeFileSync(file("x"), "lib/words.sh"),
      () => symlinkSync("lib", file("x")),
    ].map((make) => {
      rmSync(file("x"), { force: true });
      make();
      return hashPlugin(path);
    });
    expect(new Set(hashes).size).toBe(3);
  });

  it("is the same for the same content at another place, at another time, and beside a repository that changes", () => {
    const before = hashPlugin(path);
    mkdirSync(file(".git"));
    writeFileSync(file(".git/index"), "changes with every look");
    utimesSync(file("main.sh"), 1, 1);
    const other = join(folder.path, `moved${at}`);
    renameSync(path, other);
    expect(hashPlugin(other)).toBe(before);
  });

  const ODD: readonly (readonly [string, () => void, RegExp])[] = [
    ["a name with a line break", () => writeFileSync(file("a\nb"), ""), /line breaks.*rename it/],
    ["a name with an escape", () => writeFileSync(file("a\u001b[2J"), ""), /control characters/],
    ["a name that is no UTF-8", () => writeFileSync(Buffer.from(`${path}/a\xff`, "latin1"), ""), /no UTF-8/],
    ["a link out", () => symlinkSync("../secret", file("out")), /out leads out of the plugin/],
    ["an absolute link", () => symlinkSync(join(homedir(), ".ssh"), file("out")), /leads out of the plugin/],
    ["an absolute link into itself", () => symlinkSync(file("main.sh"), file("out")), /leads out of the plugin/],
    [
      "a way out over a link",
      () => (symlinkSync("lib", file("in")), symlinkSync("in/../../x", file("out"))),
      /leads out/,
    ],
  ];
  it.each(ODD)("is of nothing with %s", (_what, make, message) => {
    make();
    expect(() => hashPlugin(path)).toThrow(PluginError);
    expect(() => hashPlugin(path)).toThrow(message);
  });

  it("takes links of its own and those to the system", () => {
    symlinkSync("lib/../main.sh", file("own"));
    symlinkSync("/usr/bin/env", file("env"));
    symlinkSync("nothing", file("dangling"));
    expect(hashPlugin(path)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("a copy", () => {
  const copies = join(folder.path, "copies");
  let keeper: PluginCache;
  beforeEach(() => (keeper = new PluginCache(copies)));
  afterEach(() => keeper.close());

  it("is read-only, its owner's alone, and has the hash of what was written", async () => {
    const kept = await keeper.take(written("copied"), { own: [] });
    expect(await takeContent(kept.root)).toEqual({ hash: kept.hash, kind: "folder" });
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect([copies, kept.root, join(kept.root, "main.sh"), join(kept.root, "lib/words.sh")].map(mode)).toEqual([
      "700",
      "500",
      "500",
      "400",
    ]);
  });

  it("is taken in place of changed files when it is the one that is wanted, and never when it is damaged", async () => {
    const path = written("wanted");
    const first = await keeper.take(path, { own: [] });
    const pin = { sha256: first.hash, own: [] };
    writeFileSync(join(path, "lib", "words.sh"), "words=other\n");
    const again = await keeper.take(path, pin);
    expect([again.root, again.hash]).toEqual([first.root, first.hash]);
    expect(again.note).toMatch(/is no longer what the policy's sha256 names; the content that was approved goes on/);
    symlinkSync("/etc/../home", join(path, "out"));
    const odd = await keeper.take(path, pin);
    expect([odd.root, odd.note]).toEqual([first.root, expect.stringMatching(/goes on being started.*leads out/)]);
    rmSync(join(path, "out"));
    chmodSync(join(first.root, "lib", "words.sh"), 0o600);
    writeFileSync(join(first.root, "lib", "words.sh"), "words=evil\n");
    await expect(keeper.take(path, pin)).rejects.toThrow(/Its content is not the one the policy knows/);
    expect(existsSync(first.root)).toBe(false);
  });

  it("is made anew when it is damaged and the files are as they were", async () => {
    const path = written("mended");
    const first = await keeper.take(path, { own: [] });
    chmodSync(join(first.root, "main.sh"), 0o700);
    writeFileSync(join(first.root, "main.sh"), "evil");
    const again = await keeper.take(path, { own: [] });
    expect(readFileSync(join(again.root, "main.sh"), "utf8")).toBe(MAIN);
  });

  it("is whole for everyone who takes it at the same time as others, though it was damaged before", async () => {
    const path = written("contested");
    const kept = join(folder.path, "contested-cache");
    const words = join("lib", "words.sh");
    for (let time = 0; time < repeated(8, 200); time++) {
      const caches = [0, 1, 2, 3].map(() => new PluginCache(kept));
      const first = await caches[0]!.take(path, { own: [] });
      const damaged = join(first.root, words);
      first.release();
      chmodSync(damaged, 0o600);
      writeFileSync(damaged, "words=other\n");
      const takers = caches.map(async (cache) => {
        const taken = await cache.take(path, { own: [] });
        for (let look = 0; look < 20; look++) {
          expect(readFileSync(join(taken.root, words), "utf8")).toBe("words=approved\n");
          await new Promise((resolve) => setImmediate(resolve));
        }
        taken.release();
      });
      await Promise.all(takers);
      for (const cache of caches) cache.close();
    }
  });

  it("of a folder that holds a home, or what is the program's own, is not made", async () => {
    const path = written("holds");
    for (const own of [path, join(path, "lib"), join(path, "lib", "words.sh")])
      await expect(keeper.take(path, { own: [own] })).rejects.toThrow(/put the plugin into a folder of its own/);
    for (const above of ["/", homedir(), join(homedir(), "..")])
      await expect(keeper.take(above, { own: [] })).rejects.toThrow(/put the plugin into a folder of its own/);
  });

  it("of one file is of that file alone", async () => {
    const path = written("single");
    writeFileSync(join(path, "one.mjs"), "export default {};\n");
    const kept = await keeper.take(join(path, "one.mjs"), { own: [] });
    expect(readdirSync(join(kept.root, ".."))).toEqual(["plugin.mjs"]);
    expect(kept.kind).toBe("file");
  });

  it("never holds what a link that is swapped in leads to, and is what its hash says", async () => {
    const path = written("swapped");
    const outside = join(folder.path, "outside");
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, "words.sh"), "words=SECRET\n");
    // Between the look at what there is and the look into it there is much to read.
    for (let file = 0; file < 60; file += 1) writeFileSync(join(path, `filler${file}`), `${file}`);
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const swapper = new Worker(SWAPPER, { eval: true, workerData: { path, outside, stop } });
    await once(swapper, "online");
    let taken = 0;
    // On a busy machine each look may meet a swap: then it is looked until one does not.
    for (let round = 0; round < repeated(40, 3_000) || (taken === 0 && round < 3_000); round += 1) {
      const kept = await keeper.take(path, { own: [] }).catch(() => undefined);
      if (kept === undefined) continue;
      taken += 1;
      expect((await takeContent(kept.root)).hash).toBe(kept.hash);
      for (const file of ["lib/words.sh", "was/words.sh"]) {
        const copied = join(kept.root, file);
        if (existsSync(copied)) expect(readFileSync(copied, "utf8")).not.toContain("SECRET");
      }
      kept.release();
    }
    Atomics.store(stop, 0, 1);
    await once(swapper, "exit");
    expect(taken).toBeGreaterThan(0);
  });

  it("that nobody holds goes when there are many others or it is old; one that is held stays", async () => {
    const path = written("many");
    const first = await keeper.take(path, { own: [] });
    for (let round = 0; round < 40; round += 1) {
      writeFileSync(join(path, "lib", "words.sh"), `words=m${round}\n`);
      (await keeper.take(path, { own: [] })).release();
    }
    const hashes = (): string[] => readdirSync(copies).filter((name) => /^[0-9a-f]{64}$/.test(name));
    expect(hashes()).toHaveLength(33);
    expect(existsSync(first.root)).toBe(true);
    for (const hash of hashes()) utimesSync(join(copies, hash), 1, 1);
    writeFileSync(join(copies, `${"0".repeat(64)}.999999999.00`), "");
    mkdirSync(join(copies, ".new-left"));
    utimesSync(join(copies, ".new-left"), 1, 1);
    keeper.sweep();
    expect(readdirSync(copies).filter((name) => !name.startsWith(first.hash))).toEqual([]);
    expect(existsSync(first.root)).toBe(true);
  });
});

describe.skipIf(!hasWall())("what is started", () => {
  let served: ServedPlugins | undefined;
  const said: string[] = [];
  afterEach(async () => {
    await served?.secure.stop();
    served = undefined;
    said.length = 0;
  });

  async function serve(load: string, tool: string, copies?: string): Promise<ServedPlugins> {
    const text = `version: "1.0"\ntools: { allowed: ["*"], rate_limits: { default: 1000 } }\noutput: { mark_untrusted: false }\nplugins: { folder: ${folder.path}, load: [${load}] }\n`;
    served = await servePlugins(text, [tool], {
      say: (line) => said.push(line),
      ...(copies === undefined ? {} : { copies }),
    });
    return served;
  }
  const SOON = { timeout: 10_000, interval: 20 };

  test("of a pinned program is what was approved at every call, also from the next start on, and the operator is told once", async () => {
    const path = written("pinned");
    const copies = join(folder.path, "served");
    const load = `{ name: pinned, sha256: ${hashPlugin(path)} }`;
    const first = await serve(load, "pinned_go", copies);
    expect(await first.call("pinned_go")).toBe("approved");
    writeFileSync(join(path, "lib", "words.sh"), "words=OTHER\n");
    expect(await first.call("pinned_go")).toBe("approved");
    await vi.waitFor(() => expect(said.filter((line) => line.includes("is no longer what"))).toHaveLength(1), SOON);
    expect(first.secure.pluginHealth()[0]).toMatchObject({
      state: "ready",
      note: expect.stringMatching(/no longer/) as string,
    });
    writeFileSync(join(path, "main.sh"), "#!/bin/sh\nexit 1\n");
    expect(await first.call("pinned_go")).toBe("approved");
    await first.secure.stop();
    said.length = 0;
    const second = await serve(load, "pinned_go", copies);
    expect(await second.call("pinned_go")).toBe("approved");
    expect(said.filter((line) => line.includes("is no longer what"))).toHaveLength(1);
  });

  test("of a pinned module is what was approved when it comes back, too", async () => {
    const path = folder.write("mod", { "plugin.mjs": MODULE });
    mkdirSync(join(path, "lib"));
    writeFileSync(join(path, "lib", "words.mjs"), 'export const words = "approved";\n');
    const { call } = await serve(`{ name: mod, sha256: ${hashPlugin(path)} }`, "mod_go");
    writeFileSync(join(path, "lib", "words.mjs"), 'export const words = "OTHER";\n');
    expect(await call("mod_end")).toMatch(/ended before it answered/);
    await vi.waitFor(async () => expect(await call("mod_go")).toBe("approved"), SOON);
  });

  test("of one that is not pinned is what was described; a nested change has it described and started anew", async () => {
    const path = written("free");
    const { call, secure } = await serve("{ name: free }", "free_go");
    const before = secure.pluginHealth()[0]?.content;
    writeFileSync(join(path, "lib", "words.sh"), "words=new\n");
    expect(await call("free_go")).toBe("approved");
    await vi.waitFor(async () => expect(await call("free_go")).toBe("new"), SOON);
    expect(secure.pluginHealth()[0]?.content).not.toBe(before);
  });

  test("sees its copy where it lies, whatever it was granted there", async () => {
    const path = written("granted");
    const grant = `filesystem: { readable_paths: ["${path}/lib/**", "${path}/lib/words.sh", "${folder.path}/**"] }`;
    const { call } = await serve(`{ name: granted, sha256: ${hashPlugin(path)}, ${grant} }`, "granted_go");
    writeFileSync(join(path, "lib", "words.sh"), "words=OTHER\n");
    expect(await call("granted_go")).toBe("approved");
  });

  test("of one that is locked is withheld once its nested files are others", async () => {
    const path = written("locked");
    const file = join(folder.path, "locked.yaml");
    const text = `version: "1.0"\ntools: { allowed: ["locked_*"] }\noutput: { mark_untrusted: false }\nplugins: { folder: ${folder.path}, load: [{ name: locked }] }\n`;
    writeFileSync(file, text, { mode: 0o600 });
    const policy = await parsePolicy(text, { file, environment: {} });
    served = await servePlugins(text, ["locked_go"], { policy });
    const [review] = served.secure.pluginReviews();
    const items = new Map<string, unknown>([...itemsOf(review!.description), ["launch", review!.launch]]);
    writeLock(lockFileOf(file), new Map([["locked", relocked(undefined, items)]]));
    await served.secure.stop();
    served = await servePlugins(text, ["locked_go"], { policy });
    expect(await served.call("locked_go")).toBe("approved");
    writeFileSync(join(path, "lib", "words.sh"), "words=OTHER\n");
    expect(await served.call("locked_go")).toBe("approved");
    await vi.waitFor(
      async () => expect(await served?.call("locked_go")).toMatch(/^failed: Denied.*launch was changed/),
      SOON,
    );
  });

  test("of a module under a lock is nothing but what was approved; a new approval starts it", async () => {
    const path = folder.write("locker", { "plugin.mjs": MODULE.replace('"mod"', '"locker"') });
    mkdirSync(join(path, "lib"));
    writeFileSync(join(path, "lib", "words.mjs"), 'export const words = "approved";\n');
    const file = join(folder.path, "locker.yaml");
    const text = `version: "1.0"\ntools: { allowed: ["locker_*"] }\noutput: { mark_untrusted: false }\nplugins: { folder: ${folder.path}, load: [{ name: locker }] }\n`;
    writeFileSync(file, text, { mode: 0o600 });
    const policy = await parsePolicy(text, { file, environment: {} });
    const approve = async (): Promise<void> => {
      const looked = await servePlugins(text, [], { policy, startUnapproved: true });
      await vi.waitFor(() => expect(looked.secure.pluginReviews()).toHaveLength(1), SOON);
      const [review] = looked.secure.pluginReviews();
      const items = new Map<string, unknown>([...itemsOf(review!.description), ["launch", review!.launch]]);
      writeLock(lockFileOf(file), new Map([["locker", relocked(undefined, items)]]));
      await looked.secure.stop();
    };
    await approve();
    writeFileSync(join(path, "lib", "words.mjs"), 'export const words = "OTHER";\n');
    served = await servePlugins(text, [], { policy });
    await vi.waitFor(() => expect(served?.secure.pluginHealth()[0]?.state).toBe("refused"), SOON);
    expect(served.secure.pluginHealth()[0]).toMatchObject({
      starts: 0,
      note: expect.stringMatching(/not as it was approved \(launch was changed\)\. Read what changed/) as string,
    });
    await approve();
    await vi.waitFor(async () => expect(await served?.call("locker_go").catch(String)).toBe("OTHER"), SOON);
  });
});
