// Files and folders exchanged for links and other names of what lies outside, between every step of an operation.
//
// `npm run bench -- races` does the same with processes of their own and a million operations.
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { portableLookup, procLookup } from "../../src/capabilities/files/lookup.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { SECRET } from "./attacked-folder.js";
import { filesIn, textOf, tree, type Tree } from "./tree.js";

const LOOKUPS = process.platform === "linux" ? { procLookup, portableLookup } : { portableLookup };
const OPERATIONS = repeated(200, 800);

/** Each is one step of an exchange; a step that cannot be made now is left out. */
function exchanges({ inside, outside }: Tree): (() => void)[] {
  const [dir, file, hard, moved] = ["dir", "file.txt", "hard.txt", "moved"].map((name) => join(inside, name)) as [
    string,
    string,
    string,
    string,
  ];
  return [
    () => renameSync(dir, `${dir}.kept`),
    () => symlinkSync(outside, dir),
    () => symlinkSync(join(outside, "secret.txt"), `${file}.new`),
    () => renameSync(`${file}.new`, file),
    () => linkSync(join(outside, "secret.txt"), hard),
    () => renameSync(hard, `${hard}.old`),
    () => renameSync(moved, join(outside, "taken")),
    () => symlinkSync(outside, moved),
    () => unlinkSync(dir),
    () => renameSync(`${dir}.kept`, dir),
    () => writeFileSync(`${file}.new`, "mine"),
    () => renameSync(`${file}.new`, file),
    () => unlinkSync(`${hard}.old`),
    () => writeFileSync(hard, "mine", { flag: "wx" }),
    () => unlinkSync(hard),
    () => unlinkSync(moved),
    () => renameSync(join(outside, "taken"), moved),
  ];
}

it.each(Object.entries(LOOKUPS))("let nothing in or out with %s", async (_name, lookup) => {
  const t = tree();
  for (const folder of ["dir", "moved"]) mkdirSync(join(t.inside, folder));
  for (const name of ["dir/secret.txt", "moved/secret.txt", "file.txt"]) t.put(name, "mine");
  const files = await filesIn(t, { lookup });
  const steps = exchanges(t);
  const over = new AbortController();
  const attack = async (): Promise<void> => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      try {
        steps[turn % steps.length]?.();
      } catch {
        // Another step has to come first.
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const attacking = attack();
  const paths = ["dir/secret.txt", "moved/secret.txt", "file.txt", "hard.txt"].map((name) => join(t.inside, name));
  let done = 0;
  const operate = async (lane: number): Promise<void> => {
    for (let turn = lane; turn < OPERATIONS; turn += 4) {
      const path = paths[turn % paths.length] as string;
      const read = await files.read(path).then(textOf, () => "");
      expect(read).not.toContain(SECRET);
      if (read !== "") done += 1;
      if (turn % 16 === lane) await files.write(path, new TextEncoder().encode("mine")).catch(() => undefined);
      if (turn % 32 === lane) await files.remove(path).catch(() => undefined);
    }
  };
  await Promise.all([0, 1, 2, 3].map(operate));
  over.abort();
  await attacking;
  expect(done).toBeGreaterThan(OPERATIONS / 20);
  rmSync(join(t.outside, "taken"), { recursive: true, force: true });
  expect(t.isUntouched()).toBe(true);
});
