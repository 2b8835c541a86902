// Runs a command on a connection to its target, which is closed whatever comes.
import { readFileSync } from "node:fs";
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

/** Five values for each member, as in the long lists of tools that were looked at. */
const VALUES_PER_MEMBER = 5;
/** More than one string of Node's holds, and than a person waits for. */
const MOST_MB = 256;
const MOST_MEMBERS = 20_000_000;

/** What `--max-message-mb` and `--max-members` say; empty without them. */
export function limitsOf({ maxMessageMb, maxMembers }: Pick<CommandLine, "maxMessageMb" | "maxMembers">): {
  readonly limits?: { readonly messageBytes?: number; readonly members?: number; readonly values?: number };
} {
  const number = (text: string | undefined, option: string, most: number): number | undefined => {
    if (text === undefined) return undefined;
    if (/^[1-9]\d*$/.test(text) && Number(text) <= most) return Number(text);
    throw new UsageError(`${option} needs a number from 1 to ${most}, not "${text}"`);
  };
  const megabytes = number(maxMessageMb, "--max-message-mb", MOST_MB);
  const members = number(maxMembers, "--max-members", MOST_MEMBERS);
  if (megabytes === undefined && members === undefined) return {};
  return {
    limits: {
      ...(megabytes === undefined ? {} : { messageBytes: megabytes * 1024 * 1024 }),
      ...(members === undefined ? {} : { members, values: members * VALUES_PER_MEMBER }),
    },
  };
}

/** Where tokens are kept, and who is asked for them. */
export function person(): { readonly tokensFile: string; readonly show: ((url: string) => void) | undefined } {
  const show = (url: string): void =>
    complain(`Authorize this program in your browser. If none opens, open this page:\n  ${cleanLine(url)}`);
  return { tokensFile: clientTokensFile(), show: isInteractive() ? show : undefined };
}

/** `--token`, or what is in the file of `--token-file`. */
export function tokenOf({ token, tokenFile }: Pick<CommandLine, "token" | "tokenFile">): string | undefined {
  if (tokenFile === undefined) return token;
  if (token !== undefined) throw new UsageError("--token and --token-file: give one of them");
  try {
    const text = readFileSync(tokenFile, "utf8").trim();
    if (/^[\x21-\x7e]+$/.test(text)) return text;
  } catch (error) {
    throw new UsageError(`${tokenFile} cannot be read: ${(error as Error).message}`);
  }
  throw new UsageError(`${tokenFile} holds no token: one word of printed characters`);
}

function connecting(line: CommandLine): { token: string | undefined; person: ReturnType<typeof person> } {
  return { token: tokenOf(line), person: person() };
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
    ...limitsOf(line),
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
