// A folder that the policy allows, one beside it that must not be touched, and a look at whether it was.
import { lstatSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parts } from "./loaded-parts.mjs";

/** What lies outside; nothing that comes out may contain it. */
export const { SECRET } = parts;

export function place() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "scorecard-")));
  const folder = parts.attackedFolder(base);
  const before = outsideOf(base, folder.inside);
  const now = () => outsideOf(base, folder.inside);
  return {
    ...folder,
    /** What changed outside since the beginning, or undefined. */
    damage: () => (now() === before ? undefined : `outside changed: ${now()}`),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

/** Every name below `base` but not `inside`, with kinds and contents. */
function outsideOf(base, inside) {
  const seen = [];
  const look = (folder) => {
    for (const name of readdirSync(folder).sort()) {
      const path = join(folder, name);
      const status = lstatSync(path);
      seen.push([path, status.mode, status.nlink, status.isFile() ? readFileSync(path, "utf8") : ""]);
      if (status.isDirectory() && path !== inside) look(path);
    }
  };
  look(base);
  return JSON.stringify(seen.filter(([path]) => path !== inside));
}
