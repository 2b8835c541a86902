// A repository of which any byte was changed: what is read is what the commit names, or a refusal, and nothing takes long.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FileError } from "../../src/capabilities/files/files.js";
import { GitError } from "../../src/capabilities/git/git-folder.js";
import { GitRepository } from "../../src/capabilities/git/git-repository.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { filesIn, tree } from "../files/tree.js";
import { delta, MadeRepository, treeBytes, whole } from "./made-repository.js";

const BASE = "a line that stays the same\n";
const TEXT = `${BASE}and one more\n`;

/** Everything in one pack, a delta among it, and the commit as a loose object. */
function sound(folder: string): MadeRepository {
  const made = new MadeRepository(folder);
  const [base, text] = [made.idOf("blob", BASE), made.idOf("blob", TEXT)];
  const entries = treeBytes([["100644", "a", text]]);
  const top = made.idOf("tree", entries);
  const content = delta([BASE.length, TEXT.length], [[0, BASE.length], "and one more\n"]);
  const changed = { id: text, number: 0, size: content.length, content, base };
  made.pack([whole(top, "tree", entries), whole(base, "blob", BASE), changed]);
  made.put("refs/heads/main", made.commit(top));
  return made;
}

it("never gives anything else", { timeout: 60_000 }, async () => {
  const t = tree();
  const folder = join(t.inside, "r");
  const { git } = sound(folder);
  const files = await filesIn(t, { reader: "git" });
  const names = readdirSync(git, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const read = async () => {
    const contents = await (
      await GitRepository.open(files, folder)
    ).contents("HEAD", "a", { maxBytes: 1_000, maxEntries: 10 });
    return contents.kind === "file" ? Buffer.from(contents.bytes).toString() : contents.kind;
  };
  expect(await read()).toBe(TEXT);
  const change = fc.record({ file: fc.constantFrom(...names), at: fc.nat(), byte: fc.nat(255), cut: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(change, async ({ file, at, byte, cut }) => {
      const before = readFileSync(file);
      const place = at % before.length;
      const after = cut ? before.subarray(0, place) : before.with(place, byte);
      writeFileSync(file, after);
      try {
        expect(await read()).toBe(TEXT);
      } catch (error) {
        if (!(error instanceof GitError) && !(error instanceof FileError)) throw error;
      } finally {
        writeFileSync(file, before);
      }
    }),
    { numRuns: repeated(60, 2_000) },
  );
});
