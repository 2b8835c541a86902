// Breaks the paragraphs and list items of a generated page into lines of at most so many characters.
const MOST = 120;
/** What stays as it is: tables, headings, comments, code that is set in. */
const WHOLE = /^\s*(?:\||#|<)|^ {4}|^\s*$/;
const ITEM = /^(\s*)((?:[-*]|\d+\.)\s+)?/;

/** Code blocks, tables and headings stay as they are; a code span is not broken. */
export function wrapProse(text) {
  const blocks = [];
  let fenced = false;
  for (const line of text.split("\n")) {
    const fence = /^\s*```/.test(line);
    const whole = fenced || fence || WHOLE.test(line);
    if (fence) fenced = !fenced;
    const last = blocks.at(-1);
    if (whole || last === undefined || last.whole || ITEM.exec(line)[2] !== undefined)
      blocks.push({ whole, lines: [line] });
    else last.lines.push(line);
  }
  return blocks.flatMap(({ whole, lines }) => (whole ? lines : wrapped(lines))).join("\n");
}

function wrapped(given) {
  if (given.every((line) => line.length <= MOST)) return given;
  const text = given.map((line, index) => (index === 0 ? line : line.trim())).join(" ");
  const [start, indent = "", bullet = ""] = ITEM.exec(text);
  const words = text.slice(start.length).match(/(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+/g) ?? [];
  const lines = [start + (words.shift() ?? "")];
  for (const word of words) {
    if (lines.at(-1).length + 1 + word.length > MOST) lines.push(indent + " ".repeat(bullet.length) + word);
    else lines.push(`${lines.pop()} ${word}`);
  }
  return lines;
}
