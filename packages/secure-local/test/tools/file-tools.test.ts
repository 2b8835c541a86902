// The file tools: what they answer, in words and as data, and how they fail.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileJsonSchema } from "../../../mcp/src/schema/json-schema/compile.js";
import { describe, expect, it } from "vitest";
import { editFile, writeFile } from "../../src/tools/files/change-files.js";
import { listDirectory, searchFiles, searchText } from "../../src/tools/files/find-files.js";
import { readFile } from "../../src/tools/read-file/read-file.js";
import type { BuiltinTool, ToolData, ToolFailure, ToolPowers } from "../../src/tools/tool.js";
import { filesIn, tree, type Tree } from "../files/tree.js";
import { powers } from "./powers.js";

interface Told extends Partial<ToolFailure>, Partial<Pick<ToolData, "text" | "blocks">> {
  readonly data: Record<string, unknown>;
}

/** Runs a tool in a tree; what it answers fits its own output schema. */
async function runner(t: Tree, given: Partial<ToolPowers> = {}) {
  const files = await filesIn(t);
  return async <Args>(tool: BuiltinTool<Args>, args: Args): Promise<Told> => {
    const answer = await tool.run(args, powers({ files, ...given }));
    if (typeof answer === "string") throw new Error("these tools answer with data");
    if ("failed" in answer) return { ...answer, data: {} };
    const checked = compileJsonSchema(tool.output ?? true).validate(answer.structured);
    expect(checked).toMatchObject({ ok: true });
    return { ...answer, data: answer.structured };
  };
}

describe("read_file", () => {
  it("reads text by lines and says how to go on", async () => {
    const t = tree();
    const run = await runner(t);
    const path = t.put("lines.txt", "one\ntwo\nthree\nfour");
    expect(await run(readFile, { path })).toMatchObject({
      text: "one\ntwo\nthree\nfour",
      data: { totalLines: 4, truncated: false },
    });
    const some = await run(readFile, { path, offset: 2, limit: 2 });
    expect(some.data).toMatchObject({
      text: "two\nthree\n",
      startLine: 2,
      endLine: 3,
      truncated: true,
      encoding: "utf-8",
    });
    expect(some.text).toBe("two\nthree\n[lines 2 to 3 of 4; continue with offset 4]");
    expect((await run(readFile, { path, offset: 9 })).failed).toContain("has 4 lines");
    expect((await run(readFile, { path: t.put("empty.txt", "") })).data).toMatchObject({ text: "", totalLines: 0 });
    const long = await run(readFile, { path: t.put("long.txt", "x".repeat(300_000)) });
    expect(long.data).toMatchObject({ truncated: true });
    expect(long.text).toContain("was cut");
  });

  it("knows encodings, images and what is neither", async () => {
    const t = tree();
    const run = await runner(t);
    const utf16 = new Uint8Array([0xff, 0xfe, 0x68, 0, 0xe9, 0]);
    expect((await run(readFile, { path: t.put("utf16.txt", utf16) })).data).toMatchObject({
      text: "hé",
      encoding: "utf-16le",
    });
    expect((await run(readFile, { path: t.put("bom.txt", "\ufeffx") })).text).toBe("x");
    const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]);
    const image = await run(readFile, { path: t.put("a.png", png) });
    expect(image.data).toMatchObject({ mimeType: "image/png", size: 9 });
    expect(image.blocks).toHaveLength(1);
    for (const bytes of [new Uint8Array([1, 0, 2]), new Uint8Array([0xff, 0xff, 0x41])]) {
      expect((await run(readFile, { path: t.put("data.bin", bytes) })).failed).toContain("neither text nor an image");
    }
  });

  it("names the rule of a refusal", async () => {
    const t = tree();
    const run = await runner(t);
    const denied = await run(readFile, { path: t.put(".env", "KEY=1") });
    expect(denied).toMatchObject({ rule: "built-in protection of .env*: environment files hold secrets" });
    expect(denied.failed).toMatch(/^Denied\. /);
    const missing = await run(readFile, { path: join(t.inside, "none") });
    expect(missing).toMatchObject({ failed: expect.stringContaining("does not exist") });
    expect(missing.rule).toBeUndefined();
  });
});

