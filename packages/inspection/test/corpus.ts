// Reads the descriptions these tests were written with: poisoned ones by kind, and honest ones that sound like them.
import { readFileSync } from "node:fs";

export interface Sample {
  readonly kind: string;
  readonly name: string;
  readonly description: string;
}

/** One a line: name, two colons, description; lines that begin with two number signs name the kind of those that follow. */
export function samples(file: "poisoned" | "honest"): Sample[] {
  const found: Sample[] = [];
  let kind = "";
  for (const line of readFileSync(new URL(`${file}.txt`, import.meta.url), "utf8").split("\n")) {
    const at = line.indexOf(" :: ");
    if (line.startsWith("## ")) kind = line.slice(3);
    else if (at > 0) found.push({ kind, name: line.slice(0, at), description: line.slice(at + 4) });
  }
  return found;
}
