// Runs a command on a connection to its target, which is closed whatever comes.
import type { Client, ClientOptions, LogMessage } from "@secure-local/mcp/client";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { openClient } from "../../remote/open-client.js";
import type { Target } from "../../remote/target.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { programVersion } from "../program-version.js";
import { clientTokensFile } from "../settings.js";
import { complain, styled } from "../terminal.js";
import { askForm } from "./ask-form.js";
import { reportingFailures } from "./failure.js";
import { findTarget } from "./find-target.js";
import { isInteractive, questioner } from "./questioner.js";

export interface Connected {
  readonly client: Client;
  readonly target: Target;
  /** The words of the command line that are no target. */
  readonly words: readonly string[];
  readonly signal: AbortSignal;
}

export interface Usage {
  /** What a person is told who leaves something out. */
  readonly usage: string;
  /** How many words there have to be, and may be, beside the target. */
  readonly least: number;
  readonly most: number;
}

/** Throws a UsageError before anything is connected. */
export function withClient(
  line: CommandLine,
  { usage, least, most }: Usage,
  work: (connected: Connected) => Promise<number>,
): Promise<number> {
  return reportingFailures(line.json, async () => {
    const { target, words } = await findTarget(line, usage);
    if (words.length < least) throw new UsageError(usage);
    if (words.length > most) throw new UsageError(`there is a word too many, "${words[most]}": ${usage}`);
    const interrupted = new AbortController();
    const stop = (): void => interrupted.abort();
    process.once("SIGINT", stop).once("SIGTERM", stop);
    try {
      const { signal } = interrupted;
      const client = await openClient(target, { ...clientOptions(line), ...connecting(line), signal });
      try {
        return await work({ client, target, words, signal });
      } finally {
        await client.close();
      }
    } finally {
      process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
    }
  });
}

/** Milliseconds of `--timeout`. */
export function timeoutMs({ timeout }: Pick<CommandLine, "timeout">): number | undefined {
  if (timeout === undefined) return undefined;
  const seconds = Number(timeout);
  if (seconds > 0 && seconds <= 86_400) return Math.ceil(seconds * 1000);
  throw new UsageError(`--timeout needs seconds from 1 to 86400, not "${timeout}"`);
}

/** Where tokens are kept, and who is asked for them. */
export function person(): { readonly tokensFile: string; readonly show: ((url: string) => void) | undefined } {
  const show = (url: string): void =>
    complain(`Authorize this program in your browser. If none opens, open this page:\n  ${cleanLine(url)}`);
  return { tokensFile: clientTokensFile(), show: isInteractive() ? show : undefined };
}

function connecting(line: CommandLine): { token: string | undefined; person: ReturnType<typeof person> } {
  return { token: line.token, person: person() };
}

function clientOptions(line: CommandLine): ClientOptions {
  const limit = timeoutMs(line);
  const note = (kind: string, text: string): void => complain(styled("dim", `[${kind}] ${cleanLine(text)}`, "stderr"));
  return {
    clientInfo: { name: "mcp-secure-local", version: programVersion() },
    ...(line.revision === undefined ? {} : { revision: line.revision }),
    ...(limit === undefined ? {} : { timeoutMs: limit, maxTimeoutMs: limit, connectTimeoutMs: limit }),
    ...(isInteractive()
      ? { elicit: (request, { server }) => questioner((ask) => askForm(request, server.name, ask)) }
      : {}),
    reconnect: false,
    cache: false,
    verdicts: false,
    validateOutput: "warn",
    onLog: (message) => note(message.level, logText(message)),
    onNoise: (text) => note("stdout", text),
    onWarning: (text) => note("warning", text),
  };
}

function logText({ logger, data }: LogMessage): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return logger === undefined ? text : `${logger}: ${text}`;
}