describe("write_file and edit_file", () => {
  it("writes text and bytes, and refuses what is neither", async () => {
    const t = tree();
    const run = await runner(t);
    const path = join(t.inside, "a/b.txt");
    expect((await run(writeFile, { path, content: "x" })).failed).toContain("does not exist");
    const made = await run(writeFile, { path, content: "héllo", create_folders: true });
    expect([made.text, made.data["created"]]).toEqual([`Created ${path} (6 bytes).`, true]);
    expect((await run(writeFile, { path, content: "AP8=", encoding: "base64" })).data).toMatchObject({
      size: 2,
      created: false,
    });
    expect([...readFileSync(path)]).toEqual([0, 255]);
    expect((await run(writeFile, { path, content: "A", encoding: "base64" })).failed).toContain("base64");
    expect((await run(writeFile, { path, content: "\ud800" })).failed).toContain("Unicode");
    expect((await run(writeFile, { path, content: "", mode: "create" })).failed).toContain("exists already");
  });

  it("replaces exact pieces and shows what changed; a dry run changes nothing", async () => {
    const t = tree();
    const run = await runner(t);
    const path = t.put("code.ts", "const a = 1;\nconst b = 2;\nconst c = 3;\n");
    const edits = [{ old_text: "const b = 2;", new_text: "const b = 20;" }];
    const dry = await run(editFile, { path, edits, dry_run: true });
    expect(dry.data).toMatchObject({ written: false, replacements: 1, firstChangedLine: 2 });
    expect(dry.text).toContain("-const b = 2;\n+const b = 20;");
    expect(readFileSync(path, "utf8")).toContain("b = 2;");
    expect((await run(editFile, { path, edits })).data).toMatchObject({ written: true });
    expect(readFileSync(path, "utf8")).toBe("const a = 1;\nconst b = 20;\nconst c = 3;\n");
    expect((await run(editFile, { path, edits })).failed).toContain("is not in the file");
    const many = await run(editFile, { path, edits: [{ old_text: "const", new_text: "let" }] });
    expect(many.failed).toContain("is 3 times in the file");
    const all = await run(editFile, { path, edits: [{ old_text: "const", new_text: "let", replace_all: true }] });
    expect(all.data).toMatchObject({ replacements: 3 });
  });

  it("makes all edits or none, takes replacement signs for text and keeps line ends and encodings", async () => {
    const t = tree();
    const run = await runner(t);
    const path = t.put("win.txt", "a\r\nb\r\nc\r\n");
    const edits = [{ old_text: "a\nb", new_text: "$&\n$1" }];
    expect((await run(editFile, { path, edits: [...edits, { old_text: "none", new_text: "" }] })).failed).toContain(
      "edit 2",
    );
    expect(readFileSync(path, "utf8")).toBe("a\r\nb\r\nc\r\n");
    await run(editFile, { path, edits });
    expect(readFileSync(path, "utf8")).toBe("$&\r\n$1\r\nc\r\n");
    const marked = t.put("bom.txt", "\ufeffold");
    await run(editFile, { path: marked, edits: [{ old_text: "old", new_text: "new" }] });
    expect(readFileSync(marked, "utf8")).toBe("\ufeffnew");
    expect((await run(editFile, { path: t.put("b.bin", new Uint8Array([0])), edits })).failed).toContain("no text");
  });
});

