// Answers that are pasted into a terminal all at once: each belongs to its question, none is lost.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf } from "./command.js";

/** Gives a program a terminal; part of every Debian. */
const SCRIPT = "/usr/bin/script";

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Runs the built command in a terminal. @returns its exit code, and all that the terminal showed */
async function inTerminal(
  args: readonly string[],
  { home, typed, signal }: { home: string; typed: string; signal: AbortSignal },
): Promise<[number | null, string]> {
  const command = [process.execPath, COMMAND, ...args].map(quoted).join(" ");
  const child = spawn(SCRIPT, ["--quiet", "--return", "--command", command, "/dev/null"], {
    env: { ...environmentOf(home), SHELL: "/bin/sh", TERM: "xterm" },
    signal,
  });
  let shown = "";
  let written = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    // The first question stands: from now on the program reads the terminal itself.
    if (!written && shown.includes("?")) {
      written = true;
      child.stdin.write(typed);
    }
  });
  const [code] = (await once(child, "close")) as [number | null];
  return [code, shown];
}

describe.runIf(process.platform === "linux" && existsSync(SCRIPT))("answers pasted at once", () => {
  it("to policy init all count", async ({ signal }) => {
    const home = temporaryFolder();
    const notes = join(home, "notes");
    mkdirSync(notes);
    const file = join(home, "policy.yaml");
    const typed = `${notes}\ry\rn\rn\rdocs.example.com\r`;
    const [code, shown] = await inTerminal(["policy", "init", file], { home, typed, signal });
    expect({ code, shown }).toMatchObject({ code: 0 });
    const policy = readFileSync(file, "utf8");
    expect(policy).toContain(notes);
    expect(policy).toContain("write_file");
    expect(policy).toContain("docs.example.com");
    expect(policy).not.toContain("web_search");
    expect(policy).not.toContain("require_approval");
  });

  it("that are too few leave nothing behind when the terminal is left", async ({ signal }) => {
    const home = temporaryFolder();
    const file = join(home, "policy.yaml");
    const [code, shown] = await inTerminal(["policy", "init", file], { home, typed: "\ry\r\u0003", signal });
    expect({ code, shown }).toMatchObject({ code: 130, shown: expect.stringContaining("nothing was written") });
    expect(existsSync(file)).toBe(false);
  });
});
