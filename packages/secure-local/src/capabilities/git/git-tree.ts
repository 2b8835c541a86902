// Reads trees, commits and tags: what stands in them, and nothing that could lead out of the repository.
import { damaged } from "./git-error.js";

/** `link` is a symbolic link, whose content is where it leads; a `submodule` is a commit of another repository. */
export type TreeEntryKind = "file" | "folder" | "link" | "submodule";

export interface TreeEntry {
  readonly name: Uint8Array;
  readonly kind: TreeEntryKind;
  readonly id: string;
}

const SPACE = 0x20;
const MODES: Readonly<Record<string, TreeEntryKind>> = {
  "40000": "folder",
  "040000": "folder",
  "120000": "link",
  "160000": "submodule",
};

/** Names are bytes; ones with slashes, and `.` and `..`, are left out. `digits` is the length of an object's name. */
export function* treeEntries(bytes: Uint8Array, digits: number): Generator<TreeEntry> {
  const width = digits / 2;
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(SPACE, at);
    const end = bytes.indexOf(0, space + 1);
    const after = end + 1 + width;
    if (space < 0 || space - at > 6 || end < 0 || after > bytes.length) throw damaged("a folder has a broken entry");
    const mode = new TextDecoder("latin1").decode(bytes.subarray(at, space));
    const name = bytes.subarray(space + 1, end);
    const id = Buffer.from(bytes.subarray(end + 1, after)).toString("hex");
    at = after;
    if (isPlainName(name)) yield { name, kind: MODES[mode] ?? "file", id };
  }
}

function isPlainName(name: Uint8Array): boolean {
  const dots = name.length <= 2 && name.every((byte) => byte === 0x2e);
  return name.length > 0 && !dots && !name.includes(0x2f);
}

/** The tree a commit has. */
export function treeOfCommit(bytes: Uint8Array): string {
  return headerLine(bytes, /^tree ([0-9a-f]{40}|[0-9a-f]{64})$/);
}

/** What a tag that is an object of its own stands for. */
export function targetOfTag(bytes: Uint8Array): string {
  return headerLine(bytes, /^object ([0-9a-f]{40}|[0-9a-f]{64})$/);
}

function headerLine(bytes: Uint8Array, form: RegExp): string {
  const line = new TextDecoder("latin1").decode(bytes.subarray(0, Math.max(bytes.indexOf(0x0a), 0)));
  const id = form.exec(line)?.[1];
  if (id === undefined) throw damaged("a commit or tag has no proper beginning");
  return id;
}
