// `mcp-secure-local status`, and `doctor` without a target: what is in force on this machine, and what it lacks.
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { surveyMachine, type SurveyItem } from "./machine-survey.js";
import { ExitCode, outputWidth, print, printJson, styled, wrapped } from "./terminal.js";

export async function statusCommand(line: CommandLine): Promise<number> {
  if (line.words.length > 0) throw new UsageError(`status takes no "${line.words[0]}"`);
  const items = await surveyMachine(line);
  if (line.json) printJson(items);
  else for (const item of items) print(itemText(item));
  return ExitCode.Ok;
}

/** Says what does not work here; fails where something is wanted that does not. */
export async function machineDoctor(line: CommandLine): Promise<number> {
  const items = await surveyMachine(line);
  const faults = items.filter(({ state }) => state === "fault");
  const failed = faults.length > 0 || (line.strict && items.some(({ state }) => state === "note"));
  if (line.json) printJson(items);
  else {
    for (const item of items) if (item.state !== "ok") print(itemText(item));
    const rest = `${items.filter(({ state }) => state === "ok").length} of ${items.length} are well`;
    print(
      `${failed ? styled("red", "something is wrong") : styled("green", "ok")}  ${rest}; mcp-secure-local status shows all`,
    );
  }
  return failed ? ExitCode.Failed : ExitCode.Ok;
}

const COLOURS = { ok: "green", note: "yellow", fault: "red" } as const;
const COLUMN = 12;

function itemText({ name, state, text, mend }: SurveyItem): string {
  const width = Math.max(40, (outputWidth() ?? 120) - COLUMN - 2);
  const head = styled(COLOURS[state], name.padEnd(COLUMN));
  const indented = (words: string): string => wrapped(words, width).replaceAll("\n", `\n${" ".repeat(COLUMN + 2)}`);
  const lines = [`${head}  ${indented(cleanLine(text))}`];
  if (mend !== undefined) lines.push(`${" ".repeat(COLUMN + 2)}${styled("bold", indented(mend))}`);
  return lines.join("\n");
}
