// What every sandbox sees by `sandbox.read_only_paths`: where it really is, and nothing else of this machine, whatever links say.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createRun } from "../../src/capabilities/policy-run.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { hasWall } from "./walls.js";

const base = mkdtempSync(join(homedir(), ".read-only-test-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));
for (const name of ["ground", "tools/1", "private"]) mkdirSync(join(base, name), { recursive: true });
writeFileSync(join(base, "tools/1/tool"), "a tool");
writeFileSync(join(base, "private/key"), "a secret");

/** What a shell in the granted folder prints, or why it did not run. */
async function shell(paths: readonly string[], script: string, grant = "readable_paths"): Promise<string> {
  const text = JSON.stringify({
    version: "1.0",
    filesystem: { [grant]: [`${base}/ground/**`] },
    sandbox: { read_only_paths: paths },
    commands: {
      allowed: [
        {
          name: "sh",
          executable: "/bin/sh",
          arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }],
          working_directory: `${base}/ground`,
        },
      ],
    },
  });
  const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
  return await createRun(() => policy)("sh", ["-c", script]).then(
    ({ stdout }) => stdout,
    (error: Error) => error.message,
  );
}

describe.runIf(hasWall())("a path that every sandbox sees", () => {
  it("is seen where it is, and under the name of a link to it", async () => {
    const link = join(base, "current");
    symlinkSync("tools/1", link);
    const both = `cat ${base}/tools/1/tool ${link}/tool; echo x > ${link}/tool || echo not written`;
    expect(await shell([link], both)).toBe("a toola toolnot written\n");
  });

  it("is mounted over nothing that a link in a granted folder leads to", async () => {
    const link = join(base, "ground/link");
    symlinkSync("../private", link);
    symlinkSync("../tools", join(base, "ground/up"));
    const said = await shell([link, join(base, "ground/up/1")], `cat link/key up/1/tool; ls ${base} ${base}/tools`);
    expect(said).toBe(`a secreta tool${base}:\nground\nprivate\ntools\n\n${base}/tools:\n1\n`);
  });

  it("covers nothing that a sandbox has of its own", async () => {
    const root = join(base, "all");
    symlinkSync("/", root);
    for (const path of ["/", "/tmp", "/proc", "/dev", root])
      expect(await shell([path], "true")).toContain("would cover what a sandbox has of its own");
  });

  it("that is not there is told, with the key that names it", async () => {
    const gone = join(base, "gone");
    expect(await shell([gone], "true")).toContain(
      `"${gone}" cannot be shown to programs (ENOENT). Take it out of sandbox.read_only_paths`,
    );
  });
});
