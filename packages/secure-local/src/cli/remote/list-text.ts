// Writes a list of named things in columns.
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { styled } from "../terminal.js";

export interface Entry {
  readonly name: string;
  readonly about: string;
  /** Shown dim behind it. */
  readonly note?: string;
}

const WIDEST_NAME = 40;
const LONGEST_ABOUT = 160;

export function listText(entries: readonly Entry[], indent = ""): string {
  const names = entries.map(({ name }) => cleanLine(name));
  const width = Math.min(WIDEST_NAME, Math.max(0, ...names.map((name) => name.length)));
  const lines = entries.map(({ about, note = "" }, at) => {
    const name = styled("bold", (names[at] as string).padEnd(width));
    const line = firstLine(about);
    return `${indent}${name}  ${line}${note === "" ? "" : ` ${styled("dim", note)}`}`.trimEnd();
  });
  return lines.join("\n");
}

function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n");
  const clean = cleanLine(line);
  return clean.length > LONGEST_ABOUT ? `${clean.slice(0, LONGEST_ABOUT)}…` : clean;
}
