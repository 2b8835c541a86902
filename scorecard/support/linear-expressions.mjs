// Expressions that the checker found to be linear, by their digests, so that a quick run asks it about new ones alone: all of
// them take minutes. A whole run of the goal believes none of it and writes it anew.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const FILE = new URL("../data/linear-expressions.txt", import.meta.url);
const DIGITS = 16;
export const isQuick = process.env.SCORECARD_QUICK === "1";
const known = new Set(isQuick ? readFileSync(FILE, "utf8").split("\n") : []);
const found = new Set();

const digestOf = ({ pattern, flags }) =>
  createHash("sha256").update(`/${pattern}/${flags}`).digest("hex").slice(0, DIGITS);

export const isKnown = (expression) => known.has(digestOf(expression));

export function foundLinear(expression) {
  found.add(digestOf(expression));
}

/** To be called when all expressions were judged. */
export function keepFound() {
  if (!isQuick) writeFileSync(FILE, `${[...found].sort().join("\n")}\n`);
}
