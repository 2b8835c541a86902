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
  ["LockError", "LOCK"],
  ["WrongKindError", "WRONG_KIND"],
]);

/** A failure as `--json` prints it. */
interface Failure {
  readonly code: string;
  /** Of an error that a server answered with: the number of JSON-RPC. */
  readonly number?: number;
  readonly message: string;
  readonly data?: unknown;
  readonly exitCode: number;
}

/** The exit code of an error of the client; undefined for every other error. */
export function failureCode(error: unknown): number | undefined {
  if (error instanceof RpcError) return ExitCode.Tool;
  if (!(error instanceof LocalError)) return undefined;
  if (USAGE.has(error.code)) return ExitCode.Usage;
  if (UNAUTHORIZED.test(error.code)) return ExitCode.Unauthorized;
  const connecting = error.name === "ConnectError";
  return connecting || UNREACHABLE.has(error.code) ? ExitCode.Unreachable : ExitCode.Failed;
}

/**
 * Says on stderr what went wrong, with the stack for `debug` alone. `by`: what the command takes; default: every option. `before`:
 * words before those of the error. Returns the exit code.
 */
export function tellFailure(
  error: unknown,
  {
    json,
    debug,
    by = { takes: () => true },
    before = "",
  }: { readonly json: boolean; readonly debug: boolean; readonly by?: Changeable; readonly before?: string },
): number {
  const found = failureOf(error, by);
  const failure = { ...found, message: before + found.message };
  if (json) complainJson({ error: failure });
  // Each line of a policy error begins with its place in the file.
  else if (error instanceof PolicyError) complain(escapeUnseen(failure.message));
  else
    complain(
      `mcp-secure-local: ${indented(cleanText(failure.message))}${error instanceof RpcError ? ` (error ${error.code})` : ""}`,
    );
  if (debug && error instanceof Error) complain(escapeUnseen(inSources(error.stack ?? "")));
  return failure.exitCode;
}

/** What a server said may have lines of its own: none of them stands where a line of ours begins. */
function indented(message: string): string {
  return message.replace(/\r\n?|[\n\v\f\u0085\u2028\u2029]/g, "\n").replace(/\n(?!  )/g, "\n  ");
}

