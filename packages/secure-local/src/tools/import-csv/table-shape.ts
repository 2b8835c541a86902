// Finds names and types for the columns of a table by looking at its first rows.
import type { CellValue, TableColumn } from "../../capabilities/databases/databases.js";

const MAX_NAME = 60;
const WHOLE = /^-?(?:0|[1-9]\d{0,15})$/;
const NUMBER = /^-?(?:0|[1-9]\d{0,15})?(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/;

/** Letters, digits and underscores; no two alike. */
export function columnNames(header: readonly string[]): string[] {
  const taken = new Set<string>();
  return header.map((title, index) => {
    const plain = plainName(title) || `column_${index + 1}`;
    let name = plain;
    for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${plain}_${count}`;
    taken.add(name.toLowerCase());
    return name;
  });
}

/** The name of a table for a file. */
export function tableName(path: string): string {
  const file = path.slice(path.lastIndexOf("/") + 1).replace(/\.(?:csv|tsv|txt)$/i, "");
  const plain = plainName(file) || "imported";
  return /^(?:sqlite_|\d)/i.test(plain) ? `t_${plain}` : plain;
}

function plainName(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_+|(?<!_)_+$/g, "")
    .slice(0, MAX_NAME);
}

/** What all values of a column are that are not empty. */
export function columnTypes(width: number, rows: readonly (readonly string[])[]): TableColumn["type"][] {
  return Array.from({ length: width }, (_, index) => {
    const values = rows.map((row) => row[index] ?? "").filter((value) => value !== "");
    if (values.length === 0) return "TEXT";
    if (values.every(isWhole)) return "INTEGER";
    return values.every(isNumber) ? "REAL" : "TEXT";
  });
}

/** A value as its column wants it; one that does not fit stays the text it is. */
export function cellValue(text: string, type: TableColumn["type"]): CellValue {
  if (type === "TEXT") return text;
  if (text === "") return null;
  return (type === "INTEGER" ? isWhole(text) : isNumber(text)) ? Number(text) : text;
}

/** Numbers that begin with zeros are numbers of houses and telephones. */
function isWhole(text: string): boolean {
  return WHOLE.test(text) && Number.isSafeInteger(Number(text));
}

function isNumber(text: string): boolean {
  return NUMBER.test(text) && /\d/.test(text) && Number.isFinite(Number(text));
}
