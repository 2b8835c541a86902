// Reading git repositories: every form of object, names of refs, and repositories made to lead out or to cost too much.
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileError } from "../../src/capabilities/files/files.js";
import { GitError } from "../../src/capabilities/git/git-folder.js";
import { GitRepository } from "../../src/capabilities/git/git-repository.js";
import { repeated, sampled } from "../../../mcp/test/support/soak.js";
import { SECRET } from "../files/attacked-folder.js";
import { filesIn, tree, type Tree } from "../files/tree.js";
import { delta, MadeRepository, type PackEntry, treeBytes, whole } from "./made-repository.js";

/** A long run compares every path of a longer history. */
const ROUNDS = repeated(5, 12);
const LIMITS = { maxBytes: 1_000, maxEntries: 10 };

interface Asked {
  readonly ref?: string;
  readonly at?: string;
  readonly body?: string;
  readonly roots?: readonly string[];
}

async function read(t: Tree, path: string, { ref = "HEAD", at = join(t.inside, "r"), body = "", roots }: Asked = {}) {
  const files = await filesIn(t, { body, reader: "git", ...(roots === undefined ? {} : { roots }) });
  const contents = await (await GitRepository.open(files, at)).contents(ref, path, LIMITS);
  if (contents.kind === "folder")
    return contents.entries.map(({ name, kind }) => (kind === "file" ? name : `${name}:${kind}`));
  return Buffer.from(contents.bytes).toString();
}

/** The refusal, which says nothing that lies outside. */
async function refusal(reading: Promise<unknown>): Promise<GitError | FileError> {
  const error = await reading.then(
    (value) => expect.fail(`read ${JSON.stringify(value)}`),
    (problem: unknown) => problem,
  );
  expect(error).toSatisfy((problem) => problem instanceof GitError || problem instanceof FileError);
  expect(String(error)).not.toContain(SECRET);
  return error as GitError;
}

function repository(t: Tree, options?: ConstructorParameters<typeof MadeRepository>[1]): MadeRepository {
  return new MadeRepository(join(t.inside, "r"), options);
}

