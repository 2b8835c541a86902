// What a person can point at: a command to start, or a URL.
import { LocalError } from "@secure-local/mcp/client/node";

export interface CommandTarget {
  readonly kind: "command";
  readonly command: string;
  readonly args: readonly string[];
  /** Variables beside the few a child gets from us. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** VS Code starts it in a sandbox. */
  readonly sandboxed?: VscodeServer | undefined;
}

/**
 * Variable that names the variables of the process which are the server's: set where this program starts itself to put a server
 * into its sandbox.
 */
export const PASSED_ON = "MCP_SECURE_LOCAL_SANDBOX_ENV";

/** A server of VS Code's that has `sandboxEnabled`. */
export interface VscodeServer {
  readonly name: string;
  /** The configuration it is in. */
  readonly file: string;
  readonly workspace: string;
  /** Its member `sandbox`, as it is. */
  readonly sandbox: unknown;
}

export interface UrlTarget {
  readonly kind: "url";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type Target = CommandTarget | UrlTarget;

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

export function looksLikeUrl(word: string): boolean {
  return SCHEME.test(word) || word.startsWith("unix:");
}

/** A target on one line, without the values of its variables and headers, and without what a URL's query may hide. */
export function targetText(target: Target): string {
  if (target.kind === "command") return [target.command, ...target.args].map(quoted).join(" ");
  if (!URL.canParse(target.url)) return target.url;
  const url = new URL(target.url);
  const names = [...url.searchParams.keys()].map((name) => `${name}=…`);
  const base = url.host === "" ? `${url.protocol}${url.pathname}${url.hash}` : `${url.origin}${url.pathname}`;
  return names.length === 0 ? base : `${base}?${names.join("&")}`;
}

/** Reads `NAME=value` words, of variables. Throws a LocalError USAGE for another word. */
export function readVariables(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(words.map((word) => pair(word, /^([^=]+)=([\s\S]*)$/, "KEY=value")));
}

/** Reads `Name: value` words, of headers. Throws a LocalError USAGE for another word. */
export function readHeaders(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(words.map((word) => pair(word, /^([^:=\s]+):\s*((?:\S[^\r\n]*)?)$/, "Name: value")));
}

function pair(word: string, form: RegExp, like: string): [string, string] {
  const [, name, value] = form.exec(word) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  // The word may be a secret that lost its name.
  throw new LocalError("USAGE", `one of the options --env and --header is not of the form "${like}"`);
}

function quoted(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
