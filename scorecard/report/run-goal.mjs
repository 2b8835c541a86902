// Runs one goal's cases in a process of its own: a crash, a hang or a leak of one goal is that goal's miss and nobody else's.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const WORKER = fileURLToPath(new URL("goal-process.mjs", import.meta.url));
/** A goal that takes longer hangs, also where others use the machine, unless it says how long it may take (`goal.seconds`). */
const TIME_LIMIT_S = 600;

/**
 * What came of it; `crashed` says why there is nothing else. `steps`: names with commas between; all without it. `first`: it ends
 * with the first bypass.
 */
export async function runGoal(file, product, { steps = "", first = false } = {}) {
  const { goal } = await import(pathToFileURL(file).href);
  const started = performance.now();
  const child = spawn(process.execPath, ["--expose-gc", WORKER, file, product, steps, first ? "first" : ""], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    timeout: (goal.seconds ?? TIME_LIMIT_S) * 1_000,
    killSignal: "SIGKILL",
  });
  let outcome;
  child.on("message", (message) => {
    outcome = message;
  });
  const [code, signal] = await once(child, "exit");
  const seconds = (performance.now() - started) / 1_000;
  const id = basename(file).slice(0, 3).toUpperCase();
  const ended = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
  if (outcome === undefined) return { id, title: basename(file), crashed: `the process ${ended}`, seconds };
  return { ...outcome, ...(code === 0 ? {} : { crashed: `the process ${ended}` }), seconds };
}