describe("what a commit holds", () => {
  it.each(["sha1", "sha256"] as const)("is read from loose objects named by %s", async (hash) => {
    const t = tree();
    const made = repository(t, { hash });
    const first = made.main({ "a.txt": "one" });
    made.main({ "a.txt": "two", "src/b.txt": "b", "link:l": "a.txt", "submodule:s": "" });
    expect(await read(t, "a.txt")).toBe("two");
    expect(await read(t, "a.txt", { ref: first })).toBe("one");
    expect(await read(t, "src/b.txt", { ref: "main" })).toBe("b");
    expect(await read(t, "", { ref: "refs/heads/main" })).toEqual(["a.txt", "l:link", "s:submodule", "src:folder"]);
    expect(await read(t, "src")).toEqual(["b.txt"]);
    expect(await read(t, "l")).toBe("a.txt");
    expect(await refusal(read(t, "s"))).toMatchObject({ code: "unsupported" });
    for (const absent of ["b.txt", "a.txt/b", "src/none", "l/x"]) {
      expect(await refusal(read(t, absent))).toMatchObject({ code: "not-found" });
    }
  });

  it.each([false, true])("is read from packs and through chains of deltas (by offset: %s)", async (byOffset) => {
    const t = tree();
    const made = repository(t);
    const texts = ["the first line\n", "the first line\nand more", "the first line\nand more, and more"];
    const ids = texts.map((text) => made.idOf("blob", text));
    const entries = treeBytes(ids.map((id, index) => ["100644", `${index}.txt`, id]));
    const top = made.idOf("tree", entries);
    const words = `tree ${top}\n\nwords`;
    const commit = made.idOf("commit", words);
    const step = (index: number, steps: Parameters<typeof delta>[1]): PackEntry => {
      const content = delta([texts[index - 1]?.length ?? 0, texts[index]?.length ?? 0], steps);
      return { id: ids[index] ?? "", number: 0, size: content.length, content, base: ids[index - 1] ?? "" };
    };
    const deltas = [step(1, [[0, 15], "and more"]), step(2, [[0, 15], [15, 8], ", ", [15, 8]])];
    const objects = [
      whole(commit, "commit", words),
      whole(top, "tree", entries),
      whole(ids[0] ?? "", "blob", texts[0] ?? ""),
    ];
    made.pack([...objects, ...deltas], { byOffset });
    made.put(
      "packed-refs",
      `# pack-refs with: peeled\n${commit} refs/heads/main\n${commit} refs/tags/v1\n^${commit}\n`,
    );
    for (const [index, text] of texts.entries()) expect(await read(t, `${index}.txt`, { ref: "v1" })).toBe(text);
    const files = await filesIn(t, { reader: "git" });
    expect(await (await GitRepository.open(files, join(t.inside, "r"))).refs()).toEqual(["HEAD", "main", "v1"]);
  });

  it("is found by tags that are objects, and in a bare repository", async () => {
    const t = tree();
    const made = repository(t, { bare: true });
    const commit = made.main({ "a.txt": "one" });
    const tag = made.object("tag", `object ${commit}\ntype commit\ntag v1\n\nwords`);
    made.put("refs/tags/v1", made.object("tag", `object ${tag}\ntype tag\ntag v1\n\nwords`));
    expect(await read(t, "a.txt", { ref: "v1" })).toBe("one");
  });

  it("is the same as git says", async (context) => {
    const t = tree();
    const folder = join(t.inside, "r");
    const git = (...args: string[]): string =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", "-C", folder, ...args], {
        encoding: "utf8",
        env: { PATH: process.env["PATH"], HOME: t.base, GIT_CONFIG_NOSYSTEM: "1" },
        stdio: ["ignore", "pipe", "ignore"],
      });
    mkdirSync(folder);
    try {
      git("init", "-q", "-b", "main");
    } catch (error) {
      if (process.env["CI"] !== undefined) throw error;
      context.skip("there is no git here to compare with");
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      const lines = Array.from({ length: 200 }, (_, line) => `line ${line} ${line % 12 <= round ? round : ""}`);
      t.put("r/src/deep/a.txt", lines.join("\n").slice(0, 990));
      t.put(`r/ä ${round}.txt`, `${round}`);
      git("add", "-A");
      git("commit", "-q", "-m", `round ${round}`);
    }
    git("tag", "-a", "-m", "words", "v1", "HEAD~3");
    git("gc", "-q", "--aggressive");
    t.put("r/late.txt", "late");
    git("add", "-A");
    git("commit", "-q", "-m", "late");
    for (const ref of ["HEAD", "main", "v1", git("rev-parse", "HEAD~4").trim()]) {
      const paths = git("ls-tree", "-r", "-z", "--name-only", ref).split("\0").filter(Boolean);
      for (const path of sampled(paths, 3)) {
        expect(await read(t, path, { ref })).toBe(git("show", `${ref}:${path}`));
      }
    }
  });
});

describe("the policy", () => {
  it("judges every path as the file of that name", async () => {
    const t = tree();
    const made = repository(t);
    made.main({ "a.txt": "a", ".env": SECRET, "keys/a.pem": SECRET, "keys/b.txt": "b", "private/x": SECRET });
    const body = `  denied_paths: ["**/*.pem", "${t.inside}/r/private/**"]\n`;
    expect(await read(t, "", { body })).toEqual(["a.txt", "keys:folder"]);
    expect(await read(t, "keys", { body })).toEqual(["b.txt"]);
    for (const path of [".env", "keys/a.pem", "KEYS/A.PEM", "private/x", "private", ".env/none", ".git/config"]) {
      expect(await refusal(read(t, path, { body }))).toMatchObject({ code: "denied" });
    }
    expect(await refusal(read(t, "a.txt", { body: '  denied_paths: ["**/.git/**"]\n' }))).toMatchObject({
      code: "denied",
    });
    expect(await refusal(read(t, "a.txt", { at: t.outside }))).toMatchObject({ code: "denied" });
    expect(await refusal(read(t, "a.txt", { roots: [`file://${t.inside}/other`] }))).toMatchObject({ code: "denied" });
    expect(await read(t, "a.txt", { roots: [`file://${t.inside}/r`] })).toBe("a");
  });

  it("is not led past by names of trees and blobs, or by git's own folder as the repository", async () => {
    const t = tree();
    const made = repository(t);
    made.main({ "private/x": SECRET });
    const body = `  denied_paths: ["${t.inside}/r/private/**"]\n`;
    const [folder, file] = [made.tree({ x: SECRET }), made.object("blob", SECRET)];
    for (const ref of [folder, file])
      expect(await refusal(read(t, "x", { ref, body }))).toMatchObject({ code: "bad-ref" });
    made.put("refs/heads/direct", folder);
    expect(await refusal(read(t, "x", { ref: "direct", body }))).toMatchObject({ code: "bad-ref" });
    for (const at of [`${t.inside}/r/.git`, `${t.inside}/r/.git/refs`]) {
      expect(await refusal(read(t, "private/x", { at, body }))).toMatchObject({ code: "no-repository" });
    }
  });
});

