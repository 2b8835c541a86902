// Puts values into words for fault messages: short, typed, and without characters that act on a terminal or a reader.

/** Characters shown of one string: enough to recognise it, too few to flood an answer. */
const MAX_SHOWN = 60;
/** Alternatives listed in one message. */
const MAX_LISTED = 20;

let invisible: RegExp | undefined;

function escapeInvisible(character: string): string {
  return [...character].map((c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`).join("");
}

/** `text` with every character that cannot be seen written as an escape. */
export function visible(text: string): string {
  // Control, format (bidirectional, zero-width), private, ignorable and separator characters, and halves of surrogate pairs. As a
  // literal V8 would look it up in Unicode's tables while it reads the file, and delay every start.
  invisible ??= new RegExp(
    "[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\u2800\\ufffc]",
    "gu",
  );
  return text.replace(invisible, escapeInvisible);
}

/** Quotes `text` as JSON, cut to a readable length. */
export function quoteValue(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return visible(JSON.stringify(cut));
}

/** Names the type of `value` and shows it where it is short: `the string "five"`, `an array of 3 items`. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `the string ${quoteValue(value)}`;
    case "number":
      return `the number ${value}`;
    case "boolean":
      return `the boolean ${value}`;
    case "undefined":
      return "missing";
    case "object":
      if (value === null) return "null";
      if (!Array.isArray(value)) return "an object";
      return value.length === 0 ? "an empty array" : `an array of ${plural(value.length, "item")}`;
    default:
      return `a ${typeof value}, which is not JSON`;
  }
}

/** Shows a value of the schema, such as a member of `enum`. */
export function literal(value: unknown): string {
  if (typeof value === "string") return quoteValue(value);
  if (typeof value !== "object" || value === null) return String(value);
  const text = JSON.stringify(value);
  return visible(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
}

/** Shows `values` with commas between them, and says how many were left out. */
export function list(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_LISTED).map(literal).join(", ");
  return values.length <= MAX_LISTED ? shown : `${shown} and ${values.length - MAX_LISTED} more`;
}

export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

/** Longest names compared when looking for a near one: the comparison is quadratic. */
const MAX_COMPARED = 40;
/** Names compared: enough for any tool, few enough to take no time. */
const MAX_CANDIDATES = 200;

/** The string among `names` that `name` was probably meant to be: about a third of its letters may differ. */
export function nearest(name: string, names: readonly unknown[]): string | undefined {
  if (name.length > MAX_COMPARED) return undefined;
  let best: string | undefined;
  let bestDistance = Math.floor(Math.max(name.length, 3) / 3) + 1;
  for (const candidate of names.slice(0, MAX_CANDIDATES)) {
    if (typeof candidate !== "string" || Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Letters to insert, drop, replace or swap with their neighbour to get from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
