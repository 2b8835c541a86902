// The ways to what protected names that are links lead to: whatever may be exchanged, made or removed on them, the name keeps its meaning.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { filePolicy, filesIn, type Tree, tree } from "./tree.js";

const EVIL = "evil";

/** Links, by where they stand in what is allowed (`~/` for the home folder, which is not), and files; a target without one is missing. */
interface Shape {
  readonly links: Readonly<Record<string, string>>;
  readonly files: readonly string[];
}

/** A protected name, by each sort of way: as many links as `bits` has, of each sort, to what is there or not. */
function* shapes(): Generator<[string, Shape]> {
  for (const name of ["~/.bashrc", ".zshrc", "~/.config/Code/User/settings.json", ".env", ".npmrc"]) {
    for (const there of [true, false]) {
      const to = name.startsWith("~/") ? "@/" : "";
      const files = there ? ["store/v1/rc"] : [];
      const parts: Record<string, Record<string, string>> = {
        "at once": { [name]: `${to}store/v1/rc` },
        "by a folder link": { [name]: `${to}store/cur/rc`, "store/cur": "v1" },
        "by a link in the middle": { [name]: `${to}store/mid`, "store/mid": "v1/rc" },
        "by both": { [name]: `${to}a/b/mid`, "a/b": "../store", "store/mid": "cur/rc", "store/cur": "v1" },
        "by a folder link in a folder link": { [name]: `${to}x/y/rc`, x: "store", "store/y": "v1" },
        "over what is missing": { [name]: `${to}gone/../store/v1/rc` },
        "by a missing folder": { [name]: `${to}gone/rc` },
      };
      for (const [way, links] of Object.entries(parts))
        yield [`${name} ${way}, to what is ${there ? "there" : "not there"}`, { links, files }];
    }
  }
}

function make(t: Tree, { links, files }: Shape): void {
  const at = (name: string): string =>
    name.startsWith("~/") ? join(t.base, "home", name.slice(2)) : join(t.inside, name);
  for (const file of files) t.put(file, "good");
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(at(name)), { recursive: true });
    symlinkSync(target.replace("@", t.inside), at(name));
  }
  // What an attacker has made under names of its own: in it every name is evil.
  for (const folder of ["evil", "evil/v1", "evil/store", "evil/store/v1", "evil/b", "evil/y", "evil/cur"]) {
    for (const file of ["rc", "mid"]) t.put(`${folder}/${file}`, EVIL);
  }
}

/** All that may be exchanged: each name that a way may go by, whether it is there or not. */
const EXCHANGED = [
  ...["store", "store/v1", "store/v1/rc", "store/cur", "store/mid", "store/y", "a", "a/b", "x", "gone", "gone/rc"],
  ...[".zshrc", ".env", ".npmrc", "rc", "v1", "other"],
];

function namesBelow(t: Tree, name: string): string[] {
  return EXCHANGED.filter((other) => other === name || other.startsWith(`${name}/`)).filter(
    (other) => other === name || existsSync(join(t.inside, other)),
  );
}

/** Puts a link in its place, and says how everything becomes as it was. */
function exchange(path: string, target: string): () => void {
  const made = mkdirSync(dirname(path), { recursive: true });
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  if (isThere) renameSync(path, `${path}-kept`);
  symlinkSync(target, path);
  return () => {
    rmSync(path);
    if (isThere) renameSync(`${path}-kept`, path);
    if (made !== undefined) rmSync(made, { recursive: true });
  };
}

it("cannot be exchanged anywhere, whatever links they go by, and whether they lead to something or not", async () => {
  let tried = 0;
  for (const [what, shape] of shapes()) {
    const t = tree();
    vi.stubEnv("HOME", join(t.base, "home"));
    onTestFinished(() => void vi.unstubAllEnvs());
    mkdirSync(join(t.base, "home"));
    make(t, shape);
    const policy = await filePolicy(t);
    const rules = await FileRules.of(policy, ownFiles(policy, []));
    const start = Object.keys(shape.links)[0] as string;
    const read = join(t.base, start.startsWith("~/") ? `home/${start.slice(2)}` : `inside/${start}`);
    for (const name of EXCHANGED) {
      const path = join(t.inside, name);
      const may = (each: string): boolean =>
        rules.judge(join(t.inside, each), "write") === undefined && rules.onTheWay(join(t.inside, each)) === undefined;
      // A folder is exchanged with all that lies in it.
      if (!namesBelow(t, name).every(may)) continue;
      for (const evil of ["evil", "evil/rc"]) {
        tried += 1;
        const undo = exchange(path, join(t.inside, evil));
        const text = existsSync(read) ? readFileSync(read, "utf8") : "";
        expect(`${what}, ${name} exchanged: ${text}`).not.toContain(EVIL);
        undo();
      }
    }
  }
  expect(tried).toBeGreaterThan(100);
}, 60_000);

