// Tells people and programs why a command failed: one line on stderr, or one JSON object with --json; and its exit code.

import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { basename } from "node:path";
import { LocalError, RpcError } from "@secure-local/mcp/client/node";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { cleanText } from "../guard/cleaning/clean-text.js";
import { PolicyError } from "../policy/faults.js";
import { UsageError } from "./command-line.js";
import { ExitCode, InterruptedError, complain, complainJson } from "./terminal.js";

export class ServeError extends Error {
  override readonly name = "ServeError";
}

const UNAUTHORIZED = /^(?:UNAUTHORIZED|FORBIDDEN|AUTH_\w+)$/;
const UNREACHABLE = new Set(["SPAWN_FAILED", "EXITED", "UNREACHABLE", "HTTP_STATUS", "INCOMPATIBLE", "INVALID_URL"]);
/** Errors of the client that come of what was written on the command line. */
const USAGE = new Set(["USAGE", "UNKNOWN_REVISION", "BAD_SHARE"]);
/** Errors of our own whose words are made for people, by their names: what they belong to is not loaded for that. */
const WORDED: ReadonlyMap<string, string> = new Map([
  ["AuditError", "AUDIT"],
  ["ServeError", "SERVE"],
  ["WallError", "SANDBOX"],
]);

/** A failure as `--json` prints it. */
interface Failure {
  readonly code: string | number;
  readonly message: string;
  readonly data?: unknown;
  readonly exitCode: number;
}

/** The exit code of an error of the client; undefined for every other error. */
export function failureCode(error: unknown): number | undefined {
  if (error instanceof RpcError) return ExitCode.Tool;
  if (!(error instanceof LocalError)) return undefined;
  if (USAGE.has(error.code)) return ExitCode.Usage;
  if (error.code === "CANCELLED") return ExitCode.Interrupted;
  if (UNAUTHORIZED.test(error.code)) return ExitCode.Unauthorized;
  const connecting = error.name === "ConnectError";
  return connecting || UNREACHABLE.has(error.code) ? ExitCode.Unreachable : ExitCode.Failed;
}

/** Says on stderr what went wrong, with the stack for `debug` alone. Returns the exit code. */
export function tellFailure(
  error: unknown,
  { json, debug }: { readonly json: boolean; readonly debug: boolean },
): number {
  const failure = failureOf(error);
  if (json) complainJson({ error: failure });
  // Each line of a policy error begins with its place in the file.
  else if (error instanceof PolicyError) complain(escapeUnseen(failure.message));
  else
    complain(
      `mcp-secure-local: ${cleanText(failure.message)}${error instanceof RpcError ? ` (error ${error.code})` : ""}`,
    );
  if (debug && error instanceof Error) complain(escapeUnseen(inSources(error.stack ?? "")));
  return failure.exitCode;
}

function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) return { code: "USAGE", message, exitCode: ExitCode.Usage };
  if (error instanceof PolicyError) return { code: "POLICY", message, data: error.errors, exitCode: ExitCode.Usage };
  if (error instanceof InterruptedError) return { code: "INTERRUPTED", message, exitCode: ExitCode.Interrupted };
  const exitCode = failureCode(error);
  if (exitCode !== undefined) {
    const { code, data } = error as { code: string | number; data?: unknown };
    return { code, message: inOptions(message), ...(data === undefined ? {} : { data }), exitCode };
  }
  const worded = WORDED.get(error instanceof Error ? error.name : "");
  if (worded !== undefined) return { code: worded, message, exitCode: ExitCode.Failed };
  return { ...unexpected(error, message), exitCode: ExitCode.Failed };
}

/** What the system refused says what and where; of anything else the words are all there is. */
function unexpected(error: unknown, message: string): Pick<Failure, "code" | "message"> {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code !== undefined && syscall !== undefined)
    return { code, message: `the system refused: ${message}${remedyFor(code)}` };
  return { code: "UNEXPECTED", message: `something unexpected went wrong: ${message}; --debug shows where` };
}

