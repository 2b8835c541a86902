// What a catalogue of tools knows of each.
import type { BuiltinTool } from "../tool.js";

export type ListedTool = Omit<BuiltinTool<never>, "run">;

/** The tools that are listed for those who call, whenever it is asked. */
export type ListedTools = () => readonly ListedTool[];

/** What each category is for. Tools of other makers may name others. */
export const CATEGORIES: ReadonlyMap<string, string> = new Map([
  ["calculation", "Numbers"],
  ["commands", "Programs of this machine"],
  ["data", "Databases and tables"],
  ["files", "Files and folders of this machine"],
  ["time", "Dates and times"],
  ["tools", "Finding tools"],
  ["web", "Pages and searches of the web"],
]);

export function categoryOf({ category }: ListedTool): string {
  return category ?? "other";
}

export function byName(a: ListedTool, b: ListedTool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
