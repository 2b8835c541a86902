// Writes the help texts, and the man page, of the command reference.
import { COMMAND_PAGES, type CommandPage, DOCUMENTATION, TARGET_TEXT } from "./command-reference.js";
import { COMMON_OPTIONS, EXIT_CODES, OPTION_PAGES, VARIABLES } from "./option-reference.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { ExitCode, outputWidth, print, printJson, styled, tell, wrapped } from "./terminal.js";

const PROGRAM = "mcp-secure-local";
/** Columns of a text that is not for a terminal. */
const USUAL_WIDTH = 80;
const MOST_WIDTH = 100;

/** `help`, `help COMMAND…` and `help man`; `COMMAND --help` comes here, too. */
export async function helpCommand({ words, json }: Pick<CommandLine, "words" | "json">): Promise<number> {
  const [first, second] = words;
  if (first === "man" && second === undefined) {
    tell({ json }, { page: manPage() }, manPage());
    return ExitCode.Ok;
  }
  if (first === undefined) {
    if (json) printJson(COMMAND_PAGES);
    else print(overview());
    return ExitCode.Ok;
  }
  const pages = pagesFor(words);
  if (json) printJson(pages);
  else
    print(
      pages.length === 1
        ? pageText(pages[0]!)
        : `${pages.map(line).join("\n")}\n\nMore of each: ${PROGRAM} help ${first} ACTION`,
    );
  return ExitCode.Ok;
}

/** The page of a command, or those of its actions. @throws UsageError for a command there is not */
function pagesFor([first = "", second = ""]: readonly string[]): readonly CommandPage[] {
  const exact = COMMAND_PAGES.filter(({ name }) => name === `${first} ${second}` || name === first);
  if (exact.length > 0) return exact;
  const actions = COMMAND_PAGES.filter(({ name }) => name.startsWith(`${first} `));
  if (actions.length > 0) return actions;
  const names = new Set(COMMAND_PAGES.map(({ name }) => name.split(" ")[0]!));
  throw new UsageError(`there is no command "${first}"${nearest(first, names) || `; see ${PROGRAM} help`}`);
}

/** Every command in a line. */
export function overview(): string {
  const paragraph = (text: string): string => wrapped(text, width());
  return [
    paragraph(`${PROGRAM}: safe tools for an AI client, under one policy that denies what it does not list.`),
    paragraph("Without a command it serves an AI client; in a terminal it prints how to connect one."),
    "",
    ...COMMAND_PAGES.map(line),
    "",
    paragraph(TARGET_TEXT),
    "",
    styled("bold", "Options of every command"),
    ...[...COMMON_OPTIONS, "--policy", "--audit"].map(optionText),
    "",
    paragraph(`${PROGRAM} help COMMAND explains one, with its options and examples. Documentation: ${DOCUMENTATION}.`),
    paragraph(`Exit codes: ${EXIT_CODES.map(([code, about]) => `${code} ${about}`).join("; ")}.`),
  ].join("\n");
}

