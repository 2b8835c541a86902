// Reads the section commands.
import type { AllowedCommand, ArgumentGrammar, CommandsPolicy, FlagRule, PositionRule } from "./policy.js";
import { oneOf, secondsUpTo, type Section, TEXT, type Expectation, wholeNumber, YES_NO } from "./section.js";
import { type Environment, readAnyPath, readNetwork } from "./read-paths.js";
import { patternRule, ruleAt } from "./faults.js";

// Reads what one argument of a command may be.

const KINDS = ["fixed", "enum", "pattern", "path", "integer"] as const;
/** Longer expressions are not read by people, and cost memory for each state. */
const MAX_PATTERN = 500;
const PATTERN: Expectation<string> = {
  words: `a regular expression of up to ${MAX_PATTERN} characters`,
  read: (value) => (typeof value === "string" && value !== "" && value.length <= MAX_PATTERN ? value : undefined),
};
const ACCESS = oneOf("read", "write");
const BOUND = wholeNumber(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** Exactly one of the kinds; everything else about the mapping is the caller's. */
async function readGrammar(section: Section): Promise<ArgumentGrammar | undefined> {
  const given = KINDS.filter((kind) => section.tree(kind) !== undefined);
  const [kind, second] = given;
  if (kind === undefined || second !== undefined) {
    section.faults.add(section.place, `${section.path} needs exactly one of ${KINDS.join(", ")}`);
    return undefined;
  }
  if (kind === "pattern") return await readPattern(section);
  if (kind === "fixed") {
    const text = section.value("fixed", TEXT)?.value;
    return text === undefined ? undefined : { kind, text };
  }
  if (kind === "path") {
    const access = section.value("path", ACCESS)?.value;
    return access === undefined ? undefined : { kind, access };
  }
  if (kind === "integer") return readInteger(section);
  return { kind, values: (section.list("enum", TEXT) ?? []).map(({ value }) => value) };
}

function readInteger(section: Section): ArgumentGrammar | undefined {
  const [min, max, more] = section.list("integer", BOUND) ?? [];
  if (min && max && !more && min.value <= max.value) return { kind: "integer", min: min.value, max: max.value };
  section.faults.add(
    section.place,
    `${section.name("integer")} needs the lowest and the highest value, as in [1, 100]`,
  );
  return undefined;
}

async function readPattern(section: Section): Promise<ArgumentGrammar | undefined> {
  const source = section.value("pattern", PATTERN);
  if (!source) return undefined;
  // Only policies with such a pattern pay for loading the engine.
  const { RE2JS } = await import("re2js");
  try {
    const compiled = RE2JS.compile(source.value);
    return { kind: "pattern", source: source.value, fits: (text) => compiled.matches(text) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    section.faults.add(source.place, `${section.name("pattern")} is not an RE2 expression (${why}); correct it`);
    return undefined;
  }
}

/** A command that takes longer than an hour hangs. */
const TIMEOUT = secondsUpTo(3_600);
const DEFAULT_TIMEOUT_S = 30;
/** More arguments than a person would write. */
const REPEAT = wholeNumber(1, 1_000);
const COMMAND: Expectation<string> = {
  words: "the name of a command, without spaces, slashes or arguments",
  read: (value) => (typeof value === "string" && /^[^\s/\\\u0000-\u001f\u007f]+$/.test(value) ? value : undefined),
};
/** The name of a command, plugin, secret or database. */
export const ENTRY_NAME: Expectation<string> = {
  words: 'a name of letters, digits, "_" and "-" that begins with a letter, up to 64 long',
  read: (value) => (typeof value === "string" && /^[A-Za-z][\w-]{0,63}$/.test(value) ? value : undefined),
};
export const SHA256: Expectation<string> = {
  words: "a SHA-256 in 64 hexadecimal digits",
  read: (value) => (typeof value === "string" && /^[0-9a-fA-F]{64}$/.test(value) ? value.toLowerCase() : undefined),
};
const FLAG: Expectation<string> = {
  words: "a flag with its dashes, as in --max-count or -n, without a value",
  read: (value) => (typeof value === "string" && /^--?[A-Za-z0-9][\w.-]*$/.test(value) ? value : undefined),
};
const VARIABLE: Expectation<string> = {
  words: "text without control characters",
  read: (value) => (typeof value === "string" && !/[\u0000-\u001f\u007f]/.test(value) ? value : undefined),
};

export async function readCommands(section: Section, environment: Environment): Promise<CommandsPolicy> {
  const blocked = section.list("blocked", COMMAND) ?? [];
  const allowed = new Map<string, AllowedCommand>();
  for (const item of section.items("allowed")) {
    const command = await readCommand(item, environment);
    if (command && allowed.has(command.name))
      item.faults.add(item.place, `there are two commands "${command.name}"; rename one`);
    else if (command) allowed.set(command.name, command);
  }
  section.finish();
  return { blocked: blocked.map(({ value, place }) => patternRule(section.name("blocked"), value, place)), allowed };
}

async function readCommand(item: Section, environment: Environment): Promise<AllowedCommand | undefined> {
  const name = item.need("name", ENTRY_NAME)?.value;
  item.need("executable", TEXT);
  const executable = readAnyPath(item, "executable", environment);
  const rest = {
    sha256: item.value("sha256", SHA256)?.value,
    positions: await readPositions(item),
    flags: await readFlags(item),
    env: readEnv(item.section("env")),
    workingDirectory: readAnyPath(item, "working_directory", environment),
    timeoutMs: (item.value("timeout", TIMEOUT)?.value ?? DEFAULT_TIMEOUT_S) * 1_000,
    network: readNetwork(item.section("network")),
  };
  item.finish();
  if (name === undefined || executable === undefined) return undefined;
  return { name, rule: ruleAt("commands.allowed", name, item.place), executable, ...rest };
}

async function readPositions(item: Section): Promise<PositionRule[]> {
  const positions: PositionRule[] = [];
  const items = item.items("arguments");
  for (const [at, section] of items.entries()) {
    const grammar = await readGrammar(section);
    const repeat = section.value("repeat", REPEAT);
    if (repeat && repeat.value > 1 && at < items.length - 1)
      section.faults.add(repeat.place, `${section.name("repeat")}: only the last argument may be repeated`);
    const optional = section.value("optional", YES_NO)?.value ?? false;
    section.finish();
    const rule = ruleAt(item.name("arguments"), at + 1, section.place);
    if (grammar) positions.push({ rule, grammar, optional, repeat: repeat?.value ?? 1 });
  }
  return positions;
}

async function readFlags(item: Section): Promise<FlagRule[]> {
  const flags: FlagRule[] = [];
  for (const [at, tree] of (item.trees("flags") ?? []).entries()) {
    // A plain text is a switch; a mapping has a value as well.
    if (tree.kind === "value") {
      const flag = item.item(tree, `${item.name("flags")}[${at}]`, FLAG);
      if (flag)
        flags.push({ rule: ruleAt(item.name("flags"), flag.value, flag.place), flag: flag.value, value: undefined });
      continue;
    }
    const section = item.inner(tree, `${item.name("flags")}[${at}]`);
    const flag = section.need("flag", FLAG);
    const value: ArgumentGrammar | undefined = await readGrammar(section);
    section.finish();
    if (flag && value)
      flags.push({ rule: ruleAt(item.name("flags"), flag.value, flag.place), flag: flag.value, value });
  }
  return flags;
}

function readEnv(section: Section): ReadonlyMap<string, string> {
  const variables = section.all(VARIABLE).filter(([name, , place]) => {
    const good = /^[A-Za-z_]\w*$/.test(name);
    if (!good) section.faults.add(place, `${section.name(name)}: this is not the name of an environment variable`);
    return good;
  });
  return new Map(variables.map(([name, { value }]) => [name, value]));
}
