// The program's own files by another way than their names: known by number, where a folder was mounted a second time, and for a second name.
import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { SecondViews } from "../../src/capabilities/files/folder-survey.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { tree } from "./tree.js";

describe.runIf(process.platform === "linux")("folders seen a second time", () => {
  // The kernel shows each folder under this one too, as one that is mounted there.
  const again = (path: string): string => `/proc/self/root${path}`;

  it.each(["a file", "a folder", "a file still to be made", "a folder still to be made in others"])(
    "have the names of %s, and of what lies below and beside it",
    (what) => {
      const t = tree();
      const kept = join(t.base, "Kept");
      mkdirSync(kept);
      if (what === "a file") writeFileSync(join(kept, "own"), "");
      if (what === "a folder") mkdirSync(join(kept, "own"));
      const own = join(kept, what.endsWith("others") ? "more/deep/own" : "own");
      const views = new SecondViews([own]);
      for (const name of [own, `${own}/below/it`, `${own}.lock`, join(kept, "beside"), kept])
        expect([name, ...views.namesOf(again(name))]).toContain(name);
      for (const name of [own, `${own}/below/it`, t.inside]) expect(views.namesOf(name)).toEqual([]);
      expect(views.namesOf(again(join(t.inside, "x")))).toEqual([join(t.inside, "x")]);
    },
  );
});

it("a second name of a file of the program's own is refused like the first", async () => {
  const t = tree();
  const policyFile = join(t.base, "Policy.yaml");
  const secret = join(t.base, "Token");
  for (const file of [policyFile, secret]) writeFileSync(file, "x");
  for (const file of [policyFile, secret]) linkSync(file, join(t.inside, `second-${file.slice(-4)}`));
  t.put("third");
  const policy = await parsePolicy(
    JSON.stringify({
      version: "1.0",
      filesystem: { allowed_paths: [`${t.inside}/**`] },
      secrets: { k: { from: `file:${secret}`, hosts: ["a.example"] } },
    }),
    { file: policyFile, environment: {} },
  );
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  for (const op of ["read", "write", "delete"] as const) {
    for (const name of ["second-yaml", "second-oken"])
      expect(rules.judge(join(t.inside, name), op)?.rule).toBe("built-in protection of this program's own files");
    expect(rules.judge(join(t.inside, "third"), op)).toBeUndefined();
  }
});