function pageText({ name, usage, about, details, options = [], examples }: CommandPage): string {
  const parts = [`${styled("bold", `${PROGRAM} ${name}`)} ${usage}`.trimEnd(), "", wrapped(`${about}.`, width())];
  if (details !== undefined) parts.push("", wrapped(details, width()));
  if (usage.includes("TARGET")) parts.push("", wrapped(TARGET_TEXT, width()));
  parts.push("", styled("bold", "Examples"));
  for (const [example, does] of examples) {
    if (does !== "") parts.push(`  ${styled("dim", `# ${does}`)}`);
    parts.push(`  ${PROGRAM} ${example}`);
  }
  parts.push("", styled("bold", "Options"), ...[...new Set([...options, ...COMMON_OPTIONS])].map(optionText));
  return parts.join("\n");
}

const COLUMN = 26;

/** A name in a column of its own, and what it is for beside it. */
function entry(name: string, about: string): string {
  const lines = wrapped(about, Math.max(30, width() - COLUMN - 2)).split("\n");
  const first = name.length > COLUMN - 2 ? `  ${name}\n${" ".repeat(COLUMN + 2)}` : `  ${name.padEnd(COLUMN)}`;
  return first + lines.join(`\n${" ".repeat(COLUMN + 2)}`);
}

function line({ name, usage, about }: CommandPage): string {
  return entry(`${name} ${usage}`.trimEnd(), about);
}

function optionText(name: string): string {
  const { value, about } = OPTION_PAGES[name]!;
  return entry(value === undefined ? name : `${name} ${value}`, about);
}

function width(): number {
  return Math.min(MOST_WIDTH, outputWidth() ?? USUAL_WIDTH);
}

// The man page, in the macros that every man program knows.

/** The day on which the commands changed last. */
const MAN_DATE = "2026-11-23";
/** Bytes of a line of roff: an old limit that the programs that check man pages keep to. */
const MAN_LINE = 78;

export function manPage(): string {
  return [
    `.TH MCP-SECURE-LOCAL 1 "${MAN_DATE}" "mcp-secure-local" "User Commands"`,
    ".SH NAME",
    "mcp-secure-local \\- safe tools for an AI client under one policy",
    ".SH SYNOPSIS",
    ".B mcp-secure-local",
    ".RI [ COMMAND ]",
    ".RI [ OPTIONS ]",
    ".SH DESCRIPTION",
    roff(
      "Serves tools to an AI client over the Model Context Protocol. Each call is checked against one policy that denies what it does not list, and is recorded in an audit log that shows tampering. Without a command it serves a client on standard input and output; in a terminal it prints how to connect one.",
    ),
    roff(TARGET_TEXT),
    ".SH COMMANDS",
    ...COMMAND_PAGES.flatMap(manCommand),
    ".SH OPTIONS",
    ...Object.entries(OPTION_PAGES).flatMap(([name, { value, about }]) => [
      ".TP",
      `.B ${roff(name)}${value === undefined ? "" : `\\fR \\fI${roff(value)}\\fR`}`,
      roff(about),
    ]),
    ".SH ENVIRONMENT",
    ...VARIABLES.flatMap(([name, about]) => [".TP", `.B ${roff(name)}`, roff(about)]),
    ".SH EXIT STATUS",
    ...EXIT_CODES.flatMap(([code, about]) => [".TP", `.B ${code}`, roff(about)]),
    ".SH FILES",
    ...FILES.flatMap(([path, about]) => [".TP", `.I ${roff(path)}`, roff(about)]),
  ]
    .map(brokenRoff)
    .join("\n");
}

const FILES = [
  ["~/.config/mcp-secure-local/policy.yaml", "the policy, where none is named"],
  ["~/.config/mcp-secure-local/token", "the token of serve"],
  ["~/.local/state/mcp-secure-local/audit.log", "the audit log, where none is named"],
  ["~/.local/share/mcp-secure-local/", "what plugins keep, and tokens of other servers"],
] as const;

function manCommand({ name, usage, about, details, options = [], examples }: CommandPage): string[] {
  const more = details === undefined ? [] : [".IP", roff(details)];
  const had = options.length === 0 ? [] : [".IP", `Options: ${roff(options.join(", "))}.`];
  const shown = examples.flatMap(([example]) => [".IP", `\\fB${roff(`mcp-secure-local ${example}`)}\\fR`]);
  return [".TP", `\\fB${roff(name)}\\fR ${roff(usage)}`.trimEnd(), roff(`${about}.`), ...more, ...had, ...shown];
}

/** A line of text in several, which are one again where it is shown; a line that begins with a request is one. */
function brokenRoff(line: string): string {
  if (line.startsWith(".")) return line;
  return wrapped(line, MAN_LINE)
    .split("\n")
    .map((each, index) => (index > 0 ? each.replace(/^([.'])/, "\\&$1") : each))
    .join("\n");
}

/** A text as roff reads it: no escape and no request in it, a minus that can be copied. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replace(/^([.'])/, "\\&$1");
}
