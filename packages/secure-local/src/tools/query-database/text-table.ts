// Writes rows as a table of text that lines up.
import type { Cell } from "../../capabilities/databases/databases.js";

/** Cells line up as far as they are no wider. */
const MAX_WIDTH = 80;

export function textTable(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [columns, ...rows].map((row) => row.map(shown));
  const widths = columns.map((_, index) => widthOf(lines, index));
  const [head = [], ...body] = lines.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join(" | ")
      .trimEnd(),
  );
  return [head, widths.map((width) => "-".repeat(width)).join("-+-"), ...body].join("\n");
}

function shown(cell: Cell): string {
  if (cell === null) return "NULL";
  if (typeof cell === "object") return `<${cell.bytes} bytes>`;
  return String(cell).replace(/[\r\n\t]+/g, " ");
}

/** Found one by one: there may be more rows than a call takes arguments. */
function widthOf(lines: readonly (readonly string[])[], index: number): number {
  return lines.reduce((most, row) => Math.max(most, Math.min(row[index]?.length ?? 0, MAX_WIDTH)), 0);
}
