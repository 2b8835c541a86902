// A folder to work in, one beside it that holds what must never come out, and a file system under a policy of the test's own.
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { FileSystem, type FileSystemOptions } from "../../src/capabilities/files/file-system.js";
import type { Reader } from "../../src/capabilities/files/file-rules.js";
import type { Files } from "../../src/capabilities/files/files.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { type AttackedFolder, attackedFolder, SECRET } from "./attacked-folder.js";

export interface Tree extends AttackedFolder {
  /** Whether what lies outside is as it was. */
  isUntouched(): boolean;
}

/** Removed when the test ends. */
export function tree(): Tree {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "files-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const folder = attackedFolder(base);
  const secrets = [folder.outside, `${folder.inside}-twin`].map((beside) => join(beside, "secret.txt"));
  return { ...folder, isUntouched: () => secrets.every((secret) => readFileSync(secret, "utf8") === SECRET) };
}

const policies = new Map<string, Promise<Policy>>();

/** Allows everything in `inside` but what the denials name; `body` is more of the section `filesystem`. */
export function filePolicy({ inside }: Tree, body = ""): Promise<Policy> {
  const text = `version: "1.0"\nfilesystem:\n  allowed_paths: ["${inside}/**"]\n${body}`;
  let policy = policies.get(text);
  if (policy === undefined) {
    policy = parsePolicy(text, { file: "/nowhere/policy.yaml" });
    policies.set(text, policy);
    onTestFinished(() => void policies.delete(text));
  }
  return policy;
}

interface Wanted extends FileSystemOptions {
  readonly body?: string;
  readonly roots?: readonly string[];
  readonly reader?: Reader;
}

export async function filesIn(of: Tree, { body, roots, reader, ...options }: Wanted = {}): Promise<Files> {
  const policy = await filePolicy(of, body);
  const system = new FileSystem(() => policy, options);
  onTestFinished(() => system.close());
  return system.files(roots === undefined ? undefined : async () => roots, reader);
}

export function textOf({ bytes }: { readonly bytes: Uint8Array }): string {
  return new TextDecoder().decode(bytes);
}
