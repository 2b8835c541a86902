// Roots whose links move on, and folders exchanged and put back: each operation goes where the policy's path leads by then.
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FileSystem } from "../../src/capabilities/files/file-system.js";
import type { Files } from "../../src/capabilities/files/files.js";
import { portableLookup, procLookup } from "../../src/capabilities/files/lookup.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { textOf, tree, type Tree } from "./tree.js";

const LOOKUPS = process.platform === "linux" ? { procLookup, portableLookup } : { portableLookup };

/** Two releases, and `current` that leads to the first. */
function releases(): Tree & { readonly current: string; to(release: string): void } {
  const t = tree();
  for (const release of ["r1", "r2"]) {
    mkdirSync(join(t.outside, release, "private"), { recursive: true });
    for (const name of ["text", "private/text"]) writeFileSync(join(t.outside, release, name), release);
  }
  const current = join(t.inside, "current");
  symlinkSync(join(t.outside, "r1"), current);
  const to = (release: string): void => {
    symlinkSync(join(t.outside, release), `${current}.new`);
    renameSync(`${current}.new`, current);
  };
  return { ...t, current, to };
}

describe.each(Object.entries(LOOKUPS))("by %s", (_name, lookup) => {
  async function filesUnder(filesystem: object): Promise<Files> {
    const policy = await parsePolicy(JSON.stringify({ version: "1.0", filesystem }), { file: "/nowhere/policy.yaml" });
    const system = new FileSystem(() => policy, { lookup });
    onTestFinished(() => system.close());
    return system.files();
  }
  const read = (files: Files, path: string): Promise<string> =>
    files.read(path).then(textOf, (error: { readonly code: string }) => error.code);

  it("a link that moves on is followed, for reading, listing and writing", async () => {
    const t = releases();
    const files = await filesUnder({ allowed_paths: [`${t.current}/**`] });
    expect(await read(files, `${t.current}/text`)).toBe("r1");
    expect(await read(files, join(t.outside, "r1/text"))).toBe("r1");
    t.to("r2");
    expect(await read(files, `${t.current}/text`)).toBe("r2");
    expect(await read(files, join(t.outside, "r2/text"))).toBe("r2");
    expect(await read(files, join(t.outside, "r1/text"))).toBe("denied");
    await files.write(`${t.current}/new`, Buffer.from("new"));
    expect(readFileSync(join(t.outside, "r2/new"), "utf8")).toBe("new");
    const { entries } = await files.list(t.current);
    expect(entries.map(({ name }) => name)).toContain("new");
    t.to("r1");
    expect(await read(files, `${t.current}/new`)).toBe("not-found");
    expect(await read(files, `${t.current}/text`)).toBe("r1");
  });

  it("what is denied below a link that moves on stays denied where it led and is denied where it leads", async () => {
    const clock = vi.spyOn(performance, "now");
    onTestFinished(() => clock.mockRestore());
    let now = 1e6;
    clock.mockImplementation(() => (now += 1_000));
    const t = releases();
    const rules = { allowed_paths: [`${t.outside}/**`, `${t.current}/**`], denied_paths: [`${t.current}/private/**`] };
    const files = await filesUnder(rules);
    const all = [`${t.current}/private/text`, ...["r1", "r2"].map((name) => join(t.outside, name, "private/text"))];
    expect(await Promise.all(all.map((path) => read(files, path)))).toEqual(["denied", "denied", "r2"]);
    t.to("r2");
    for (const path of all) expect([path, await read(files, path)]).toEqual([path, "denied"]);
  });

  it("a link inside of what is allowed opens nothing outside, wherever it leads", async () => {
    const t = releases();
    const files = await filesUnder({ allowed_paths: [`${t.inside}/**`, `${t.current}/**`] });
    for (const release of ["r1", "r2", "r1"]) {
      t.to(release);
      expect(await read(files, `${t.current}/text`)).toBe("denied");
      expect(await read(files, join(t.outside, release, "text"))).toBe("denied");
    }
  });

  it("a folder that is exchanged for a link leads nowhere, and is served again when it is put back", async () => {
    const t = tree();
    t.put("text", "mine");
    writeFileSync(join(t.outside, "text"), "not mine");
    const files = await filesUnder({ allowed_paths: [`${t.inside}/**`] });
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await read(files, join(t.inside, "text"))).toBe("mine");
      renameSync(t.inside, `${t.inside}.kept`);
      symlinkSync(t.outside, t.inside);
      expect(await read(files, join(t.inside, "text"))).toBe("denied");
      expect(await read(files, join(t.outside, "text"))).toBe("denied");
      rmSync(t.inside);
      expect(await read(files, join(t.inside, "text"))).toBe("not-found");
      renameSync(`${t.inside}.kept`, t.inside);
    }
    expect(t.isUntouched()).toBe(true);
  });

  it("a folder that was replaced by a link while the policy was loaded anew is served again when it is put back", async () => {
    const t = tree();
    t.put("text", "mine");
    const text = JSON.stringify({ version: "1.0", filesystem: { allowed_paths: [`${t.inside}/**`] } });
    let policy = await parsePolicy(text, { file: "/nowhere/policy.yaml" });
    const system = new FileSystem(() => policy, { lookup });
    onTestFinished(() => system.close());
    const files = system.files();
    expect(await read(files, join(t.inside, "text"))).toBe("mine");
    renameSync(t.inside, `${t.inside}.kept`);
    symlinkSync(t.outside, t.inside);
    policy = await parsePolicy(text, { file: "/nowhere/policy.yaml" });
    expect(await read(files, join(t.inside, "text"))).toBe("not-found");
    rmSync(t.inside);
    renameSync(`${t.inside}.kept`, t.inside);
    expect(await read(files, join(t.inside, "text"))).toBe("mine");
  });
});
