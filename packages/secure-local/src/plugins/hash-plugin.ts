// Computes the hash by which a policy pins the content of a plugin.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { PluginError } from "./plugin-error.js";

/** A plugin with its packages; more than this takes too long to read at every start. */
const MAX_FILES = 20_000;
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * SHA-256 in lower-case hexadecimal. Of a file: of its bytes. Of a folder: of one line a file in the order of their paths, the
 * SHA-256 of its bytes, two spaces and the path, as `sha256sum` writes them; a link counts as a file that holds its target.
 */
export function hashPlugin(path: string): string {
  if (!statSync(path).isDirectory()) return digest(readFileSync(path));
  const left = { files: MAX_FILES, bytes: MAX_BYTES };
  const lines = [...filesOf(path, "")]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, link }) => {
      const bytes = link ? Buffer.from(readlinkSync(join(path, name))) : readFileSync(join(path, name));
      left.files -= 1;
      left.bytes -= bytes.length;
      if (left.files < 0 || left.bytes < 0)
        throw new PluginError(`${path} has too many files to be hashed; pin a folder without its packages.`);
      return `${digest(bytes)}  ${name}\n`;
    });
  return digest(Buffer.from(lines.join("")));
}

function* filesOf(folder: string, prefix: string): Generator<{ readonly name: string; readonly link: boolean }> {
  for (const entry of readdirSync(join(folder, prefix), { withFileTypes: true })) {
    const name = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) yield* filesOf(folder, name);
    else if (entry.isFile() || entry.isSymbolicLink()) yield { name, link: entry.isSymbolicLink() };
  }
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
