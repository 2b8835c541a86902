// Indents JSON for reading, where that does not make much more of it.

/** Characters of JSON that is indented: reading more of it costs too much for what it is worth. */
const MAX_INDENTED = 512 * 1024;
/** Levels of JSON that is indented: each line is as long as it is deep. */
const MAX_NESTING = 64;

/** The text as it is when it is no JSON, too long, too deep, or mostly indentation. */
export function indentedJson(text: string): string {
  if (text.length > MAX_INDENTED || nestsDeeper(text, MAX_NESTING)) return text;
  try {
    const indented = JSON.stringify(JSON.parse(text), undefined, 2);
    return indented.length < text.length * 4 + 1_000 ? indented : text;
  } catch {
    return text;
  }
}

function nestsDeeper(text: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}

/** Where the string that begins at `start` has its closing quote. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}
