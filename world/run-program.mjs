// Runs one program to its end and tells what it said; whatever it leaves running ends with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

/** What of an output is kept; a list of tools may be megabytes. */
const MOST_BYTES = 64 * 1024 * 1024;
/** The end of an output is waited for this long after the program itself has ended. */
const LINGER_MS = 2_000;

/**
 * `code` (null after a signal), `stdout`, `stderr`, `ms`. With `input` that is written to it, otherwise its standard input is
 * closed at once. The program leads a process group, which is ended as a whole.
 */
export async function runProgram(command, args, { env, cwd, input, timeoutMs = 120_000 } = {}) {
  const started = performance.now();
  const child = spawn(command, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"], detached: true });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"])
    child[name].setEncoding("utf8").on("data", (text) => {
      if (output[name].length < MOST_BYTES) output[name] += text;
    });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input ?? "");
  // Both may come in the same turn: whoever asks for the second after the first has come waits for ever.
  const closed = once(child, "close");
  const timer = setTimeout(() => endGroup(child.pid), timeoutMs);
  const [code] = await once(child, "exit");
  clearTimeout(timer);
  endGroup(child.pid);
  // What it started in a group of its own may hold its output open.
  await Promise.race([closed, pause(LINGER_MS)]);
  return { code, ...output, ms: performance.now() - started };
}

function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
