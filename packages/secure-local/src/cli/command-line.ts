// Reads the command line: options anywhere, then the words of a command.
import { didYouMean } from "../policy/near-name.js";

/** A command line that cannot be followed; the message is one line that says what to change. */
export class UsageError extends Error {}

export interface CommandLine {
  /** The command and what it is given, without options. */
  readonly words: readonly string[];
  readonly policy: string | undefined;
  readonly audit: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

const SWITCHES: ReadonlyMap<string, "json" | "help" | "version"> = new Map([
  ["--json", "json"],
  ["--help", "help"],
  ["-h", "help"],
  ["--version", "version"],
  ["-v", "version"],
]);
const VALUES: ReadonlyMap<string, "policy" | "audit"> = new Map([
  ["--policy", "policy"],
  ["--audit", "audit"],
]);

/** @throws UsageError for an option that does not exist, lacks its value, has one too many or comes twice */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const words: string[] = [];
  const values: { policy: string | undefined; audit: string | undefined } = { policy: undefined, audit: undefined };
  const switches = { json: false, help: false, version: false };
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
  throw new UsageError(`${name} needs the name of a file, as in ${name} FILE`);
}

function unknownOption(name: string): UsageError {
  const names = [...SWITCHES.keys(), ...VALUES.keys()].filter((known) => known.startsWith("--"));
  const bare = names.map((known) => known.slice(2));
  const near = nearest(name.replace(/^-+/, ""), bare).replace('"', '"--');
  return new UsageError(`there is no option ${name}${near || "; see mcp-secure-local --help"}`);
}
