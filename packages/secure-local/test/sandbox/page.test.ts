// docs/sandbox.md: its first command works under the policy that a new user has.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { run } from "../cli/command.js";
import { hasWall } from "./walls.js";

const PAGE = readFileSync(new URL("../../../../docs/sandbox.md", import.meta.url), "utf8");
const home = mkdtempSync(join(homedir(), ".sandbox-page-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** The words of a command line, quoted as a shell has it. */
function wordsOf(line: string): string[] {
  return [...line.replace(/ #.*$/, "").matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

describe.runIf(hasWall())("docs/sandbox.md", () => {
  it("begins with a command that works under the policy of the first steps", async () => {
    expect(await run(["policy", "init", "--yes"], { home })).toMatchObject({ code: 0 });
    writeFileSync(join(home, "letter.txt"), "mine");
    const [, line = ""] = /^```sh\n(.*)\n/m.exec(PAGE) ?? [];
    const [program, ...words] = wordsOf(line);
    expect(program).toBe("mcp-secure-local");
    const { code, stdout } = await run(words, { home, env: { MINE: "yes" } });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^HOME=\/tmp$/m)]);
    expect(stdout).not.toMatch(/letter|MINE/);
  });
});
