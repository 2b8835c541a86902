// Reads the command line: options anywhere, then the words of a command.
import { didYouMean } from "../policy/near-name.js";

/** A command line that cannot be followed; the message is one line that says what to change. */
export class UsageError extends Error {}

export interface CommandLine {
  /** The command and what it is given, without options. */
  readonly words: readonly string[];
  readonly policy: string | undefined;
  readonly audit: string | undefined;
  /** For `serve`: where it listens, as written. */
  readonly host: string | undefined;
  readonly port: string | undefined;
  readonly socket: string | undefined;
  readonly noAuth: boolean;
  readonly sse: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

type Switch = "json" | "help" | "version" | "noAuth" | "sse" | "quiet";
type Value = "policy" | "audit" | "host" | "port" | "socket";

const SWITCHES: ReadonlyMap<string, Switch> = new Map([
  ["--json", "json"],
  ["--help", "help"],
  ["-h", "help"],
  ["--version", "version"],
  ["-v", "version"],
  ["--no-auth", "noAuth"],
  ["--sse", "sse"],
  ["--quiet", "quiet"],
]);
const VALUES: ReadonlyMap<string, Value> = new Map([
  ["--policy", "policy"],
  ["--audit", "audit"],
  ["--host", "host"],
  ["--port", "port"],
  ["--socket", "socket"],
]);
/** What stands after an option, where it is not the name of a file. */
const WANTED: ReadonlyMap<string, string> = new Map([
  ["--host", "an address, as in --host 127.0.0.1"],
  ["--port", "a number, as in --port 3333"],
]);
/** Options that only `serve` has. */
const SERVE_ONLY: readonly (Switch | Value)[] = ["host", "port", "socket", "noAuth", "sse", "quiet"];

/** @throws UsageError for an option that does not exist, lacks its value, has one too many or comes twice */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const words: string[] = [];
  const values: Record<Value, string | undefined> = {
    policy: undefined,
    audit: undefined,
    host: undefined,
    port: undefined,
    socket: undefined,
  };
  const switches: Record<Switch, boolean> = {
    json: false,
    help: false,
    version: false,
    noAuth: false,
    sse: false,
    quiet: false,
  };
  const rest = [...argv];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "--") {
      words.push(...rest);
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      words.push(word);
      continue;
    }
    const [name, given] = splitOption(word);
    const flag = SWITCHES.get(name);
    const key = VALUES.get(name);
    if (flag !== undefined && given === undefined) switches[flag] = true;
    else if (flag !== undefined) throw new UsageError(`${name} takes no value; leave out "=${given}"`);
    else if (key === undefined) throw unknownOption(name);
    else if (values[key] !== undefined) throw new UsageError(`${name} is given twice; keep one`);
    else values[key] = valueOf(name, given ?? rest.shift());
  }
  return { words, ...values, ...switches };
}

/** The first option on a command line that only `serve` has; undefined without one. */
export function serveOption(line: CommandLine): string | undefined {
  const key = SERVE_ONLY.find((each) => line[each] !== undefined && line[each] !== false);
  return [...SWITCHES, ...VALUES].find(([, value]) => value === key)?.[0];
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

function unknownOption(name: string): UsageError {
  const names = [...SWITCHES.keys(), ...VALUES.keys()].filter((known) => known.startsWith("--"));
  const bare = names.map((known) => known.slice(2));
  const near = nearest(name.replace(/^-+/, ""), bare).replace('"', '"--');
  return new UsageError(`there is no option ${name}${near || "; see mcp-secure-local --help"}`);
}
