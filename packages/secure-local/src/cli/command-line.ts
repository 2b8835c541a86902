// Reads the command line: options anywhere, then the words of a command.
import { didYouMean } from "../policy/section.js";

/** A command line that cannot be followed; the message is one line that says what to change. */
export class UsageError extends Error {}

export interface CommandLine {
  /** The command and what it is given, without options. */
  readonly words: readonly string[];
  /** Those of the words that stand after `--`; undefined without it. */
  readonly after: readonly string[] | undefined;
  readonly policy: string | undefined;
  readonly audit: string | undefined;
  /** The part of the policy that is meant: a name of its section profiles. */
  readonly profile: string | undefined;
  /** For `serve`: where it listens, as written. */
  readonly host: string | undefined;
  readonly port: string | undefined;
  readonly socket: string | undefined;
  /** For `serve`: requests a second of one caller, as written. */
  readonly rate: string | undefined;
  /** For `serve`: the file of those who have tokens of their own. */
  readonly tokens: string | undefined;
  /** Where processes share, by which key, how the others reach this one, and how keys in Redis begin. */
  readonly redis: string | undefined;
  readonly shareKey: string | undefined;
  readonly address: string | undefined;
  readonly prefix: string | undefined;
  readonly noAuth: boolean;
  readonly sse: boolean;
  readonly quiet: boolean;
  /** For `serve`: with the console beside it. */
  readonly console: boolean;
  /** For `serve`: a line for each call, and what plugins print in it. */
  readonly verbose: boolean;
  /** Does what it would ask about, without asking. */
  readonly yes: boolean;
  /** For `policy init`: the preset to build on, as written. */
  readonly preset: string | undefined;
  /** For `audit`: from when on, as in `7d`. */
  readonly since: string | undefined;
  /** For commands that write a file: which one. */
  readonly output: string | undefined;
  /** For commands that talk to a server: which configuration it is in, and how to talk to it. */
  readonly config: string | undefined;
  readonly url: string | undefined;
  readonly revision: string | undefined;
  readonly timeout: string | undefined;
  readonly token: string | undefined;
  /** The file a bearer token is in. */
  readonly tokenFile: string | undefined;
  /** Megabytes and members of one message of a server, as written. */
  readonly maxMessageMb: string | undefined;
  readonly maxMembers: string | undefined;
  /** For commands that approve definitions: of what was shown, and which of them; empty: all. */
  readonly digest: string | undefined;
  readonly only: readonly string[];
  /** For `call`: the folder that images are written to. */
  readonly saveImages: string | undefined;
  readonly headers: readonly string[];
  readonly env: readonly string[];
  /** For `serve`: origins of web pages that may call. */
  readonly origins: readonly string[];
  /** For `serve`: names that a proxy in front of it is asked by. */
  readonly publicHosts: readonly string[];
  /** For `replay`: in the recorded order only. For `doctor`: whatever is found fails it. */
  readonly strict: boolean;
  /** For `doctor`: checks that are left out. */
  readonly ignore: readonly string[];
  /** For `record`: what becomes of a recording that is there already. */
  readonly append: boolean;
  readonly force: boolean;
  /** For `console`: opens the page in a browser. */
  readonly open: boolean;
  /** For `install`: prints what a client's file needs and writes nothing. */
  readonly print: boolean;
  /** For `servers review`: shows all of it in a terminal too. */
  readonly full: boolean;
  /** For `install`: brings the servers that the client has under the policy. */
  readonly move: boolean;
  /** For `install`: clients reach the server that `serve` runs. */
  readonly attach: boolean;
  /** For `migrate`: to our own API, not by the imports alone. */
  readonly own: boolean;
  /** For `bridge -- COMMAND`: one program for all sessions. */
  readonly shared: boolean;
  readonly json: boolean;
  /** Shows where in the program an error came from, and what plugins print in a call. */
  readonly debug: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

type Switch =
  | "json"
  | "debug"
  | "yes"
  | "help"
  | "version"
  | "noAuth"
  | "sse"
  | "quiet"
  | "console"
  | "verbose"
  | "strict"
  | "append"
  | "force"
  | "shared"
  | "open"
  | "print"
  | "full"
  | "attach"
  | "own"
  | "move";
type Value =
  | "policy"
  | "profile"
  | "preset"
  | "since"
  | "output"
  | "audit"
  | "host"
  | "port"
  | "socket"
  | "rate"
  | "tokens"
  | "redis"
  | "shareKey"
  | "address"
  | "prefix"
  | "config"
  | "url"
  | "revision"
  | "timeout"
  | "token"
  | "tokenFile"
  | "maxMessageMb"
  | "maxMembers"
  | "saveImages"
  | "digest";
type List = "headers" | "env" | "origins" | "publicHosts" | "ignore" | "only";
type Key = Switch | Value | List;

const SWITCHES: ReadonlyMap<string, Switch> = new Map([
  ["--json", "json"],
  ["--full", "full"],
  ["--debug", "debug"],
  ["--yes", "yes"],
  ["--help", "help"],
  ["-h", "help"],
  ["--version", "version"],
  ["-v", "version"],
  ["-V", "version"],
  ["--no-auth", "noAuth"],
  ["--sse", "sse"],
  ["--quiet", "quiet"],
  ["--console", "console"],
  ["--verbose", "verbose"],
  ["--strict", "strict"],
  ["--append", "append"],
  ["--force", "force"],
  ["--shared", "shared"],
  ["--open", "open"],
  ["--print", "print"],
  ["--attach", "attach"],
  ["--own", "own"],
  ["--move", "move"],
]);
const VALUES: ReadonlyMap<string, Value> = new Map([
  ["--policy", "policy"],
  ["--profile", "profile"],
  ["--preset", "preset"],
  ["--since", "since"],
  ["--output", "output"],
  ["--audit", "audit"],
  ["--host", "host"],
  ["--port", "port"],
  ["--socket", "socket"],
  ["--rate", "rate"],
  ["--tokens", "tokens"],
  ["--redis", "redis"],
  ["--share-key", "shareKey"],
  ["--address", "address"],
  ["--prefix", "prefix"],
  ["--config", "config"],
  ["--url", "url"],
  ["--revision", "revision"],
  ["--timeout", "timeout"],
  ["--token", "token"],
  ["--token-file", "tokenFile"],
  ["--max-message-mb", "maxMessageMb"],
  ["--max-members", "maxMembers"],
  ["--save-images", "saveImages"],
  ["--digest", "digest"],
]);
/** Options that may come several times. */
const LISTS: ReadonlyMap<string, List> = new Map([
  ["--header", "headers"],
  ["--env", "env"],
  ["--origin", "origins"],
  ["--public-host", "publicHosts"],
  ["--ignore", "ignore"],
  ["--only", "only"],
]);
/** What stands after an option, where it is not the name of a file. */
const WANTED: ReadonlyMap<string, string> = new Map([
  ["--profile", "a name of the policy's profiles, as in --profile work"],
  ["--preset", "a name, as in --preset read-only"],
  ["--since", "how long ago or a date, as in --since 7d"],
  ["--host", "an address, as in --host 127.0.0.1"],
  ["--port", "a number, as in --port 3333"],
  ["--rate", "a number of requests a second, as in --rate 100"],
  ["--redis", "an address of Redis, as in --redis redis://127.0.0.1:6379"],
  ["--address", "where other processes reach this one, as in --address tcp://10.0.0.5:3101"],
  ["--prefix", "what keys in Redis begin with, as in --prefix team"],
  ["--url", "a URL, as in --url http://127.0.0.1:3000/mcp"],
  ["--revision", "a date, as in --revision 2025-11-25"],
  ["--timeout", "a number of seconds, as in --timeout 30"],
  ["--token", "a bearer token, as in --token abc"],
  ["--origin", "the origin of a web page, as in --origin https://app.example"],
  ["--public-host", "the name that clients ask for, as in --public-host mcp.example.com"],
  ["--max-message-mb", "a number of megabytes, as in --max-message-mb 64"],
  ["--max-members", "a number, as in --max-members 1000000"],
  ["--save-images", "the name of a folder, as in --save-images shots"],
  ["--digest", "the digest of what was shown, as in --digest 1f0c…"],
  ["--header", "a header, as in --header 'X-Key: abc'"],
  ["--env", "a variable, as in --env KEY=value"],
  ["--ignore", "the name of a check, as in --ignore batch"],
  ["--only", "what is approved, as in --only 'tool read'"],
]);
/** Options that only `serve` has. */
const SERVE_ONLY: readonly Key[] = [
  "host",
  "port",
  "socket",
  "rate",
  "tokens",
  "origins",
  "publicHosts",
  "noAuth",
  "sse",
  "quiet",
  "verbose",
  "console",
];
/** Those of them that `bridge -- COMMAND` does not have. */
const SERVE_ALONE: readonly Key[] = ["socket", "rate", "tokens", "sse", "quiet", "verbose", "console"];
const NOT_SERVE: ReadonlyMap<string, readonly Key[]> = new Map([
  ["bridge", SERVE_ALONE],
  ["console", SERVE_ONLY.filter((key) => key !== "port")],
  ["doctor", SERVE_ONLY.filter((key) => key !== "tokens")],
]);
/** Options that only commands have which talk to a server, and those commands. */
const TARGET_ONLY: readonly Key[] = [
  "config",
  "url",
  "revision",
  "timeout",
  "token",
  "headers",
  "env",
  "append",
  "shared",
  "tokenFile",
  "maxMessageMb",
  "maxMembers",
  "saveImages",
  "ignore",
];
/** Commands that look into what processes share. */
const SHARING: readonly string[] = ["serve", "doctor", "audit"];
/** Options of few of those commands. */
const OWNERS: readonly (readonly [Key, readonly string[]])[] = [
  ["strict", ["replay", "doctor", "policy"]],
  ["ignore", ["doctor"]],
  ["force", ["record", "audit", "policy"]],
  ["since", ["audit"]],
  ["open", ["console"]],
  ["print", ["install"]],
  ["move", ["install"]],
  ["attach", ["install"]],
  ["own", ["migrate"]],
  ["digest", ["plugins", "servers"]],
  ["only", ["plugins", "servers"]],
  ["output", ["audit", "policy"]],
  // Without a command, too: that is how clients start this program.
  ["profile", ["", "serve", "attach", "tools", "call", "policy", "install", "doctor"]],
  ["redis", SHARING],
  ["shareKey", SHARING],
  ["prefix", SHARING],
  ["address", ["serve"]],
];
/** Those of them that other commands have, too. */
const SHARED_WITH: ReadonlyMap<string, readonly Key[]> = new Map([
  ["sandbox", ["config", "env"]],
  ["servers", ["env", "headers"]],
]);
const TARGET_COMMANDS = [
  "inspect",
  "doctor",
  "tools",
  "call",
  "read",
  "prompt",
  "record",
  "replay",
  "trust",
  "bridge",
  "list",
];

/** Characters of a word that a message repeats. */
const MAX_SHOWN = 80;
const NO_VALUES = Object.fromEntries([...VALUES.values()].map((key) => [key, undefined])) as Record<Value, undefined>;
const NO_SWITCHES = Object.fromEntries([...SWITCHES.values()].map((key) => [key, false])) as Record<Switch, false>;

/** @throws UsageError for an option that does not exist, lacks its value, has one too many or comes twice, and for a NUL character */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const ended = argv.find((word) => word.includes("\0"));
  if (ended !== undefined)
    throw new UsageError(
      `${JSON.stringify(ended.slice(0, MAX_SHOWN))} has a NUL character, which no name and no path can hold; leave it out, or write * for it where names are looked for`,
    );
  const words: string[] = [];
  const values: Record<Value, string | undefined> = { ...NO_VALUES };
  const switches: Record<Switch, boolean> = { ...NO_SWITCHES };
  const lists: Record<List, string[]> = { headers: [], env: [], origins: [], publicHosts: [], ignore: [], only: [] };
  const rest = [...argv];
  let after: string[] | undefined;
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      after = [...rest];
      words.push(...after);
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      words.push(word);
      continue;
    }
    const [name, given] = splitOption(word);
    const flag = SWITCHES.get(name);
    const list = LISTS.get(name);
    const key = VALUES.get(name);
    if (flag !== undefined && given === undefined) switches[flag] = true;
    else if (flag !== undefined) throw new UsageError(`${name} takes no value; leave out "=${given}"`);
    else if (list !== undefined) lists[list].push(valueOf(name, given ?? rest.shift()));
    else if (key === undefined) throw unknownOption(name, words);
    else if (values[key] !== undefined) throw new UsageError(`${name} is given twice; keep one`);
    else values[key] = valueOf(name, given ?? rest.shift());
  }
  return { words, after, ...values, ...switches, ...lists };
}

