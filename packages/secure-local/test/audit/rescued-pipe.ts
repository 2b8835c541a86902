// A pipe in the place of a file, and a rescue for whoever waits for its other end: a test of a program that waits fails, and does not hang.
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { temporaryFolder } from "./temporary-folder.js";

/** Whoever waits is let go after this, as often as it waits. */
const RESCUE_S = 8;
/** Opened and closed again and again: whoever opens it goes on, and whoever reads it finds its end. */
const RESCUE = 'sleep "$1"; : > "$3"; while [ -p "$2" ]; do : <> "$2"; sleep 0.05; done';

/** Makes a pipe whose other end is opened when somebody has waited for far too long; the test fails then. */
export function pipeAt(path: string): void {
  execFileSync("mkfifo", [path]);
  const late = join(temporaryFolder(), "late");
  const rescue = spawn("sh", ["-c", RESCUE, "sh", String(RESCUE_S), path, late], { detached: true, stdio: "ignore" });
  onTestFinished(() => {
    if (rescue.pid !== undefined && rescue.exitCode === null) process.kill(-rescue.pid, "SIGKILL");
    expect(existsSync(late), "somebody waited for the pipe").toBe(false);
  });
}
