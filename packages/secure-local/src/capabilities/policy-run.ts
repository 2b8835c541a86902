// `run` under a policy: decides, finds the program and its files, and runs it behind the wall.
import { decideCommand } from "../policy/decide-command.js";
import { grantedPolicy } from "../policy/granted-policy.js";
import type { Policy } from "../policy/policy.js";
import type { Rule } from "../policy/rule.js";
import { findWall } from "../sandbox/find-wall.js";
import { endWalled, startWalled } from "../sandbox/start-walled.js";
import { type Wall, type WalledCommand, WallError } from "../sandbox/wall.js";
import { CappedOutput } from "./capped-output.js";
import type { AllowedCommand } from "../policy/commands-policy.js";
import { checkedExecutable, type Executable } from "./checked-executable.js";
import { FileError } from "./files/file-error.js";
import { ownFiles } from "./files/own-files.js";
import { type CommandView, commandView } from "./command-view.js";
import type { Run, RunOptions, RunResult } from "./run.js";
import { RunError } from "./run-error.js";
import { surround } from "./surround.js";

/** Commands at a time: each is a process or more, and this machine has others to serve. */
const MAX_RUNNING = 8;

/** `policy` is asked at each run; `own` are the program's own files, which no command sees. */
export function createRun(policy: () => Policy, own: readonly string[] = []): Run {
  let running = 0;
  return async (name, args, options = {}) => {
    if (running >= MAX_RUNNING)
      throw new RunError("busy", `${running} commands are running; try again when one has ended.`);
    running += 1;
    try {
      return await runOnce(policy(), { name, args, own }, options);
    } catch (error) {
      if (error instanceof WallError) throw new RunError("no-wall", error.message);
      if (error instanceof FileError) throw new RunError("denied", error.message, error.rule);
      throw error;
    } finally {
      running -= 1;
    }
  };
}

interface Asked {
  readonly name: string;
  readonly args: readonly string[];
  readonly own: readonly string[];
}

async function runOnce(policy: Policy, { name, args, own }: Asked, { signal }: RunOptions): Promise<RunResult> {
  const { allowed, command, paths, reason, rule } = decideCommand(policy, name, args);
  if (!allowed || command === undefined) throw new RunError("denied", reason, lined(rule));
  const wall = await findWall(policy.sandbox);
  const { reach, handed } = await checkedExecutable(command);
  const where = { policy, own: await ownFiles(policy, own), wall: wall.name };
  const view = await commandView(where, { args, paths, workingDirectory: command.workingDirectory });
  try {
    return await runIn(view, { policy, command, wall, program: { reach, handed }, signal });
  } finally {
    view.close();
  }
}

interface Prepared {
  readonly policy: Policy;
  readonly command: AllowedCommand;
  readonly wall: Wall;
  readonly program: Executable;
  readonly signal: AbortSignal | undefined;
}

async function runIn(view: CommandView, { policy, command, wall, program, signal }: Prepared): Promise<RunResult> {
  // Its files are those named by its arguments, so that of the policy only the network is left.
  const surroundings = await surround(grantedPolicy(policy, { network: command.network }), {
    own: [],
    wall,
    owner: ["command", command.name],
  });
  const { limits, egress } = surroundings;
  try {
    const walled: WalledCommand = {
      executable: command.executable,
      args: view.args,
      env: Object.fromEntries(command.env),
      workingDirectory: view.workingDirectory,
      reach: [...surroundings.reach, ...program.reach, ...view.reach],
      handed: program.handed,
      limits,
      egress,
    };
    signal?.throwIfAborted();
    return await finish(wall, walled, { timeoutMs: command.timeoutMs, signal });
  } finally {
    await surroundings.close();
  }
}

interface Term {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Runs it to its end, which comes at the latest with its time or the call. */
function finish(wall: Wall, command: WalledCommand, { timeoutMs, signal }: Term): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = startWalled(wall, command, ["ignore", "pipe", "pipe"]);
    const end = (): void => endWalled(wall, child);
    const stdout = new CappedOutput(child.stdout, end);
    const stderr = new CappedOutput(child.stderr, end);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, timeoutMs);
    signal?.addEventListener("abort", end, { once: true });
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    };
    child.once("error", (error: NodeJS.ErrnoException | WallError) => {
      settle();
      if (error instanceof WallError) reject(new RunError("denied", error.message));
      else reject(new RunError("executable", `The program cannot be started (${error.code ?? error.message}).`));
    });
    child.once("close", (code, ended) => {
      settle();
      if (signal?.aborted) return reject(new RunError("cancelled", "The command was ended because its call was."));
      resolve({
        exitCode: timedOut ? undefined : (code ?? undefined),
        signal: ended ?? undefined,
        timedOut,
        stdout: stdout.text,
        stderr: stderr.text,
        truncated: stdout.truncated || stderr.truncated,
      });
    });
  });
}

function lined({ text, line }: Rule): string {
  return line === undefined ? text : `${text} (line ${line} of the policy)`;
}
