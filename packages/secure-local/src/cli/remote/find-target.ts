// Says which server a command line means: a command after `--`, a URL, or a name from a configuration file.
import { configuredTarget, type Consent } from "@secure-local/mcp-tools/configured-servers";
import { looksLikeUrl, PASSED_ON, readHeaders, readVariables, type Target } from "@secure-local/mcp-tools/target";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { complain } from "../terminal.js";

interface Found {
  readonly target: Target;
  /** The words that are no target. */
  readonly words: readonly string[];
}

/** Throws a UsageError without a target, a LocalError USAGE for one that is nowhere. */
export async function findTarget(line: CommandLine, usage: string): Promise<Found> {
  const { after, url, words } = line;
  if (after !== undefined && url !== undefined) throw new UsageError("give a command after -- or a --url, not both");
  if (after !== undefined) return commandTarget(line, after);
  if (url !== undefined) return { target: urlTarget(line, url), words };
  const [first, ...rest] = words;
  if (first === undefined)
    throw new UsageError(`${usage}; TARGET is a URL, a name from a configuration file, or -- COMMAND…`);
  if (looksLikeUrl(first)) return { target: urlTarget(line, first), words: rest };
  const given = Object.keys({ ...readVariables(line.env), ...readHeaders(line.headers) });
  // Loaded for names alone: what it takes to ask is much.
  const { askForTrust, untrustedServer, TRUSTED } = await import("./folder-trust.js");
  let digest: string | undefined;
  const warn = (text: string): void => complain(`mcp-secure-local: ${cleanLine(text)}`);
  const consent: Consent = async (found) => {
    await askForTrust(found);
    ({ digest } = await untrustedServer(found));
  };
  const target = withOptions(await configuredTarget(first, { file: line.config, given, consent, warn }), line);
  return { target: inSandbox(target, digest === undefined ? {} : { [TRUSTED]: digest }), words: rest };
}

/** What VS Code starts in a sandbox is started in ours: by this very program, which reads of it in the same file. */
export function inSandbox(target: Target, trusted: Readonly<Record<string, string>>): Target {
  if (target.kind === "url" || target.sandboxed === undefined) return target;
  const { file, name } = target.sandboxed;
  const env = { ...target.env, ...trusted, [PASSED_ON]: Object.keys(target.env).join(",") };
  const args = [process.argv[1] ?? "", "sandbox", "--config", file, name];
  return { kind: "command", command: process.execPath, args, env, cwd: target.cwd };
}

function commandTarget(line: CommandLine, [command, ...args]: readonly string[]): Found {
  if (command === undefined) throw new UsageError("a command has to stand after --, as in -- npx -y some-server");
  const target: Target = { kind: "command", command, args, env: {} };
  return {
    target: withOptions(target, line),
    words: line.words.slice(0, line.words.length - args.length - 1),
  };
}

function urlTarget(line: CommandLine, url: string): Target {
  return withOptions({ kind: "url", url, headers: {} }, line);
}

function withOptions(target: Target, line: CommandLine): Target {
  if (target.kind === "command") {
    if (line.headers.length > 0) throw new UsageError("--header is for URLs; a command takes --env KEY=value");
    if (line.token !== undefined) throw new UsageError("--token is for URLs; a command takes --env KEY=value");
    return { ...target, env: { ...target.env, ...readVariables(line.env) } };
  }
  if (line.env.length > 0) throw new UsageError("--env is for commands; a URL takes --header 'Name: value'");
  return { ...target, headers: { ...target.headers, ...readHeaders(line.headers) } };
}

// Tells whether `tools` and `call` are about another server than our own; loads nothing of what that takes.

const URL_LIKE = /^(?:[a-z][a-z0-9+.-]*:\/\/|unix:)/i;
// Both a server in a file and a tool may be called so.
const NAME = /^[A-Za-z][\w./@-]*$/;

/** Whether a command line of `read`, `prompt` or `inspect` is about our own server: it names no other, and has what its command needs. */
export function isOwn(line: CommandLine, words: number): boolean {
  const [first = "", second = ""] = line.words;
  if (line.after !== undefined || line.url !== undefined || line.config !== undefined) return false;
  if (words === 0) return line.words.length === 0;
  // Arguments follow the name: of a server of another the name of its prompt would.
  const named = line.words.length === words || /^(?:[A-Za-z_][\w.-]*=|\{)/.test(second);
  return named && first !== "" && !/^https?:\/\/|^unix:/i.test(first);
}

/** Whether a command line of `tools` or `call` is about another server than our own. */
export function namesTarget(line: CommandLine, words: number): boolean {
  const [first = "", second = ""] = line.words;
  if (line.after !== undefined || line.url !== undefined || line.config !== undefined) return true;
  if (URL_LIKE.test(first)) return true;
  return line.words.length > words && NAME.test(first) && (words === 0 || NAME.test(second));
}
