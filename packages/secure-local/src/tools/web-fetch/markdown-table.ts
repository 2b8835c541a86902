// Writes rows of cells as a Markdown table; what is no table of data as lines.
import { plainLines } from "./markdown-text.js";

/** `inner`: within another table, where only text has room. */
export function tableText(rows: readonly (readonly string[])[], inner: boolean): string {
  const filled = rows.filter((row) => row.some((cell) => cell !== ""));
  const columns = filled.reduce((most, row) => Math.max(most, row.length), 0);
  if (inner) return filled.map((row) => row.filter((cell) => cell !== "").join(", ")).join("; ");
  // One column, or one row: the table is there for its place on the page.
  if (columns < 2 || filled.length < 2)
    return plainLines(filled.map((row) => row.filter((cell) => cell !== "").join("  \n")).join("\n\n"));
  const [head = [], ...body] = filled;
  // Only the head has to be complete: thousands of short rows under a wide one would make much of little.
  const full = Array.from({ length: columns }, (_, index) => head[index] ?? "");
  return [line(full), line(full.map(() => "---")), ...body.map(line)].join("\n");
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
