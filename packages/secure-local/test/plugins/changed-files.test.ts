// Which files of a plugin differ from the copy that was approved: what is shown of it, and that nothing is left out without a word.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ChangedFile, type ChangedFiles, changedFiles } from "../../src/plugins/changed-files.js";

const [BEFORE, NOW] = ["a".repeat(64), "b".repeat(64)];
type Files = Readonly<Record<string, string | Buffer>>;
let copies: string;

beforeEach(() => void (copies = mkdtempSync(join(tmpdir(), "changed-files-"))));
afterEach(() => rmSync(copies, { recursive: true, force: true }));

const at = (hash: string, path: string): string => join(copies, hash, "plugin", path);

function put(hash: string, files: Files): void {
  mkdirSync(at(hash, ""), { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(at(hash, path)), { recursive: true });
    writeFileSync(at(hash, path), content);
  }
}

async function between(before: Files, now: Files): Promise<ChangedFiles> {
  put(BEFORE, before);
  put(NOW, now);
  return await changedFiles(copies, BEFORE, NOW);
}

const numbered = (count: number, from = 1): string =>
  Array.from({ length: count }, (_, index) => `line ${from + index}\n`).join("");

/** As a person reads them. */
const shown = ({ lines = [] }: Pick<ChangedFile, "lines">): string[] =>
  lines.map(({ kind, text }) => `${{ same: " ", gone: "-", new: "+", about: "…" }[kind]}${text}`);

async function ofOne(before: string | Buffer, now: string | Buffer): Promise<ChangedFile & { hidden: unknown }> {
  const { told, hidden } = await between({ "main.sh": before }, { "main.sh": now });
  expect(told).toHaveLength(1);
  return { ...(told[0] as ChangedFile), hidden };
}

describe("the files of a plugin that changed", () => {
  it("are told with what went and came; what is the same is not told", async () => {
    const { told, hidden } = await between(
      { "same.txt": "same\n", "gone.txt": "old\n", "lib/main.js": "one\ntwo\nthree\n" },
      { "same.txt": "same\n", "added.txt": "more\n", "lib/main.js": "one\nTWO\nthree\n" },
    );
    expect(told.map((file) => [file.kind, file.path, shown(file)])).toEqual([
      ["added", "added.txt", ["+more"]],
      ["removed", "gone.txt", ["-old"]],
      ["changed", join("lib", "main.js"), [" one", "-two", "+TWO", " three"]],
    ]);
    expect(hidden).toEqual([]);
  });

  it("say what stands between two places of one file that are far apart", async () => {
    const text = numbered(30);
    const file = await ofOne(text, text.replace("line 5\n", "five\n").replace("line 20\n", "twenty\n"));
    const first = ["…2 lines as before", " line 3", " line 4", "-line 5", "+five", " line 6", " line 7"];
    const second = ["…10 lines as before", " line 18", " line 19", "-line 20", "+twenty", " line 21", " line 22"];
    expect(shown(file)).toEqual([...first, ...second]);
    expect(file.hidden).toEqual([]);
  });

  it("are counted where they are too many to be told", async () => {
    const files = Object.fromEntries(Array.from({ length: 137 }, (_, index) => [`f${index}.txt`, `${index}\n`]));
    const { told, hidden } = await between({}, files);
    expect(told).toHaveLength(100);
    expect(hidden).toEqual(["37 more files that changed"]);
  });

  it("count the lines that are left out of one", async () => {
    const file = await ofOne("", numbered(1_500));
    expect([file.lines?.length, file.more, file.hidden]).toEqual([400, 1_100, ["1100 lines of the differences"]]);
  });

  it("are named without their lines once enough lines stand there", async () => {
    const long = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`f${index}.txt`, numbered(390)]));
    const { told, hidden } = await between({}, long);
    expect(told.reduce((sum, { lines = [] }) => sum + lines.length, 0)).toBe(2_000);
    expect(told.at(-1)).toEqual({
      path: "f6.txt",
      kind: "added",
      unshown: "not shown by its lines, since 2000 of others stand here",
    });
    expect(hidden).toEqual(["what is in 1 file", "340 lines of the differences"]);
  });

  it("count the characters that are left out of a line", async () => {
    const file = await ofOne("", `${"x".repeat(1_003)}\n`);
    expect(file.lines).toEqual([{ kind: "new", text: "x".repeat(1_000), more: 3 }]);
    expect(file.hidden).toEqual(["the end of 1 long line"]);
  });

  it.each([
    ["bytes that are no text", Buffer.from([0xff, 0x00]), "no text"],
    ["a text that is too long", "x".repeat(256 * 1024 + 1), "too long to be shown by its lines"],
  ])("say that %s are not shown", async (_what, now, unshown) => {
    const file = await ofOne("before\n", now);
    expect(file).toMatchObject({ kind: "changed", unshown, hidden: ["what is in 1 file"] });
    expect(file.lines).toBeUndefined();
  });

  it("show what is new first where all of a long text is another", async () => {
    const file = await ofOne(`head\n${numbered(1_200)}end\n`, `head\n${numbered(300, 5_000)}end\n`);
    expect(shown(file).slice(0, 2)).toEqual(["…1 line as before", "+line 5000"]);
    expect(shown(file)[301]).toBe("-line 1");
    expect(file.more).toBe(1_101);
  });

  it("say what no line shows: a last line break, who may run it, a link in the place of its own words", async () => {
    expect(shown(await ofOne("one\n", "one"))).toEqual(["-one", "+one", "…no line break at the end"]);
    chmodSync(at(NOW, "main.sh"), 0o700);
    writeFileSync(at(NOW, "main.sh"), "one\n");
    expect((await changedFiles(copies, BEFORE, NOW)).told).toEqual([
      { path: "main.sh", kind: "changed", runs: true, lines: [] },
    ]);
    rmSync(at(NOW, "main.sh"));
    symlinkSync("other", at(NOW, "main.sh"));
    writeFileSync(at(BEFORE, "main.sh"), "a link to other");
    expect((await changedFiles(copies, BEFORE, NOW)).told).toMatchObject([{ path: "main.sh", kind: "changed" }]);
  });

  it("are said to be unknown where a copy of them is not kept any more", async () => {
    put(NOW, { "main.sh": "one\n" });
    const unknown = { told: [], hidden: [expect.stringContaining("no copy of what was approved") as string] };
    expect(await changedFiles(copies, BEFORE, NOW)).toEqual(unknown);
    expect(await changedFiles(copies, "../elsewhere", NOW)).toEqual(unknown);
  });
});
