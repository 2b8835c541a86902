// A copy of the repository in which one piece of source text at a time is exchanged: what tells whether a test or a case
// notices that a defence is gone. The repository itself is never touched.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { root } from "./run-command.mjs";

/** What the copy holds; `node_modules` is linked, but for the workspaces, which are the copy's own. */
const FOLDERS = ["packages", "scorecard", "bench", "scripts", "docs", "deploy"];
/** Packed beside the command. */
const PAGES = ["CHANGELOG.md", "SECURITY.md"];
const WORKSPACES = new Map([
  [
    "@secure-local",
    {
      mcp: "packages/mcp",
      console: "packages/console",
      inspection: "packages/inspection",
      "mcp-tools": "packages/mcp-tools",
    },
  ],
  ["mcp-secure-local", "packages/secure-local"],
  ["scorecard", "scorecard"],
]);

/**
 * A change: `file` is a path from the root of the repository, `find` stands exactly once in it, `replace` takes its place.
 * `also`: texts of the same file that go with it, where either one would hold alone.
 * @typedef {{ file: string, find: string, replace: string, also?: { find: string, replace: string }[] }} Change
 */
export class ChangedCopy {
  #folder = mkdtempSync(join(tmpdir(), "changed-copy-"));
  #original;

  constructor() {
    /** The copy's own root, with the shared folder beside it as beside the repository. */
    this.root = join(this.#folder, "copy");
    const shared = join(root, "../shared");
    if (existsSync(shared)) symlinkSync(shared, join(this.#folder, "shared"));
    for (const folder of FOLDERS)
      cpSync(join(root, folder), join(this.root, folder), {
        recursive: true,
        verbatimSymlinks: true,
        filter: (path) => !/(^|\/)node_modules$/.test(relative(root, path)),
      });
    for (const name of PAGES) cpSync(join(root, name), join(this.root, name));
    for (const name of readdirSync(root))
      if (/^(package|tsconfig[\w.]*)\.json$/.test(name)) cpSync(join(root, name), join(this.root, name));
    this.#linkPackages();
  }

  #linkPackages() {
    const target = join(this.root, "node_modules");
    mkdirSync(target);
    for (const name of readdirSync(join(root, "node_modules"))) {
      if (name.startsWith(".") && name !== ".bin") continue;
      const own = WORKSPACES.get(name);
      if (own === undefined) symlinkSync(join(root, "node_modules", name), join(target, name));
      else if (typeof own === "string") symlinkSync(join(this.root, own), join(target, name));
      else {
        mkdirSync(join(target, name));
        for (const [part, place] of Object.entries(own)) symlinkSync(join(this.root, place), join(target, name, part));
      }
    }
  }

  /** Makes the change in the copy, in place of the one before. Throws where `find` does not stand exactly once. */
  apply({ file, find, replace, also = [] }) {
    this.restore();
    const path = join(this.root, file);
    const text = readFileSync(path, "utf8");
    let changed = text;
    for (const part of [{ find, replace }, ...also]) {
      const count = text.split(part.find).length - 1;
      if (count !== 1)
        throw new Error(`${file}: the text to replace stands there ${count} times, not once: ${part.find}`);
      changed = changed.replace(part.find, () => part.replace);
    }
    this.#original = { path, text };
    writeFileSync(path, changed);
  }

  /** Takes the last change back. */
  restore() {
    if (this.#original !== undefined) writeFileSync(this.#original.path, this.#original.text);
    this.#original = undefined;
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
