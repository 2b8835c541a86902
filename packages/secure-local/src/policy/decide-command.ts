// Decides whether a command may be run with some arguments. Pure: no path is followed and nothing is looked up.
import { basename, resolve } from "node:path";
import type { AllowedCommand, ArgumentGrammar, PositionRule } from "./commands-policy.js";
import { decide, type Decision } from "./decide.js";
import type { Policy } from "./policy.js";
import type { Rule } from "./rule.js";

/** A path among the arguments, in full; whoever runs the command has to follow links and decide again. */
export interface CommandPath {
  readonly path: string;
  readonly access: "read" | "write";
  /** Which argument it stands in, and what stands before it there (`--file=`). */
  readonly argument: number;
  readonly before: string;
}

export interface CommandDecision extends Decision {
  /** Undefined unless allowed. */
  readonly command: AllowedCommand | undefined;
  readonly paths: readonly CommandPath[];
}

const DEFAULT_DENY: Rule = Object.freeze({ text: "default deny" });

/** An operand that begins with `-` is refused where its grammar does not spell it out, since the command could take it for a flag. */
export function decideCommand(policy: Policy, name: string, given: readonly string[]): CommandDecision {
  const command = policy.commands.allowed.get(name);
  const blocked = policy.commands.blocked.find(
    ({ pattern }) => same(pattern, name) || (command && same(pattern, basename(command.executable))),
  );
  if (blocked) return refused(blocked.rule, `The policy blocks the command "${name}".`);
  if (!command) {
    return refused(DEFAULT_DENY, `The policy does not name the command "${name}"; add it to commands.allowed.`);
  }
  return new Reading(policy, command).read(given);
}

function same(pattern: string, name: string): boolean {
  return pattern.toLowerCase() === name.toLowerCase();
}

function refused(rule: Rule, reason: string): CommandDecision {
  return { allowed: false, rule, reason, command: undefined, paths: [] };
}

/** One reading of the arguments, from left to right. */
class Reading {
  readonly #policy: Policy;
  readonly #command: AllowedCommand;
  readonly #paths: CommandPath[] = [];
  readonly #seen: Set<string> = new Set();
  #position = 0;
  #times = 0;
  /** Where the text stands that is being read. */
  #place: Pick<CommandPath, "argument" | "before"> = { argument: 0, before: "" };

  constructor(policy: Policy, command: AllowedCommand) {
    this.#policy = policy;
    this.#command = command;
  }

  read(given: readonly string[]): CommandDecision {
    const { name, positions, rule } = this.#command;
    const leading = positions.findIndex(({ grammar }) => grammar.kind !== "fixed");
    const fixed = leading < 0 ? positions.length : leading;
    let flagsEnded = false;
    for (let at = 0; at < given.length; at++) {
      const text = given[at]!;
      this.#place = { argument: at, before: "" };
      if (text.includes("\0")) return refused(rule, `An argument of "${name}" holds a NUL character.`);
      if (!flagsEnded && text === "--" && at >= fixed) flagsEnded = true;
      else if (!flagsEnded && at >= fixed && this.#isFlag(text)) {
        const used = this.#flag(text, at, given[at + 1]);
        if (typeof used === "object") return used;
        at += used;
      } else {
        const wrong = this.#operand(text, at);
        if (wrong) return wrong;
      }
    }
    const missing = positions
      .slice(this.#times > 0 ? this.#position + 1 : this.#position)
      .find((each) => !each.optional);
    if (missing) return refused(missing.rule, `The command "${name}" lacks an argument: ${words(missing.grammar)}.`);
    const reason = `The policy allows the command "${name}" with these arguments.`;
    return { allowed: true, rule, reason, command: this.#command, paths: this.#paths };
  }

  #isFlag(text: string): boolean {
    const known = this.#command.flags.some(({ flag }) => flag === text || text.startsWith(`${flag}=`));
    return known || (text.startsWith("-") && !this.#literal(text));
  }

  /** Whether the position spells out this very text. */
  #literal(text: string): boolean {
    const grammar = this.#next()?.grammar;
    const literal = grammar?.kind === "fixed" || grammar?.kind === "enum" || grammar?.kind === "integer";
    return literal && this.#fits(grammar, text);
  }

  #next(): PositionRule | undefined {
    return this.#command.positions[this.#position];
  }

  /** How many further arguments the flag took, or why it is refused. */
  #flag(text: string, at: number, after: string | undefined): number | CommandDecision {
    const { name, flags, rule } = this.#command;
    const equals = text.indexOf("=");
    const flagName = equals < 0 ? text : text.slice(0, equals);
    const flag = flags.find((each) => each.flag === flagName);
    if (!flag) return refused(rule, `The policy allows the command "${name}" no flag "${flagName}".`);
    if (this.#seen.has(flagName)) return refused(flag.rule, `The flag "${flagName}" of "${name}" is given twice.`);
    this.#seen.add(flagName);
    if (!flag.value) {
      return equals < 0 ? 0 : refused(flag.rule, `The flag "${flagName}" of "${name}" takes no value.`);
    }
    const value = equals < 0 ? after : text.slice(equals + 1);
    this.#place = equals < 0 ? { argument: at + 1, before: "" } : { argument: at, before: `${flagName}=` };
    const good = value !== undefined && !this.#dashed(flag.value, value) && this.#fits(flag.value, value);
    if (!good) return refused(flag.rule, `The flag "${flagName}" of "${name}" needs ${words(flag.value)}.`);
    return equals < 0 ? 1 : 0;
  }

  #operand(text: string, at: number): CommandDecision | undefined {
    const { name, rule } = this.#command;
    const position = this.#next();
    if (!position) return refused(rule, `The policy allows the command "${name}" no further argument than ${at}.`);
    if (this.#dashed(position.grammar, text) || !this.#fits(position.grammar, text)) {
      return refused(position.rule, `Argument ${at + 1} of "${name}" must be ${words(position.grammar)}.`);
    }
    this.#times += 1;
    if (this.#times >= position.repeat) {
      this.#position += 1;
      this.#times = 0;
    }
    return undefined;
  }

  #dashed(grammar: ArgumentGrammar, text: string): boolean {
    return text.startsWith("-") && (grammar.kind === "pattern" || grammar.kind === "path");
  }

  #fits(grammar: ArgumentGrammar, text: string): boolean {
    switch (grammar.kind) {
      case "fixed":
        return text === grammar.text;
      case "enum":
        return grammar.values.includes(text);
      case "pattern":
        return grammar.fits(text);
      case "integer":
        return /^(?:0|-?[1-9]\d{0,15})$/.test(text) && Number(text) >= grammar.min && Number(text) <= grammar.max;
      case "path":
        return this.#path(text, grammar.access);
    }
  }

  #path(text: string, access: CommandPath["access"]): boolean {
    const path = resolve(this.#command.workingDirectory ?? "/", text);
    if (text === "" || !decide(this.#policy, { kind: "file", path, op: access }).allowed) return false;
    this.#paths.push({ path, access, ...this.#place });
    return true;
  }
}

/** What an argument must be. */
function words(grammar: ArgumentGrammar): string {
  switch (grammar.kind) {
    case "fixed":
      return `"${grammar.text}"`;
    case "enum":
      return `one of ${grammar.values.map((value) => `"${value}"`).join(", ")}`;
    case "pattern":
      return `a text that fits ${grammar.source} and does not begin with -`;
    case "integer":
      return `a whole number from ${grammar.min} to ${grammar.max}`;
    case "path":
      return `a path that the filesystem section allows to ${grammar.access}`;
  }
}
