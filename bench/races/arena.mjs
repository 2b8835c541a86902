// The folder that is attacked, the one beside it that nothing may touch, and what tells the two apart.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const SECRET = "SECRET: this lies outside";
const MINE = "this lies inside";
/** Stands only in folders outside. */
const CANARY = "canary-of-outside.txt";

/** Every path is attacked by one of the attackers; the last one lies still. */
export const TARGETS = ["dir/file.txt", "swapped.txt", "hard.txt", "moved/deep/file.txt", "calm/file.txt"];

/** @param folder Where to make it: in memory nothing waits for a disk. */
export function arena(folder = tmpdir()) {
  const base = realpathSync(mkdtempSync(join(folder, "races-")));
  const [inside, outside] = [join(base, "inside"), join(base, "outside")];
  for (const path of TARGETS) {
    put(join(inside, path), MINE);
    put(join(outside, path), SECRET);
    put(join(outside, path, "..", CANARY), SECRET);
  }
  return { base, inside, outside, remove: () => rmSync(base, { recursive: true, force: true }) };
}

/** Whether what was read is not ours. */
export function isEscape(text) {
  return text.includes("SECRET");
}

export function isForeignName(name) {
  return name === CANARY;
}

/** What was changed, added or removed outside. */
export function damage({ outside }) {
  const wanted = new Set(TARGETS.flatMap((path) => [path, join(path, "..", CANARY)]));
  const faults = [];
  for (const entry of readdirSync(outside, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name).slice(outside.length + 1);
    // Where the attacker puts the folder it takes out of the other one.
    if (path.startsWith("taken/")) continue;
    if (!wanted.delete(path)) faults.push(`added ${path}`);
    else if (readFileSync(join(outside, path), "utf8") !== SECRET) faults.push(`changed ${path}`);
  }
  return [...faults, ...[...wanted].map((path) => `removed ${path}`)];
}

function put(path, text) {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}
