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
  it("keeps guards whose result nobody uses, and puts what is imported on demand in a file of its own, with its licence", () => {
    const { folder, status } = bundle(`
      function check(text: string): void {
        decodeURI(text);
        new URL(text);
        Object.freeze(globalThis.settings);
      }
      for (const text of process.argv.slice(2)) {
        try { check(text); console.log("let through"); } catch { console.log("refused"); }
      }
      void import("yaml").then(({ parse }) => console.log(JSON.stringify(parse("a: [1, 2]"))));
    `);
    expect(status).toBe(0);
    expect(readFileSync(join(folder, "main.cjs"), "utf8")).toContain("Object.freeze(globalThis.settings)");
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(["mcp-secure-local.cjs", "yaml.cjs"]));
    expect(readFileSync(join(folder, "third-party-licenses.txt"), "utf8")).toMatch(/^yaml\n\nCopyright/);
    const command = join(folder, "mcp-secure-local.cjs");
    expect(readFileSync(command, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    const args = [command, "http://a/%ff", "no url", "http://a/"];
    const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect(stdout).toBe('refused\nrefused\nlet through\n{"a":[1,2]}\n');
  });

  it("fails when an import cannot be resolved, instead of leaving it to the user", () => {
    const { status, stderr } = bundle('import { gone } from "not-a-package-of-ours"; console.log(gone);');
    expect(status).not.toBe(0);
    expect(stderr).toContain("not-a-package-of-ours");
  });
});
