// Tells people why a command that talks to a server failed, and gives the exit code that says it to programs.
import { LocalError, RpcError } from "@secure-local/mcp/client/node";
import { cleanText } from "../../guard/cleaning/clean-text.js";
import { complain, complainJson, ExitCode } from "../terminal.js";

const UNAUTHORIZED = /^(?:UNAUTHORIZED|FORBIDDEN|AUTH_\w+)$/;
const UNREACHABLE = new Set(["SPAWN_FAILED", "EXITED", "UNREACHABLE", "HTTP_STATUS", "INCOMPATIBLE", "INVALID_URL"]);
/** What a shell gives for a program that was interrupted. */
const INTERRUPTED = 130;

/** The exit code of an error of the client; undefined for every other error. */
export function failureCode(error: unknown): number | undefined {
  if (error instanceof RpcError) return ExitCode.Tool;
  if (!(error instanceof LocalError)) return undefined;
  if (error.code === "USAGE") return ExitCode.Usage;
  if (error.code === "CANCELLED") return INTERRUPTED;
  if (UNAUTHORIZED.test(error.code)) return ExitCode.Unauthorized;
  const connecting = error.name === "ConnectError";
  return connecting || UNREACHABLE.has(error.code) ? ExitCode.Unreachable : ExitCode.Failed;
}

/** Runs a command; errors of the client become lines on stderr, or one JSON object there. */
export async function reportingFailures(json: boolean, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const exitCode = failureCode(error);
    if (exitCode === undefined) throw error;
    const message = inOptions((error as Error).message);
    const { code, data } = error as { code: string | number; data?: unknown };
    if (json) complainJson({ error: { code, message, ...(data === undefined ? {} : { data }), exitCode } });
    else complain(`mcp-secure-local: ${cleanText(message)}${rpcCode(error)}`);
    return exitCode;
  }
}

/** The library's settings by the names they have on our command line. */
const OPTIONS: readonly (readonly [RegExp, string])[] = [
  [/Raise maxTimeoutMs if it needs longer\./g, "Give it longer with --timeout SECONDS."],
  [
    /Raise timeoutMs, or pass onProgress so that progress grants more time\./g,
    "Give it longer with --timeout SECONDS.",
  ],
  [/\b(?:maxTimeoutMs|timeoutMs|connectTimeoutMs)\b/g, "--timeout"],
  [/\b(?:the limit |limits\.)messageBytes\b/g, "--max-message-mb"],
  [/\b(?:the limit |limits\.)(?:members|values)\b/g, "--max-members"],
];

/** An error's words with the options of our command line in them. */
export function inOptions(message: string): string {
  return OPTIONS.reduce((text, [setting, option]) => text.replace(setting, option), message);
}

function rpcCode(error: unknown): string {
  return error instanceof RpcError ? ` (error ${error.code})` : "";
}
