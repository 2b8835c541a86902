// Runs a command line of the sources in the thread of the test: what it prints and how it exits, without a process.
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { vi } from "vitest";
import { runCommandLine } from "../../src/cli/run-command-line.js";
import { soaking } from "../../../mcp/test/support/soak.js";
import { COMMAND, environmentOf, type Ran, run, type RunOptions } from "./command.js";

/**
 * For command lines of which others of the kind are run as processes of the built program; with SOAK=1 all are.
 * Not for what reads input, waits for signals, or serves.
 */
export async function runQuickly(args: readonly string[], options: Omit<RunOptions, "input">): Promise<Ran> {
  return soaking ? await run(args, options) : await runInThread(args, options);
}

/** The same with SOAK=1 too: for what depends on the stdout of this very process, and for thousands of lines that do nothing. */
export async function runInThread(args: readonly string[], { home, env, cwd }: RunOptions): Promise<Ran> {
  if (running)
    throw new Error(`${args.join(" ")}: another command line is running in this thread; await that one first`);
  running = true;
  const before = { env: process.env, argv: process.argv };
  const folder = process.cwd();
  const output = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) => {
    const listeners = process[name].listeners("error");
    const spy = vi.spyOn(process[name], "write").mockImplementation((text) => ((output[name] += String(text)), true));
    return () => {
      spy.mockRestore();
      for (const added of process[name].listeners("error")) {
        if (!listeners.includes(added)) process[name].off("error", added as () => void);
      }
    };
  });
  process.argv = [process.execPath, COMMAND, ...args];
  const leaveHome = moveTo(env?.["HOME"] ?? home);
  const folders = { XDG_CONFIG_HOME: `${home}/.config`, XDG_DATA_HOME: `${home}/.local/share` };
  process.env = { ...folders, ...environmentOf(home), ...env };
  // No thread but a process of its own may do this, and the files of a worker come one after another.
  if (cwd !== undefined) process.chdir(cwd);
  try {
    const code = await runCommandLine(args);
    return { code, ...output };
  } finally {
    if (cwd !== undefined) process.chdir(folder);
    Object.assign(process, before);
    leaveHome();
    for (const restore of spies) restore();
    running = false;
  }
}

/** Its output, folder and environment are those of the whole process, so there is one at a time. */
let running = false;

/** The system asks the process for its home, whatever `process.env` says: what Node answers is exchanged for every module. */
function moveTo(home: string): () => void {
  const own = os.homedir;
  const answer = (homedir: () => string): void => {
    os.homedir = homedir;
    syncBuiltinESMExports();
  };
  answer(() => home);
  return () => answer(own);
}
