// A folder that the policy allows, one beside it that must not be touched, and a look at whether it was.
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** What lies outside; nothing that comes out may contain it. */
export const SECRET = "the-secret-outside";

export function place() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "scorecard-")));
  const [inside, outside] = [join(base, "inside"), join(base, "outside")];
  for (const folder of [inside, outside, `${inside}-twin`]) {
    mkdirSync(folder);
    writeFileSync(join(folder, "secret.txt"), folder === inside ? "nothing secret" : SECRET);
  }
  const before = outsideOf(base, inside);
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
    /** What changed outside since the beginning, or undefined. */
    damage: () => (outsideOf(base, inside) === before ? undefined : `outside changed: ${outsideOf(base, inside)}`),
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
