// A folder that a policy is to allow, and two beside it that hold what must never come out.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What lies outside. */
export const SECRET = "the-secret-outside";

export interface AttackedFolder {
  readonly base: string;
  /** What the policy allows. */
  readonly inside: string;
  /** Beside it; so is another one whose name begins like that of `inside`. */
  readonly outside: string;
  /** Writes a file below `inside`, folders included, and returns its path. */
  put(name: string, content?: string | Uint8Array): string;
}

/** Makes them below `base`. */
export function attackedFolder(base: string): AttackedFolder {
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
  };
}
