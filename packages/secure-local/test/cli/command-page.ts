// Writes the tables of docs/command-line.md from what the help is made of.
import { COMMAND_PAGES } from "../../src/cli/command-reference.js";
import { COMMON_OPTIONS, OPTION_PAGES, VARIABLES } from "../../src/cli/option-reference.js";

const cell = (text: string): string => text.replaceAll("|", "\\|");
const code = (text: string): string => `\`${text.replaceAll("|", "\\|")}\``;

/** Every command, option and variable there is, as Markdown. */
export function referenceTables(): string {
  const named = (name: string): string => {
    const { value } = OPTION_PAGES[name]!;
    return value === undefined ? name : `${name} ${value}`;
  };
  const commands = COMMAND_PAGES.map(
    ({ name, usage, about, options = [] }) =>
      `| ${code(`${name} ${usage}`.trimEnd())} | ${cell(about)} | ${options.map(code).join(", ")} |`,
  );
  const options = Object.entries(OPTION_PAGES).map(([name, { about }]) => `| ${code(named(name))} | ${cell(about)} |`);
  const variables = VARIABLES.map(([name, about]) => `| ${name.split(", ").map(code).join(", ")} | ${cell(about)} |`);
  return [
    `Every command takes ${COMMON_OPTIONS.map(code).join(", ")} besides its own.`,
    "",
    "| command | what it does | options |",
    "| --- | --- | --- |",
    ...commands,
    "",
    "| option | |",
    "| --- | --- |",
    ...options,
    "",
    "| variable | |",
    "| --- | --- |",
    ...variables,
  ].join("\n");
}
