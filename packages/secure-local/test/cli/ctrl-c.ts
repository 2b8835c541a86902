// A command in a terminal, and a person who presses Ctrl-C there.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { COMMAND, environmentOf } from "./command.js";

/** Gives a program a terminal; part of every Debian. */
const SCRIPT = "/usr/bin/script";
const CTRL_C = "\u0003";

export const hasTerminals: boolean = process.platform === "linux" && existsSync(SCRIPT);

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Presses Ctrl-C as soon as the moment has come. @returns exit code, and what the terminal showed */
export async function interrupted(
  { args, home }: { readonly args: readonly string[]; readonly home: string },
  moment: (shown: string) => boolean,
): Promise<[number | null, string]> {
  const command = [process.execPath, COMMAND, ...args].map(quoted).join(" ");
  const child = spawn(SCRIPT, ["--quiet", "--return", "--command", command, "/dev/null"], {
    env: { ...environmentOf(home), SHELL: "/bin/sh", TERM: "xterm" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
  const closed = once(child, "close") as Promise<[number | null]>;
  await expect.poll(() => moment(shown), { timeout: 30_000, interval: 5 }).toBe(true);
  child.stdin.write(CTRL_C);
  return [(await closed)[0], shown];
}
