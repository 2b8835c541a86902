// Writes what each allowed command takes in one line.
import type { AllowedCommand, ArgumentGrammar, Policy, PositionRule } from "../policy/policy.js";
import type { CommandUsage } from "./policy-run.js";

/** In the order of the policy. */
export function commandUsages({ commands }: Policy): CommandUsage[] {
  return [...commands.allowed.values()].map((command) => ({ name: command.name, usage: usageOf(command) }));
}

function usageOf({ positions, flags }: AllowedCommand): string {
  const first = positions.findIndex(({ grammar }) => grammar.kind !== "fixed");
  const fixed = first < 0 ? positions.length : first;
  const options = flags.map(({ flag, value }) => (value === undefined ? `[${flag}]` : `[${flag} ${words(value)}]`));
  return [...positions.slice(0, fixed).map(position), ...options, ...positions.slice(fixed).map(position)].join(" ");
}

function position({ grammar, optional, repeat }: PositionRule): string {
  const text = repeat > 1 ? `${words(grammar)}…` : words(grammar);
  return optional ? `[${text}]` : text;
}

function words(grammar: ArgumentGrammar): string {
  switch (grammar.kind) {
    case "fixed":
      return grammar.text;
    case "enum":
      return grammar.values.join("|");
    case "pattern":
      return `/${grammar.source}/`;
    case "integer":
      return `${grammar.min}..${grammar.max}`;
    case "path":
      return grammar.access === "read" ? "PATH" : "PATH(written)";
  }
}