it("keep a name whose target is not there, and no tool removes a link on the way", async () => {
  const t = tree();
  make(t, {
    links: { ".zshrc": "conf/notyet", ".bashrc": "dot/cur/rc", "dot/cur": "../store/v1" },
    files: ["store/v1/rc"],
  });
  mkdirSync(join(t.inside, "conf"));
  const files = await filesIn(t);
  const bytes = new TextEncoder().encode(EVIL);
  for (const name of ["conf/notyet", "store/v1/rc", "dot/cur"])
    await expect(files.write(join(t.inside, name), bytes)).rejects.toMatchObject({ code: "denied" });
  for (const name of ["conf", "dot/cur", "store/v1"])
    await expect(files.remove(join(t.inside, name))).rejects.toMatchObject({ code: "denied" });
  await files.write(join(t.inside, "conf/other"), bytes);
  await files.write(join(t.inside, "store/v1/other"), bytes);
});

it.each([0, 1, 2])(
  "are known however many names there are, and %s folders below the top of what is allowed",
  async (depth) => {
    const t = tree();
    const project = join(t.inside, ...["one", "two"].slice(0, depth));
    mkdirSync(join(project, "conf"), { recursive: true });
    writeFileSync(join(project, "conf/settings.txt"), "secret");
    for (let count = 0; count < 2_000; count++) writeFileSync(join(project, `a${count}`), "");
    symlinkSync("conf/settings.txt", join(project, ".env"));
    const files = await filesIn(t);
    await expect(files.read(join(project, "conf/settings.txt"))).rejects.toMatchObject({ code: "denied" });
    expect(new TextDecoder().decode((await files.read(join(project, "a1"))).bytes)).toBe("");
  },
);

it("count while their link is there, whether or not anybody looks at its folder in between", async () => {
  const t = tree();
  t.put("config/shared.txt", "good");
  t.put("apps/web/a", "");
  const link = join(t.inside, "apps/web/.env");
  symlinkSync("../../config/shared.txt", link);
  const policy = await filePolicy(t);
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  const shared = join(t.inside, "config/shared.txt");
  // Its folder is looked through once, and then never again.
  expect(rules.judge(join(t.inside, "apps/web/a"), "read")).toBeUndefined();
  for (let turn = 0; turn < 3; turn++) {
    expect(rules.judge(shared, "read")?.rule, `with the link, turn ${turn}`).toContain(".env");
    rmSync(link);
    expect(rules.judge(shared, "read"), `without it, turn ${turn}`).toBeUndefined();
    symlinkSync("../../config/shared.txt", link);
  }
});

it.each(["bin", ".local/bin"])(
  "protect the folder of a person's commands, where ~/%s is a link to it",
  async (name) => {
    const t = tree();
    vi.stubEnv("HOME", join(t.base, "home"));
    onTestFinished(() => void vi.unstubAllEnvs());
    t.put("scripts/mine", "good");
    t.put("other/file", "good");
    const link = join(t.base, "home", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(t.inside, "scripts"), link);
    const files = await filesIn(t);
    const bytes = new TextEncoder().encode(EVIL);
    for (const each of ["scripts/ls", "scripts/mine"])
      await expect(files.write(join(t.inside, each), bytes)).rejects.toMatchObject({ code: "denied" });
    expect(new TextDecoder().decode((await files.read(join(t.inside, "scripts/mine"))).bytes)).toBe("good");
    await files.write(join(t.inside, "other/file"), bytes);
  },
);

it("keep what lies behind them free of links where protected names go on", async () => {
  const t = tree();
  for (const name of ["kept/plain", "other"]) mkdirSync(join(t.inside, name), { recursive: true });
  symlinkSync("kept", join(t.inside, ".config"));
  const policy = await filePolicy(t);
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  // As each look-up does before: from then on the link is known.
  rules.judge(join(t.inside, "kept/x"), "read");
  const begins = (name: string): boolean => rules.begins(join(t.inside, name), "bring");
  expect(["kept/Code", "kept/plain", "other/Code"].map(begins)).toEqual([true, false, false]);
});
