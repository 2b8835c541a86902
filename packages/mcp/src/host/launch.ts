// Says exactly what would be started or connected to, for the person who is to allow it.
import { visibleText } from "../jsonrpc/visible-text.js";
import { digestOf } from "./digest.js";
import { type CommandTarget, type HostTarget, isCommand, urlTarget } from "./host-target.js";

/** What is about to happen for one server. Nothing in it is cut or left out but secret values. */
export interface Launch {
  /** Name of the server in this host. */
  readonly name: string;
  readonly kind: "command" | "url" | "program";
  /** One line fit for a terminal: the command with every argument quoted, or the URL. */
  readonly text: string;
  /** The program and its arguments as they are; empty unless `kind` is `command`. */
  readonly argv: readonly string[];
  /** Where the program starts; undefined: where the host runs. */
  readonly cwd: string | undefined;
  /** Names of the variables it is given; `*` when it gets all of ours. */
  readonly env: readonly string[];
  /** Those of them that decide what code runs, with their values. */
  readonly steering: Readonly<Record<string, string>>;
  /** Exact URL; undefined unless `kind` is `url`. */
  readonly url: string | undefined;
  /** Names of the headers sent with every request. */
  readonly headers: readonly string[];
  /** SHA-256 of all of this, values included: any change gives another one. */
  readonly digest: string;
}

// Variables by which the same command runs other code.
const STEERING =
  /^(?:PATH|NODE_OPTIONS|NODE_PATH|LD_.+|DYLD_.+|PYTHON(?:PATH|HOME|STARTUP)|RUBY(?:OPT|LIB)|PERL5(?:OPT|LIB)|BASH_ENV|ENV|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_SSH_COMMAND|npm_config_.+|PIP_.+|UV_.+)$/i;
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** What adding `target` under `name` would start or connect to. Throws a TypeError for a URL that is none. */
export async function launchOf(name: string, target: HostTarget): Promise<Launch> {
  const facts = isCommand(target) ? commandFacts(target) : (urlFacts(target) ?? PROGRAM);
  const { values, ...shown } = facts;
  return { name, ...shown, digest: await digestOf([shown, values]) };
}

type Facts = Omit<Launch, "name" | "digest"> & { readonly values: unknown };

const NOTHING = { argv: [], cwd: undefined, env: [], steering: {}, url: undefined, headers: [] };
const PROGRAM: Facts = { ...NOTHING, kind: "program", text: "a server within this program", values: [] };

function commandFacts({ command, args = [], env = {}, inheritEnv = false, cwd }: CommandTarget): Facts {
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const inherited = inheritEnv === true ? ["*"] : inheritEnv === false ? [] : inheritEnv;
  const argv = [command, ...args];
  const folder = cwd === undefined ? "" : ` (in ${quoted(cwd)})`;
  return {
    ...NOTHING,
    kind: "command",
    text: argv.map(quoted).join(" ") + folder,
    argv,
    cwd,
    env: [...set.map(([name]) => name), ...inherited].sort(),
    steering: Object.fromEntries(set.filter(([name]) => STEERING.test(name))),
    values: set.sort(([one], [other]) => (one < other ? -1 : 1)),
  };
}

function urlFacts(target: HostTarget): Facts | undefined {
  const found = urlTarget(target);
  if (found === undefined) return undefined;
  const { href } = new URL(found.url);
  const headers = Object.entries(found.headers ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
  const names = headers.map(([name]) => name.toLowerCase());
  return {
    ...NOTHING,
    kind: "url",
    text: visibleText(href, Number.POSITIVE_INFINITY),
    url: href,
    headers: names,
    values: [headers, found.transport ?? ""],
  };
}

function quoted(argument: string): string {
  if (PLAIN.test(argument)) return argument;
  return `'${visibleText(argument, Number.POSITIVE_INFINITY).replaceAll("'", `'\\''`)}'`;
}