describe("list_directory, search_files and search_text", () => {
  const filled = (): Tree => {
    const t = tree();
    const files = ["src/a.ts", "src/deep/b.tsx", "src/deep/c.md", "node_modules/x/a.ts", ".git/HEAD", "README.md"];
    for (const name of files) t.put(name, `first line\nthe needle of ${name}\n`);
    t.put("src/data.bin", new Uint8Array([0, 1, 2]));
    t.put(".env", "needle");
    return t;
  };
  const relative = (t: Tree, told: Told): string[] =>
    (told.data["matches"] as { path: string }[]).map(({ path }) => path.slice(t.inside.length + 1));

  it("lists folders, and the allowed ones when none is named", async () => {
    const t = filled();
    const run = await runner(t);
    const listed = await run(listDirectory, { path: t.inside });
    expect(listed.text).toContain("\nsrc/");
    expect(listed.text).not.toContain(".env");
    expect((await run(listDirectory, {})).text).toContain(t.inside);
    expect((await run(listDirectory, { path: t.inside, limit: 1 })).data).toMatchObject({ truncated: true });
    expect((await run(listDirectory, { path: t.outside })).rule).toBe("default deny");
  });

  it("finds files by globs, and stops where it is told", async () => {
    const t = filled();
    const run = await runner(t);
    const find = async (pattern: string, more = {}) =>
      relative(t, await run(searchFiles, { pattern, path: t.inside, ...more }));
    expect(await find("*.ts")).toEqual(["src/a.ts"]);
    expect(await find("src/**/*.{ts,tsx}")).toEqual(["src/a.ts", "src/deep/b.tsx"]);
    expect(await find("deep", { kind: "folder" })).toEqual(["src/deep"]);
    expect(await find("*", { limit: 2 })).toHaveLength(2);
    expect(await find("*.ts", { path: join(t.inside, "node_modules") })).toEqual(["node_modules/x/a.ts"]);
    expect(relative(t, await run(searchFiles, { pattern: "README*" }))).toEqual(["README.md"]);
    for (const pattern of ["[a]", "{a,{b}}", "{".repeat(20), "{a,b}".repeat(7)]) {
      expect((await run(searchFiles, { pattern })).failed).toContain("pattern");
    }
    const hard = `${"*a".repeat(500)}b`;
    expect(await find(hard)).toEqual([]);
  });

  it("finds text and regular expressions by lines", async () => {
    const t = filled();
    const run = await runner(t);
    const told = await run(searchText, { query: "needle" });
    expect(relative(t, told)).toEqual(["README.md", "src/a.ts", "src/deep/b.tsx", "src/deep/c.md"]);
    expect(told.text).toContain(`${t.inside}/src/a.ts:2: the needle of src/a.ts`);
    expect((told.data["matches"] as object[])[0]).toMatchObject({ line: 2, column: 5 });
    expect(relative(t, await run(searchText, { query: "^the n[e]{2}dle.*tsx$", regex: true }))).toEqual([
      "src/deep/b.tsx",
    ]);
    expect(
      relative(t, await run(searchText, { query: "NEEDLE", case_sensitive: false, include: "*.md" })),
    ).toHaveLength(2);
    expect(
      relative(t, await run(searchText, { query: "N.EDLE", case_sensitive: false, regex: true, limit: 1 })),
    ).toHaveLength(1);
    expect((await run(searchText, { query: "(?=x)", regex: true })).failed).toContain("regular expression");
    const one = await run(searchText, { query: "first", path: join(t.inside, "src/a.ts") });
    expect(one.data).toMatchObject({ files: 1, truncated: false });
    expect((await run(searchText, { query: "absent" })).text).toContain("Not found in");
  });

  it("is not held up by patterns and lines made for that", async () => {
    const t = tree();
    const run = await runner(t);
    writeFileSync(join(t.inside, "evil.txt"), `${"a".repeat(20_000)}!\n${"x ".repeat(600_000)}needle`);
    for (const query of ["(a+)+$", "(a|a)*b", "(a*)*c", "^(([a-z])+.)+[A-Z]([a-z])+$"]) {
      expect((await run(searchText, { query, regex: true })).data).toMatchObject({ files: 2 });
    }
    expect((await run(searchText, { query: "(a?){900}[ab]{90}[cd]", regex: true })).failed).toContain(
      "repeats too much",
    );
    const found = await run(searchText, { query: "needle" });
    expect((found.data["matches"] as { text: string }[])[0]?.text.length).toBeLessThan(420);
  });

  it("stops when the call is cancelled", async () => {
    const t = filled();
    const run = await runner(t, { signal: AbortSignal.abort(new Error("enough")) });
    await expect(run(searchText, { query: "needle" })).rejects.toThrow("enough");
    await expect(run(searchFiles, { pattern: "*" })).rejects.toThrow("enough");
  });
});