function failureOf(error: unknown, by: Changeable): Failure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) return { code: "USAGE", message, exitCode: ExitCode.Usage };
  if (error instanceof PolicyError) return { code: "POLICY", message, data: error.errors, exitCode: ExitCode.Usage };
  if (error instanceof InterruptedError) return { code: "INTERRUPTED", message, exitCode: ExitCode.Interrupted };
  const exitCode = failureCode(error);
  if (exitCode !== undefined) {
    const { code, data } = error as { code: string | number; data?: unknown };
    const words = typeof code === "number" ? { code: "RPC_ERROR", number: code } : { code };
    return { ...words, message: inOptions(message, by), ...(data === undefined ? {} : { data }), exitCode };
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

/** What the one who is told can change: options of the command that was typed, or an entry of the policy. */
export interface Changeable {
  takes(option: string): boolean;
  /** The server of the policy that it is about. */
  readonly entry?: string | undefined;
}

/** Those of the command that these words name. */
export async function changeableBy(words: readonly string[]): Promise<Changeable> {
  const { COMMAND_PAGES } = await import("./command-reference.js");
  const [command = "", action = ""] = words;
  const named = [`${command} ${action}`, command];
  const page = COMMAND_PAGES.find(({ name }) => named.includes(name));
  return { takes: (option) => page?.options?.includes(option) === true };
}

/** Of a server of the policy its entry says all that there is to say, and no option of a command does. */
export function changeableIn(entry: string): Changeable {
  return { takes: () => false, entry };
}

/** Words of the library that name a setting, and what stands there in their place. */
interface Setting {
  readonly said: RegExp;
  /** By what it is changed on our command line. */
  readonly option: string;
  readonly withOption: string;
  /** For an entry of the policy, whose name stands for ENTRY; default: as where nothing can be changed. */
  readonly inEntry?: string;
  readonly else: string;
}

const HEADERS = 'write headers: { Authorization: "Bearer ${secret:NAME}" } into servers.ENTRY';

const SETTINGS: readonly Setting[] = [
  { said: /^share: address (?=")/, option: "--address", withOption: "--address ", else: "share: address " },
  {
    said: / ?Raise (?:maxTimeoutMs if it needs longer|timeoutMs, or pass onProgress so that progress grants more time)\./g,
    option: "--timeout",
    withOption: " Give it longer with --timeout SECONDS.",
    else: "",
  },
  {
    said: /\b(?:maxTimeoutMs|timeoutMs|connectTimeoutMs)\b/g,
    option: "--timeout",
    withOption: "--timeout",
    else: "the time it has",
  },
  {
    said: / Ask for less, or raise limits\.messageBytes\./g,
    option: "--max-message-mb",
    withOption: " Ask for less, or raise --max-message-mb.",
    else: " Ask for less.",
  },
  {
    said: /\b(?:the limit |limits\.)messageBytes\b/g,
    option: "--max-message-mb",
    withOption: "--max-message-mb",
    else: "the limit of a message",
  },
  {
    said: /\b(?:the limit |limits\.)(?:members|values)\b/g,
    option: "--max-members",
    withOption: "--max-members",
    else: "the limit of a message",
  },
  {
    said: /give a token in `headers`, or an authorizer\./g,
    option: "--token-file",
    withOption: "give --token-file FILE, or --header 'NAME: VALUE'.",
    inEntry: `${HEADERS}, or login: oauth where it has a login.`,
    else: "its owner has to give it a token.",
  },
  {
    said: /run this in a terminal, or give --token$/gm,
    option: "--token",
    withOption: "run this in a terminal, or give --token",
    inEntry: `${HEADERS}, or login: oauth, and log in: mcp-secure-local servers login ENTRY`,
    else: "log in where it is used",
  },
  {
    said: /; if you trust it, name (?:it|\S+) in allowHosts/g,
    option: "--token-file",
    withOption: "; if you trust it, get a token there and give --token-file FILE",
    inEntry: "; if you trust it, name it in network.allowed_endpoints",
    else: "",
  },
  {
    said: /and give it as preRegistered/g,
    option: "--token-file",
    withOption: "or get a token for it, and give --token-file FILE",
    inEntry: `or get a token for it, and ${HEADERS}`,
    else: "or get a token for it",
  },
  {
    said: /; give the value with --env or --header instead/g,
    option: "--header",
    withOption: "; give the value with --env or --header instead",
    else: "; set the variable, or write the value there",
  },
];

/** Words that mean the same to everybody. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/(?<!\s)\s+Before that: /g, "\nBefore that: "],
  [
    /\btools\/call was not answered within \d+ ms\./g,
    "$& Its server may have asked a person about the call, and still wait for the answer.",
  ],
  [/it ended at the question\b/g, "the program ended when it was asked for its protocol versions"],
  [/Give its authority in the option ca\b/g, "Name the file of its authority in the variable NODE_EXTRA_CA_CERTS"],
  [/, or set validateOutput to "warn"/g, ""],
  [
    /: show the user the address \(option show\), or have them paste the answer \(pastedRedirect\)/g,
    ": open it yourself",
  ],
];

/** An error's words with what can be changed by the one who reads them, each attempt on a line of its own. */
export function inOptions(message: string, { takes, entry }: Changeable): string {
  const worded = WORDS.reduce((text, [said, word]) => text.replace(said, word), message);
  return SETTINGS.reduce((text, { said, option, withOption, inEntry, else: other }) => {
    const words = takes(option) ? withOption : entry === undefined ? other : (inEntry ?? other);
    return text.replace(said, () => words.replaceAll("ENTRY", entry ?? ""));
  }, worded);
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
