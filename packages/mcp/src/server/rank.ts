// Ranks values by how well they fit what was typed: exact, prefix, word, substring, then letters in order.

/** Values that fit `typed`, best first; equally good ones keep their order. An empty `typed` fits everything. */
export function rank(values: readonly string[], typed: string): readonly string[] {
  if (typed === "") return values;
  const wanted = typed.toLowerCase();
  const scored: { readonly value: string; readonly score: number }[] = [];
  for (const value of values) {
    const score = fit(value.toLowerCase(), wanted);
    if (score !== undefined) scored.push({ value, score });
  }
  return scored.sort((a, b) => a.score - b.score).map(({ value }) => value);
}

/** Lower is better; undefined when `wanted` does not fit. */
function fit(value: string, wanted: string): number | undefined {
  if (value === wanted) return 0;
  const at = value.indexOf(wanted);
  if (at === 0) return 1;
  if (at > 0) return startsWord(value, wanted, at) ? 2 : 3;
  const spread = lettersInOrder(value, wanted);
  return spread === undefined ? undefined : 4 + spread;
}

let inWord: RegExp | undefined;

/** Whether `wanted`, first found at `from`, is the beginning of a word there or further on. */
function startsWord(value: string, wanted: string, from: number): boolean {
  // As a literal V8 would look it up in Unicode's tables while it reads the file, and delay every start.
  inWord ??= new RegExp("[\\p{L}\\p{N}]", "u");
  for (let at = from; at > 0; at = value.indexOf(wanted, at + 1)) {
    if (!inWord.test(value.charAt(at - 1))) return true;
  }
  return false;
}

/** How far apart the letters lie, between 0 and 1; undefined when they do not all come in this order. */
function lettersInOrder(value: string, wanted: string): number | undefined {
  let from = 0;
  let first = -1;
  for (const letter of wanted) {
    const at = value.indexOf(letter, from);
    if (at < 0) return undefined;
    if (first < 0) first = at;
    from = at + letter.length;
  }
  return (from - first) / (value.length + 1);
}
