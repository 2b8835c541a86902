// A tool's only way to run a program: by the name the policy gives it, with arguments it allows, never through a shell.

/** How a command ended. */
export interface RunResult {
  /** Undefined when it was ended by a signal or its time was up. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether more was written than is returned. */
  readonly truncated: boolean;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
}

/** One entry of `commands.allowed`, for people and models. */
export interface CommandUsage {
  readonly name: string;
  /** As in a manual: `log [--max-count N] PATH…`. */
  readonly usage: string;
}

/** @throws RunError for a command that did not run; one that failed has an exit code */
export type Run = (name: string, args: readonly string[], options?: RunOptions) => Promise<RunResult>;
