// Names that are no UTF-8 say something else when they are decoded: nothing is judged by what they then look like.
import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRun } from "../../src/capabilities/policy-run.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { treeDigest } from "../../src/server/pinned-package.js";
import { hasWall } from "./walls.js";

const ground = mkdtempSync(join(homedir(), ".test-names-"));
const folder = join(ground, "data");
beforeEach(() => mkdirSync(folder));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(() => rmSync(ground, { recursive: true, force: true }));

/** Bytes that are no UTF-8, each kind of them: alone, cut short, too long a form, a surrogate, beyond the last character. */
const BYTES = ["\\xe4", "\\x80", "\\xe2\\x82", "\\xc0\\xae", "\\xed\\xa0\\x80", "\\xf4\\x90\\x80\\x80"];
const SECRET = "SECRET";

/** A path in the folder: `\\xe4` stands for a byte. */
function bytesOf(path: string): Buffer {
  const bytes = path.replace(/\\x(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(bytes, "latin1")]);
}

/** What Node decodes it to. */
function twinOf(path: string): string {
  return bytesOf(path).toString("utf8");
}

async function bash(script: string, denied = ""): Promise<string> {
  const policy = await parsePolicy(
    `version: "1.0"
filesystem: { allowed_paths: ["${folder}/**"] ${denied} }
commands:
  allowed:
    - name: bash
      executable: /bin/bash
      arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }]
      working_directory: ${folder}
`,
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const { stdout, stderr } = await createRun(() => policy, [])("bash", ["-c", script]);
  return stdout + stderr;
}

describe.skipIf(!hasWall())("a name that is no UTF-8", () => {
  test.each(BYTES)("is not moved past a rule by a twin that it is decoded to (%s)", async (name) => {
    mkdirSync(bytesOf(`archive/2001/G${name}h`), { recursive: true });
    writeFileSync(bytesOf(`archive/2001/G${name}h/private.txt`), SECRET);
    mkdirSync(twinOf(`archive/2001/G${name}h`), { recursive: true });
    const said = await bash(
      `cat archive/2001/*/private.txt; mv archive/2001 other; cat other/*/private.txt
       n=$(printf 'G${name}h'); mkdir -p x/"$n" "x/${twinOf(`G${name}h`).slice(folder.length + 1)}"; echo evil > x/"$n"/run.js; mv -T x dist`,
      `, denied_paths: ["${folder}/archive/2001/*/private.txt"], denied_write_paths: ["${folder}/dist/*/run.js"]`,
    );
    expect(said).not.toContain(SECRET);
    expect(existsSync(bytesOf(`dist/G${name}h/run.js`))).toBe(false);
  });

  test.each(BYTES)("hides no repository (%s)", async (name) => {
    for (const part of ["objects", "refs", "hooks"]) mkdirSync(bytesOf(`G${name}t.git/${part}`), { recursive: true });
    writeFileSync(bytesOf(`G${name}t.git/HEAD`), "ref: refs/heads/main");
    writeFileSync(bytesOf(`G${name}t.git/config`), SECRET);
    const said = await bash(
      `for d in *.git; do cat "$d/config"; echo evil > "$d/hooks/post-update"; echo evil >> "$d/config"; done`,
    );
    expect(said).not.toContain(SECRET);
    expect(readFileSync(bytesOf(`G${name}t.git/config`), "utf8")).toBe(SECRET);
    expect(existsSync(bytesOf(`G${name}t.git/hooks/post-update`))).toBe(false);
  });

  test.each(BYTES)("is neither read, made, removed nor linked (%s)", async (name) => {
    writeFileSync(bytesOf(`a${name}`), SECRET);
    const said = await bash(
      `n=$(printf 'a${name}'); cat "$n"; rm -f "$n"; ln "$n" b; mkdir "c$n"; : > "d$n"; ln -s /tmp "e$n"; mv "$n" f; echo kept`,
    );
    expect(said).toContain("kept");
    expect(said).not.toContain(SECRET);
    expect(readFileSync(bytesOf(`a${name}`), "utf8")).toBe(SECRET);
    for (const made of [`ca${name}`, `da${name}`, `ea${name}`, "b", "f"]) expect(existsSync(bytesOf(made))).toBe(false);
  });
});

test("a name that is text is worked with, whatever its characters", async () => {
  if (!hasWall()) return;
  const names = ["Gehälter", "\ufffd", "給料", "\ufeffx", "a b", "𝒳"];
  for (const name of names) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "f"), name);
  }
  const said = await bash('for d in *; do cat "$d/f"; mv "$d" moved; mv moved "$d"; done');
  for (const name of names) expect(said).toContain(name);
  expect(said).not.toContain("denied");
});

test.each(BYTES)("a package is not kept whose file hides behind another of the name it is decoded to (%s)", (name) => {
  writeFileSync(bytesOf(`a${name}.js`), "one");
  writeFileSync(twinOf(`a${name}.js`), "two");
  expect(() => treeDigest(folder)).toThrow("no UTF-8");
});

test("a package's digest tells where links lead by their bytes", () => {
  const digests = BYTES.map((name) => {
    const link = join(folder, "link");
    rmSync(link, { force: true });
    symlinkSync(bytesOf(name), link);
    return treeDigest(folder);
  });
  expect(new Set(digests).size).toBe(BYTES.length);
});
