// Bundles small commands and asserts that what guards them is still there, and that libraries load only when asked for.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";

const scripts = dirname(dirname(fileURLToPath(import.meta.url)));
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function bundle(text: string): { folder: string; status: number | null; stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), "bundle-"));
  folders.push(folder);
  writeFileSync(join(folder, "main.ts"), text);
  const args = [join(scripts, "bundle-product.mjs"), join(folder, "main.ts"), join(folder, "out")];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { folder: join(folder, "out"), status, stderr };
}

describe("bundle-product", () => {
  it("keeps guards whose result nobody uses", () => {
    const { folder, status } = bundle(`
      function check(text: string): void {
        decodeURI(text);
        new URL(text);
        Object.freeze(globalThis.settings);
      }
      try { check(process.argv[2] ?? ""); console.log("let through"); } catch { console.log("refused"); }
    `);
    expect(status).toBe(0);
    const command = join(folder, "mcp-secure-local.cjs");
    expect(readFileSync(join(folder, "main.cjs"), "utf8")).toContain("Object.freeze(globalThis.settings)");
    const said = (text: string): string => spawnSync(process.execPath, [command, text], { encoding: "utf8" }).stdout;
    expect([said("http://a/%ff"), said("no url"), said("http://a/")]).toEqual([
      "refused\n",
      "refused\n",
      "let through\n",
    ]);
  });

  it("puts what is imported on demand in a file of its own, with its licence", () => {
    const { folder, status } = bundle(`
      void import("yaml").then(({ parse }) => console.log(JSON.stringify(parse("a: [1, 2]"))));
    `);
    expect(status).toBe(0);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(["mcp-secure-local.cjs", "yaml.cjs"]));
    expect(readFileSync(join(folder, "third-party-licenses.txt"), "utf8")).toMatch(/^yaml\n\nCopyright/);
    const command = join(folder, "mcp-secure-local.cjs");
    expect(spawnSync(process.execPath, [command], { encoding: "utf8" }).stdout).toBe('{"a":[1,2]}\n');
    expect(readFileSync(command, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it("fails when an import cannot be resolved, instead of leaving it to the user", () => {
    const { status, stderr } = bundle('import { gone } from "not-a-package-of-ours"; console.log(gone);');
    expect(status).not.toBe(0);
    expect(stderr).toContain("not-a-package-of-ours");
  });
});
