// Protected names that are links, or lie behind links: wherever they lead by now, and however much else lies beside them.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import type { Files } from "../../src/capabilities/files/files.js";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { protectionOf } from "../../src/capabilities/files/protection-of.js";
import { filePolicy, filesIn, type Tree, tree } from "./tree.js";

const EVIL = new TextEncoder().encode("evil");
/** More than the time for which links that were found are taken to be there. */
const LATER_MS = 6_000;

afterEach(() => void vi.useRealTimers());

function link(t: Tree, name: string, target: string): void {
  mkdirSync(dirname(join(t.inside, name)), { recursive: true });
  mkdirSync(join(t.inside, target), { recursive: true });
  symlinkSync(join(t.inside, target), join(t.inside, name));
}

const write = (files: Files, t: Tree, name: string): Promise<string> =>
  files.write(join(t.inside, name), EVIL, { folders: true }).then(
    () => "written",
    (error: { code: string }) => error.code,
  );

it.each([
  [".config", "kept", "kept/Code/User/settings.json", "kept/plain.txt"],
  [".config/Code", "kept", "kept/User/settings.json", "kept/plain.txt"],
  [".config/Code/User", "kept", "kept/settings.json", "other/plain.txt"],
  [".local", "kept", "kept/share/applications/x.desktop", "kept/share/x.txt"],
  [".local/share", "kept", "kept/applications/x.desktop", "kept/x.txt"],
  [".ipython/profile_default/startup", "kept", "kept/x.py", "other/x.py"],
])("what lies behind the link %s is protected where it leads", async (name, target, denied, allowed) => {
  const t = tree();
  link(t, name, target);
  const files = await filesIn(t);
  expect([await write(files, t, denied), await write(files, t, allowed)]).toEqual(["denied", "written"]);
});

it("a link that leads elsewhere by now protects what it leads to, and no longer what it led to", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const t = tree();
  link(t, ".husky", "hooks-one");
  mkdirSync(join(t.inside, "hooks-two"));
  const files = await filesIn(t);
  const now = async (): Promise<string[]> => [
    await write(files, t, "hooks-one/pre-push"),
    await write(files, t, "hooks-two/pre-push"),
  ];
  expect(await now()).toEqual(["denied", "written"]);
  rmSync(join(t.inside, "hooks-two/pre-push"));
  rmSync(join(t.inside, ".husky"));
  link(t, ".husky", "hooks-two");
  vi.advanceTimersByTime(LATER_MS);
  expect(await now()).toEqual(["written", "denied"]);
  rmSync(join(t.inside, ".husky"));
  vi.advanceTimersByTime(LATER_MS);
  expect(await now()).toEqual(["written", "written"]);
});

it("folders that are none of them are not looked through for links, however full they are", async () => {
  const t = tree();
  const full = join(t.inside, "a-full-folder");
  mkdirSync(full);
  for (let count = 0; count < 5_100; count++) writeFileSync(join(full, `${count}`), "");
  // Deeper than the full folder, which is thus looked through before, if it is.
  link(t, ".config/Code/User", "kept");
  expect(await write(await filesIn(t), t, "kept/settings.json")).toBe("denied");
});

it("links that lead back to where they lie are followed a few levels only, and then nothing else is refused for them", async () => {
  const t = tree();
  for (const name of [".config/Code", ".config/User", ".config/share"]) link(t, name, ".config");
  expect(await write(await filesIn(t), t, "plain.txt")).toBe("written");
});

it("a name on the way is protected by the rule of what is found by it, or of what begins there", async () => {
  const t = tree();
  link(t, ".config", "kept");
  mkdirSync(join(t.inside, "dot"));
  symlinkSync("dot/cur", join(t.inside, ".husky"));
  symlinkSync("../hooks", join(t.inside, "dot/cur"));
  const policy = await filePolicy(t);
  const rules = await FileRules.of(policy, ownFiles(policy, []));
  const onTheWay = (name: string): string | undefined => rules.onTheWay(join(t.inside, name))?.rule;
  const husky = protectionOf(join(t.inside, ".husky"))?.rule;
  expect(husky).toContain("built-in protection of ");
  expect(onTheWay("dot/cur")).toBe(`${husky}, and this is on the way to it`);
  expect(onTheWay("kept")).toBe("built-in protection of where protected names begin, and this is on the way to it");
  expect(onTheWay("other")).toBeUndefined();
});

it("a denial says by which line of the policy", async () => {
  const t = tree();
  const files = await filesIn(t, {
    body: '  denied_paths: ["**/private/**"]\n  denied_write_paths: ["**/kept.txt"]\n',
  });
  for (const [name, line] of [
    ["private/a.txt", 4],
    ["kept.txt", 5],
  ] as const)
    await expect(files.write(join(t.inside, name), EVIL, { folders: true })).rejects.toMatchObject({
      code: "denied",
      rule: expect.stringContaining(`(line ${line} of the policy)`) as string,
    });
});

it.each([
  [".config/Code", "kept"],
  [".config/Code/User", "kept"],
  [".local/share", "kept"],
  [".config/Code/User/settings.json", "kept/rc"],
])("what a link leads to that lies behind another one is protected (%s)", async (name, target) => {
  const t = tree();
  const [first = "", ...rest] = name.split("/");
  t.put("kept/rc", "good");
  mkdirSync(join(t.inside, "dot", ...rest.slice(0, -1)), { recursive: true });
  symlinkSync("dot", join(t.inside, first));
  symlinkSync(join(t.inside, target), join(t.inside, "dot", ...rest));
  const more = { ".config/Code": "/User/settings.json", ".config/Code/User": "/settings.json" }[name] ?? "";
  const denied = name === ".local/share" ? "kept/applications/x.desktop" : target + more;
  const files = await filesIn(t);
  expect([await write(files, t, denied), await write(files, t, "other/plain.txt")]).toEqual(["denied", "written"]);
});
