// A folder to work in, one beside it that holds what must never come out, and a file system under a policy of the test's own.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { FileSystem, type FileSystemOptions } from "../../src/capabilities/files/file-system.js";
import type { Files } from "../../src/capabilities/files/files.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";

export const SECRET = "the-secret-outside";

export interface Tree {
  readonly base: string;
  /** What the policy allows. */
  readonly inside: string;
  readonly outside: string;
  /** Writes a file below `inside`, folders included, and returns its path. */
  put(name: string, content?: string | Uint8Array): string;
  /** Whether what lies outside is as it was. */
  isUntouched(): boolean;
}

/** Removed when the test ends. */
export function tree(): Tree {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "files-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  return treeIn(base);
}

export function treeIn(base: string): Tree {
  const [inside, outside] = [join(base, "inside"), join(base, "outside")];
  for (const folder of [inside, outside, `${inside}-twin`]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "secret.txt"), folder === inside ? "nothing secret" : SECRET);
  }
  return {
    base,
    inside,
    outside,
    put(name, content = "content") {
      const path = join(inside, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    isUntouched: () => [outside, `${inside}-twin`].every((folder) => read(join(folder, "secret.txt")) === SECRET),
  };
}

/** Allows everything in `inside` but what the denials name; `body` is more of the section `filesystem`. */
export function filePolicy({ inside }: Tree, body = ""): Promise<Policy> {
  const text = `version: "1.0"\nfilesystem:\n  allowed_paths: ["${inside}/**"]\n${body}`;
  return parsePolicy(text, { file: "/nowhere/policy.yaml" });
}

export async function filesIn(
  of: Tree,
  { body, roots, ...options }: FileSystemOptions & { body?: string; roots?: readonly string[] } = {},
): Promise<Files> {
  const policy = await filePolicy(of, body);
  const system = new FileSystem(() => policy, options);
  onTestFinished(() => system.close());
  return system.files(roots === undefined ? undefined : async () => roots);
}

export function textOf({ bytes }: { readonly bytes: Uint8Array }): string {
  return new TextDecoder().decode(bytes);
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}
