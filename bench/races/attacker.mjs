// A process that exchanges what lies under a name for something outside and back, as fast as it can, until it is killed.
//
// node attacker.mjs KIND INSIDE OUTSIDE
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [kind, inside, outside] = process.argv.slice(2);
const MINE = "this lies inside";
/** Exchanges in a row, and the rest after them: four attackers that never rest leave two processors nothing to attack. */
const ROUNDS = 20;
const PAUSE_MS = 1;

/** Somebody else may have removed it meanwhile. */
function attempt(work) {
  try {
    work();
  } catch {
    // The next round begins anew.
  }
}

const ATTACKS = {
  /** A folder for a link to one outside. */
  "dir-swap"() {
    attempt(() => renameSync(join(inside, "dir"), join(inside, "dir.kept")));
    attempt(() => symlinkSync(join(outside, "dir"), join(inside, "dir")));
    attempt(() => unlinkSync(join(inside, "dir")));
    attempt(() => renameSync(join(inside, "dir.kept"), join(inside, "dir")));
    attempt(() => mkdirSync(join(inside, "dir")));
    attempt(() => writeFileSync(join(inside, "dir/file.txt"), MINE, { flag: "wx" }));
  },
  /** A file for a link to one outside. */
  "file-swap"() {
    attempt(() => symlinkSync(join(outside, "swapped.txt"), join(inside, "swapped.new")));
    attempt(() => renameSync(join(inside, "swapped.new"), join(inside, "swapped.txt")));
    attempt(() => writeFileSync(join(inside, "swapped.new"), MINE, { flag: "wx" }));
    attempt(() => renameSync(join(inside, "swapped.new"), join(inside, "swapped.txt")));
  },
  /** A file for another name of one outside, which vanishes again at once. */
  "hard-link"() {
    attempt(() => rmSync(join(inside, "hard.txt")));
    attempt(() => linkSync(join(outside, "hard.txt"), join(inside, "hard.txt")));
    attempt(() => renameSync(join(inside, "hard.txt"), join(inside, "hard.old")));
    attempt(() => unlinkSync(join(inside, "hard.old")));
    attempt(() => writeFileSync(join(inside, "hard.txt"), MINE, { flag: "wx" }));
  },
  /** A folder is taken out and brought back, and meanwhile its name leads out. */
  "folder-move"() {
    attempt(() => renameSync(join(inside, "moved"), join(outside, "taken")));
    attempt(() => symlinkSync(join(outside, "moved"), join(inside, "moved")));
    attempt(() => unlinkSync(join(inside, "moved")));
    attempt(() => renameSync(join(outside, "taken"), join(inside, "moved")));
    attempt(() => mkdirSync(join(inside, "moved/deep"), { recursive: true }));
    attempt(() => writeFileSync(join(inside, "moved/deep/file.txt"), MINE, { flag: "wx" }));
  },
};

process.stdout.write("ready\n");
// It ends with the process that started it, whatever became of that.
process.stdin.on("end", () => process.exit()).resume();
function round() {
  for (let turn = 0; turn < ROUNDS; turn += 1) ATTACKS[kind]();
  setTimeout(round, PAUSE_MS);
}
round();
