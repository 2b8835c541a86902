// The tool `run_command`: runs a program the policy names, with arguments it allows, behind the wall.
import type { CommandUsage, Run, RunResult } from "../../capabilities/policy-run.js";
import { RunError } from "../../capabilities/refusals.js";
import type { BuiltinTool, ToolAnswer } from "../tool.js";

export interface RunCommandArguments {
  readonly command: string;
  readonly arguments?: readonly string[];
}

/** More than an honest call has. */
const MAX_ARGUMENTS = 256;
const MAX_ARGUMENT_LENGTH = 8_192;

const OUTPUT: NonNullable<BuiltinTool<never>["output"]> = {
  type: "object",
  properties: {
    exitCode: { type: "integer", description: "Absent when a signal ended it" },
    signal: { type: "string" },
    stdout: { type: "string" },
    stderr: { type: "string" },
    truncated: { type: "boolean", description: "Whether it wrote more than is shown" },
  },
  required: ["stdout", "stderr", "truncated"],
};

const OVER =
  "it can send something out, and while it ran private data and texts of strangers were read. Run it again: a person is asked then.";

export interface RunCommandOptions {
  readonly run: Run;
  /** What may be run, for the description. */
  readonly commands: readonly CommandUsage[];
}

export function runCommand({ run, commands }: RunCommandOptions): BuiltinTool<RunCommandArguments> {
  return {
    name: "run_command",
    title: "Run a command",
    description: description(commands),
    category: "commands",
    aliases: ["shell", "exec", "program", "terminal", "execute"],
    input: {
      type: "object",
      properties: {
        command: { type: "string", enum: commands.map(({ name }) => name), description: "Name of the command" },
        arguments: {
          type: "array",
          items: { type: "string", maxLength: MAX_ARGUMENT_LENGTH },
          maxItems: MAX_ARGUMENTS,
          description: "One text for each argument; no shell reads them",
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    output: OUTPUT,
    waits: true,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    needs: ["commands"],
    async run({ command, arguments: args = [] }, powers) {
      const over = powers.sendingOver;
      const signal = over === undefined ? powers.signal : AbortSignal.any([powers.signal, over]);
      try {
        return answer(command, await run(command, args, { signal }));
      } catch (error) {
        if (over?.aborted === true && !powers.signal.aborted)
          return { failed: `Denied. "${command}" was ended: ${OVER}`, rule: "approvals: tainted" };
        if (!(error instanceof RunError)) throw error;
        return { failed: error.message, ...(error.rule === undefined ? {} : { rule: error.rule }) };
      }
    },
  };
}

function description(commands: readonly CommandUsage[]): string {
  const list = commands.map(({ name, usage }) => `${name} ${usage}`.trim());
  return `Run one of these commands of this machine in a sandbox, without a shell: ${list.join("; ") || "none"}`;
}

function answer(command: string, result: RunResult): ToolAnswer {
  const { exitCode, signal, timedOut, stdout, stderr, truncated } = result;
  const parts = [stdout.trimEnd(), stderr.trim() === "" ? "" : `stderr:\n${stderr.trimEnd()}`];
  const ending = endingOf(result);
  if (timedOut) return { failed: [`"${command}" was ended: its time was up.`, ...parts].filter(isText).join("\n\n") };
  if (truncated) parts.push("[it wrote more than is shown]");
  if (exitCode !== 0) parts.push(`[${ending}]`);
  const ended = { ...(exitCode === undefined ? {} : { exitCode }), ...(signal === undefined ? {} : { signal }) };
  return {
    structured: { ...ended, stdout, stderr, truncated },
    text: parts.filter(isText).join("\n\n") || `[${ending}]`,
  };
}

function endingOf({ exitCode, signal, limit }: RunResult): string {
  const ending = exitCode === undefined ? `ended by ${signal ?? "a signal"}` : `exit code ${exitCode}`;
  return limit === undefined ? ending : `${ending}: ${limit}`;
}

function isText(part: string): boolean {
  return part !== "";
}