/** Throws a UsageError for an option that the command does not have and another one has. */
export function refuseForeign(line: CommandLine, command: string | undefined): void {
  const serving = command === "serve" ? undefined : optionOf(line, NOT_SERVE.get(command ?? "") ?? SERVE_ONLY);
  if (serving !== undefined)
    throw new UsageError(`${serving} belongs to serve, as in mcp-secure-local serve ${serving}`);
  const shared = SHARED_WITH.get(command ?? "") ?? [];
  const foreign = TARGET_ONLY.filter((key) => !shared.includes(key));
  const targeted = TARGET_COMMANDS.includes(command ?? "") ? undefined : optionOf(line, foreign);
  if (targeted !== undefined)
    throw new UsageError(`${targeted} belongs to commands that talk to a server: ${TARGET_COMMANDS.join(", ")}`);
  for (const [key, owners] of OWNERS) {
    const own = owners.includes(command ?? "") ? undefined : optionOf(line, [key]);
    if (own !== undefined) throw new UsageError(`${own} belongs to ${owners.filter(Boolean).join(" and ")}`);
  }
}

function optionOf(line: CommandLine, keys: readonly Key[]): string | undefined {
  const given = keys.find((key) => {
    const value = line[key];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
  return [...SWITCHES, ...VALUES, ...LISTS].find(([, value]) => value === given)?.[0];
}

/** The policy as the command line named it, so that a command that is advised is about the same one. */
export function inUse({ policy }: Pick<CommandLine, "policy">): string {
  return policy === undefined ? "" : ` --policy ${adviceWord(policy)}`;
}

/** A word as a shell takes it for one. */
export function adviceWord(word: string): string {
  return /^[\w@%+=:,./\\-]*$/.test(word) ? word : JSON.stringify(word);
}

/** The nearest of some names, for a message: `; did you mean "x"?` or nothing. */
export function nearest(given: string, names: Iterable<string>): string {
  return didYouMean(given, names);
}

function splitOption(word: string): [string, string | undefined] {
  const equals = word.indexOf("=");
  return equals < 0 ? [word, undefined] : [word.slice(0, equals), word.slice(equals + 1)];
}

function valueOf(name: string, value: string | undefined): string {
  if (value !== undefined && value !== "" && !value.startsWith("--")) return value;
  throw new UsageError(`${name} needs ${WANTED.get(name) ?? `the name of a file, as in ${name} FILE`}`);
}

function unknownOption(name: string, [command, action, kind]: readonly string[]): UsageError {
  if (command === "policy" && action === "explain" && kind === "run")
    return new UsageError(
      `${name} belongs to the command you ask about: put -- before it, as in policy explain run -- ls -la`,
    );
  const names = [...SWITCHES.keys(), ...VALUES.keys(), ...LISTS.keys()].filter((known) => known.startsWith("--"));
  const bare = names.map((known) => known.slice(2));
  const near = nearest(name.replace(/^-+/, ""), bare).replace('"', '"--');
  const page = command === undefined ? "--help" : `help ${adviceWord(command)}`;
  return new UsageError(`there is no option ${name}${near || `; see mcp-secure-local ${page}`}`);
}