/** What a person can do about what a system refuses, whichever file or folder it was. */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: "see to the rights of that place, or name another",
  EPERM: "see to the rights of that place, or name another",
  EROFS: "that disk can only be read: name a place on another",
  ENOSPC: "that disk is full: make room, or name a place on another",
  EDQUOT: "you have used up your share of that disk: make room, or name a place on another",
  ENOENT: "check the path: a folder on the way is missing",
  ENOTDIR: "check the path: what should be a folder is a file",
  EISDIR: "check the path: it is a folder, and should be a file",
  ELOOP: "check the path: its links lead in a circle",
  ENAMETOOLONG: "choose a shorter name",
  EMFILE: "too many files are open: raise the limit (ulimit -n), or run less at once",
};

/** With what stands between it and the words before. */
export function remedyFor(code: string | undefined): string {
  const remedy = Object.hasOwn(REMEDIES, code ?? "") ? REMEDIES[code ?? ""] : undefined;
  return remedy === undefined ? "" : `; ${remedy}`;
}

/** The library's settings by the names they have on our command line. */
const OPTIONS: readonly (readonly [RegExp, string])[] = [
  [/\s+Before that: /g, "\nBefore that: "],
  [/it ended at the question\b/g, "the program ended when it was asked for its protocol versions"],
  [/Raise maxTimeoutMs if it needs longer\./g, "Give it longer with --timeout SECONDS."],
  [
    /Raise timeoutMs, or pass onProgress so that progress grants more time\./g,
    "Give it longer with --timeout SECONDS.",
  ],
  [/\b(?:maxTimeoutMs|timeoutMs|connectTimeoutMs)\b/g, "--timeout"],
  [/\b(?:the limit |limits\.)messageBytes\b/g, "--max-message-mb"],
  [/\b(?:the limit |limits\.)(?:members|values)\b/g, "--max-members"],
  [/Give its authority in the option ca\b/g, "Name the file of its authority in the variable NODE_EXTRA_CA_CERTS"],
  [/give a token in `headers`, or an authorizer\./g, "give --token-file FILE, or --header 'NAME: VALUE'."],
  [/; if you trust it, name it in allowHosts/g, "; if you trust it, get a token there and give --token-file FILE"],
  [/and give it as preRegistered/g, "get a token for it, and give --token-file FILE"],
  [/, or set validateOutput to "warn"/g, ""],
  [
    /: show the user the address \(option show\), or have them paste the answer \(pastedRedirect\)/g,
    ": open it yourself",
  ],
];

/** An error's words with the options of our command line in them, each attempt on a line of its own. */
export function inOptions(message: string): string {
  return OPTIONS.reduce((text, [setting, option]) => text.replace(setting, option), message);
}

// Reads a stack by the lines of the sources: the build shortens names and puts whole parts of the program on one line.

const FRAME = /(?:\(|at (?:async )?)((?:[A-Za-z]:)?[^():]+\.cjs):(\d+):(\d+)\)?$/;

/** The stack with the places of the sources, where the file a frame names has a map beside it; other frames as they are. */
function inSources(stack: string): string {
  const maps = new Map<string, SourceMap | undefined>();
  return stack
    .split("\n")
    .map((frame) => {
      const [, file, line, column] = FRAME.exec(frame) ?? [];
      if (file === undefined) return frame;
      if (!maps.has(file)) maps.set(file, mapOf(file));
      const found = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (found === undefined || !("originalSource" in found)) return frame;
      const place = `${found.originalSource}:${found.originalLine + 1}:${found.originalColumn + 1}`;
      return frame.replace(`${file}:${line}:${column}`, () => place);
    })
    .join("\n");
}

/** A map that is damaged, or missing, leaves the frames as they are. */
function mapOf(file: string): SourceMap | undefined {
  try {
    const map = `${file}.map`;
    if (!existsSync(map)) return undefined;
    const read = JSON.parse(readFileSync(map, "utf8")) as { readonly file?: string };
    return read.file === basename(file) ? new SourceMap(read as ConstructorParameters<typeof SourceMap>[0]) : undefined;
  } catch {
    return undefined;
  }
}
