// The process in which tests run, kept from one mutant to the next: its modules are loaded once, and each run turns another
// mutant on. What vitest gives a usual worker is given to it as well, but for its end.
import { init, runBaseTests, setupEnvironment } from "vitest/worker";
import { turnOn } from "./switch-mutants.mjs";

// Tests may exchange these.
const send = process.send.bind(process);
const on = process.on.bind(process);
const off = process.off.bind(process);

/** The same file is run again and again: each time it is another module to Node, and what it imports the same. */
globalThis.__run = 0;

async function runTests(state, traces) {
  turnOn(state.ctx.mutant);
  globalThis.__run += 1;
  await runBaseTests("run", state, traces);
}

init({
  post: (value) => send(value),
  on: (told) => on("message", told),
  off: (told) => off("message", told),
  setup: setupEnvironment,
  runTests,
  collectTests: runTests,
});
on("disconnect", () => process.kill(process.pid, "SIGKILL"));
