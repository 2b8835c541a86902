// Runs one goal's cases in a process of its own: a crash, a hang or a leak of one goal is that goal's miss and nobody else's.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("goal-process.mjs", import.meta.url));
/** A goal that takes longer hangs: all together may take ten minutes. */
const TIME_LIMIT_MS = 240_000;

/** What came of it; `crashed` says why there is nothing else. */
export async function runGoal(file, product) {
  const started = performance.now();
  const child = spawn(process.execPath, ["--expose-gc", WORKER, file, product], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    timeout: TIME_LIMIT_MS,
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
