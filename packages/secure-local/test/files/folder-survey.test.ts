// Links of protected names in folders that nobody uses: what they lead to is protected before anything beside them was looked at.
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { FolderSurvey } from "../../src/capabilities/files/folder-survey.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { filePolicy, type Tree, tree } from "./tree.js";

function link(t: Tree, name: string, target: string): void {
  mkdirSync(dirname(join(t.inside, name)), { recursive: true });
  symlinkSync(join(t.inside, target), join(t.inside, name));
}

describe("a link of a protected name beside what is used", () => {
  it.each(["x/web/.env", "a/b/c/d/e/f/g/.npmrc", "x/y/.vscode/tasks.json", "x/y/.config/Code"])(
    "is known without a look into its folder: %s",
    async (name) => {
      const t = tree();
      const shared = t.put("shared/User/settings.json");
      link(t, name, name.endsWith("Code") ? "shared" : "shared/User/settings.json");
      const policy = await filePolicy(t);
      const rules = await FileRules.of(policy, ownFiles(policy, []));
      await vi.waitFor(() => expect(rules.judge(shared, "write")?.rule).toMatch(/^built-in protection of/), 5_000);
      expect(rules.judge(join(t.inside, "shared/other"), "write")).toBeUndefined();
    },
  );

  it("is known after a while, however many folders there are around it", async () => {
    const t = tree();
    for (let count = 0; count < 700; count += 1) mkdirSync(join(t.inside, `a${count}/b`), { recursive: true });
    const shared = t.put("shared/settings");
    link(t, "z/z/z/.env", "shared/settings");
    const policy = await filePolicy(t);
    const rules = await FileRules.of(policy, ownFiles(policy, []));
    await vi.waitFor(() => expect(rules.judge(shared, "read")).toBeDefined(), { timeout: 20_000, interval: 50 });
  }, 30_000);
});

describe("the folders of what is allowed", () => {
  const survey = (looked: string[]): FolderSurvey =>
    new FolderSurvey((folder) => looked.push(folder), {
      mayCount: (name) => name.startsWith(".env"),
      isApart: (path) => path.endsWith("/apart"),
    });

  it("are looked at where a link may be, and not behind links or where nobody looks", async () => {
    const t = tree();
    t.put("plain/.env");
    t.put("apart/x/y");
    for (const name of ["a/.env", "a/b/.env.local", "apart/x/.env"]) link(t, name, "plain");
    link(t, "other", "apart");
    const looked: string[] = [];
    await survey(looked).add([t.inside]);
    await vi.waitFor(() => expect(looked.sort()).toEqual(["a", "a/b"].map((name) => join(t.inside, name))));
  });

  it("hold nobody up that are not there, and are looked at when they come", async () => {
    const t = tree();
    const looked: string[] = [];
    const one = survey(looked);
    const later = join(t.inside, "later");
    await one.add([later]);
    link(t, "later/.env", "x");
    await vi.waitFor(async () => {
      await one.add([later]);
      expect(looked).toContain(later);
    });
  });
});