describe("a hostile repository", () => {
  it.each([
    ["its .git folder", (t: Tree, other: string) => swap(`${t.inside}/r/.git`, `${other}/.git`)],
    ["its objects", (t: Tree, other: string) => swap(`${t.inside}/r/.git/objects`, `${other}/.git/objects`)],
    ["its HEAD", (t: Tree, other: string) => swap(`${t.inside}/r/.git/HEAD`, `${other}/.git/HEAD`)],
    ["a branch", (t: Tree, other: string) => swap(`${t.inside}/r/.git/refs`, `${other}/.git/refs`)],
  ])("cannot borrow %s by a link", async (_what, link) => {
    for (const where of ["inside", "outside"] as const) {
      const t = tree();
      repository(t).main({ "a.txt": "a" });
      const other = join(t[where], "other");
      new MadeRepository(other).main({ "a.txt": SECRET });
      link(t, other);
      const error = await refusal(read(t, "a.txt"));
      expect(["denied", "unsupported", "no-repository", "not-found"]).toContain(error.code);
    }
  });

  it("cannot borrow objects by alternates, hard links or a gitdir file", async () => {
    const t = tree();
    const other = new MadeRepository(join(t.outside, "other"));
    const commit = other.main({ "a.txt": SECRET });
    const made = repository(t);
    made.put("objects/info/alternates", `${other.git}/objects\n`);
    made.put("refs/heads/main", commit);
    expect(await refusal(read(t, "a.txt"))).toMatchObject({ code: "not-found" });
    mkdirSync(join(made.git, "objects", commit.slice(0, 2)), { recursive: true });
    const object = `objects/${commit.slice(0, 2)}/${commit.slice(2)}`;
    linkSync(join(other.git, object), join(made.git, object));
    expect(await refusal(read(t, "a.txt"))).toMatchObject({ code: "hard-link" });
    t.put("elsewhere/.git", `gitdir: ${other.git}\n`);
    expect(await refusal(read(t, "a.txt", { at: `${t.inside}/elsewhere` }))).toMatchObject({ code: "unsupported" });
  });

  it("cannot make a name of a ref leave its folder", async () => {
    const t = tree();
    const made = repository(t);
    made.main({ "a.txt": "a" });
    made.put("evil", "ref: refs/../../../outside/secret.txt\n");
    writeFileSync(join(t.outside, "ref"), `${"1".repeat(40)}\n`);
    made.put("refs/heads/evil", "ref: refs/../../../../outside/ref\n");
    made.put("refs/heads/round", "ref: refs/heads/round\n");
    const names = [
      ...[
        "../HEAD",
        "refs/heads/../../HEAD",
        "refs/heads/main/../main",
        "/refs/heads/main",
        "main/",
        "a//b",
        ".git",
        "a/.b",
      ],
      ...[
        "main.lock",
        "main@{1}",
        "main~1",
        "main^",
        "main:a.txt",
        "--output=x",
        "a b",
        "a\0b",
        "\n",
        "@",
        "",
        "a\\b",
        "x".repeat(300),
      ],
    ];
    for (const ref of names) {
      if (ref !== "--output=x") expect(await refusal(read(t, "a.txt", { ref }))).toMatchObject({ code: "bad-ref" });
    }
    for (const ref of ["evil", "round", "--output=x", "none", "config", "0".repeat(39)]) {
      expect(await refusal(read(t, "a.txt", { ref }))).toMatchObject({ code: "not-found" });
    }
  });

  it("cannot make names in a tree lead anywhere", async () => {
    const t = tree();
    const made = repository(t);
    const blob = made.object("blob", "x");
    const names = ["..", ".", "../x", "a/b", "/etc/passwd", ".git", ".GIT", ".env", "ok"];
    const top = made.object("tree", treeBytes(names.map((name) => ["100644", name, blob])));
    made.put("refs/heads/main", made.commit(top));
    expect(await read(t, "")).toEqual(["ok"]);
  });

  it.each([
    ["unpacks to more than it says", (m: MadeRepository) => m.object("blob", "x".repeat(500), "blob 3\0")],
    ["has no header", (m: MadeRepository) => m.object("blob", "x", "blub")],
    ["has a header without end", (m: MadeRepository) => m.object("blob", "x", `blob ${"9".repeat(60)}`)],
    ["is another object", (m: MadeRepository) => m.objectNamed(m.idOf("blob", "right"), "blob", "wrong")],
    ["is a bomb", (m: MadeRepository) => m.object("blob", Buffer.alloc(repeated(3_000_000, 30_000_000)))],
    ["is too long", (m: MadeRepository) => m.object("blob", "x".repeat(1_001))],
  ])("is refused whose object %s", async (what, make) => {
    const t = tree();
    const made = repository(t);
    const id = make(made);
    made.put("refs/heads/main", made.commit(made.object("tree", treeBytes([["100644", "a", id]]))));
    const long = what === "is a bomb" || what === "is too long";
    expect(await refusal(read(t, "a"))).toMatchObject({ code: long ? "too-large" : "damaged" });
  });

  it.each([
    ["builds on itself", (ids: readonly string[]) => entry(ids[0], delta([5, 5], [[0, 5]]), ids[0])],
    ["builds on nothing", (ids: readonly string[]) => entry(ids[0], delta([5, 5], [[0, 5]]), "1".repeat(40))],
    ["copies what is not there", (ids: readonly string[]) => entry(ids[0], delta([5, 5], [[3, 5]]), ids[1])],
    ["makes more than it says", (ids: readonly string[]) => entry(ids[0], delta([5, 5], [[0, 5], "more"]), ids[1])],
    ["makes less than it says", (ids: readonly string[]) => entry(ids[0], delta([5, 50], [[0, 5]]), ids[1])],
    ["says it makes gigabytes", (ids: readonly string[]) => entry(ids[0], delta([5, 2 ** 33], [[0, 5]]), ids[1])],
    ["is of another base", (ids: readonly string[]) => entry(ids[0], delta([9, 5], [[0, 5]]), ids[1])],
    ["is cut off", (ids: readonly string[]) => entry(ids[0], delta([5, 5], [[0, 5]]).subarray(0, 4), ids[1])],
    [
      "says a size that is not its own",
      (ids: readonly string[]) => ({ ...entry(ids[0], delta([5, 5], [[0, 5]]), ids[1]), size: 7_000_000 }),
    ],
    [
      "says a size beyond all bounds",
      (ids: readonly string[]) => ({ ...entry(ids[0], delta([5, 5], [[0, 5]]), ids[1]), size: 2 ** 45 }),
    ],
  ])("is refused whose delta %s", async (_what, make) => {
    const t = tree();
    const made = repository(t);
    const [wanted, base] = [made.idOf("blob", "12345"), made.idOf("blob", "54321")];
    made.put("refs/heads/main", made.commit(made.object("tree", treeBytes([["100644", "a", wanted]]))));
    made.pack([whole(base, "blob", "54321"), make([wanted, base])]);
    expect(["damaged", "too-large"]).toContain((await refusal(read(t, "a"))).code);
  });

  it.each(["loose", "packed"])("gives %s files up to the length that is asked for, and no longer", async (where) => {
    const t = tree();
    const made = repository(t);
    const texts = [LIMITS.maxBytes, LIMITS.maxBytes + 1].map((length) => "x".repeat(length));
    const ids = texts.map((text) => (where === "loose" ? made.object("blob", text) : made.idOf("blob", text)));
    const entries = treeBytes(ids.map((id, index) => ["100644", `${index}`, id]));
    made.put("refs/heads/main", made.commit(made.object("tree", entries)));
    if (where === "packed") made.pack(ids.map((id, index) => whole(id, "blob", texts[index] ?? "")));
    expect(await read(t, "0")).toBe(texts[0]);
    expect(await refusal(read(t, "1"))).toMatchObject({ code: "too-large" });
  });

  it("lists as many entries as are asked for, and looks at ten times as many", async () => {
    const t = tree();
    const made = repository(t);
    const blob = made.object("blob", "x");
    const listed = async (names: readonly string[]): Promise<readonly [number, boolean]> => {
      const sorted = [...names].sort();
      made.put(
        "refs/heads/main",
        made.commit(made.object("tree", treeBytes(sorted.map((name) => ["100644", name, blob])))),
      );
      const files = await filesIn(t, { reader: "git" });
      const opened = await GitRepository.open(files, join(t.inside, "r"));
      const contents = await opened.contents("HEAD", "", LIMITS);
      return contents.kind === "folder" ? [contents.entries.length, contents.truncated] : [-1, false];
    };
    const plain = (count: number): string[] => Array.from({ length: count }, (_, at) => `a${100 + at}`);
    const denied = (count: number): string[] => Array.from({ length: count }, (_, at) => `.env.${100 + at}`);
    expect(await listed(plain(10))).toEqual([10, false]);
    expect(await listed(plain(11))).toEqual([10, true]);
    expect(await listed([...denied(99), "z"])).toEqual([1, false]);
    expect(await listed([...denied(100), "z"])).toEqual([0, true]);
  });

  it("is said to lack what no pack and no file of it has", async () => {
    const t = tree();
    const made = repository(t);
    const [wanted, other] = [made.idOf("blob", "12345"), made.idOf("blob", "54321")];
    made.put("refs/heads/main", made.commit(made.object("tree", treeBytes([["100644", "a", wanted]]))));
    made.pack([whole(other, "blob", "54321")]);
    expect(String(await refusal(read(t, "a")))).not.toContain("too short");
  });

  it("is refused that is a file, and says so", async () => {
    const t = tree();
    const at = t.put("file.txt", "x");
    expect(await refusal(read(t, "a", { at }))).toMatchObject({ code: "no-repository", message: `"${at}" is a file.` });
  });

  it("is refused whose pack or index was cut, or whose pack is gone", async () => {
    const t = tree();
    const made = repository(t);
    const id = made.idOf("blob", "12345");
    made.put("refs/heads/main", made.commit(made.object("tree", treeBytes([["100644", "a", id]]))));
    const name = `objects/pack/pack-${"a".repeat(40)}`;
    made.put(`${name}.idx`, Buffer.alloc(1_000));
    expect(await refusal(read(t, "a"))).toMatchObject({ code: "damaged" });
    made.put(`${name}.idx`, Buffer.alloc(5_000));
    expect(await refusal(read(t, "a"))).toMatchObject({ code: "unsupported" });
    made.put(`${name}.idx`, Buffer.concat([Buffer.from("ff744f6300000002", "hex"), Buffer.alloc(1_024, 0xff)]));
    expect(await refusal(read(t, "a"))).toMatchObject({ code: "damaged" });
  });

  it("is read at once where its pack has gigabytes before what is wanted", async () => {
    const t = tree();
    const made = repository(t);
    const text = "far away";
    const id = made.idOf("blob", text);
    made.put("refs/heads/main", made.commit(made.object("tree", treeBytes([["100644", "a", id]]))));
    made.pack([whole(id, "blob", text)], { gap: 6_000_000_000 });
    expect(await read(t, "a")).toBe(text);
  });

  it("is no repository where it only looks like one", async () => {
    const t = tree();
    t.put("r/HEAD", "ref: refs/heads/main");
    expect(await refusal(read(t, ""))).toMatchObject({ code: "no-repository" });
    mkdirSync(join(t.inside, "empty"));
    expect(await refusal(read(t, "", { at: `${t.inside}/empty` }))).toMatchObject({ code: "no-repository" });
    expect(await refusal(read(t, "", { at: `${t.inside}/secret.txt` }))).toMatchObject({ code: "no-repository" });
  });
});

function entry(id: string | undefined, content: Uint8Array, base: string | undefined): PackEntry {
  return { id: id ?? "", number: 0, size: content.length, content, base: base ?? "" };
}

/** Puts a link to `target` where `path` was. */
function swap(path: string, target: string): void {
  renameSync(path, `${path}-moved`);
  symlinkSync(target, path);
}
