// Prepares request lines before the clock starts, and judges the answers after it has stopped.

const LARGE_CHARS = 1_000_000;
const SENTENCE = 'The harbour master wrote: "No ship leaves before the tide", and closed the book.\n';
/** One million characters of prose with what JSON must escape in it. */
export const LARGE_TEXT = SENTENCE.repeat(Math.ceil(LARGE_CHARS / SENTENCE.length)).slice(0, LARGE_CHARS);

/** A `tools/call` as one line. */
export function callLine(id, [name, given]) {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: given } })}\n`;
}

/** `count` calls with the ids from `first` on. */
export function callLines(asks, first, count) {
  return Array.from({ length: count }, (_, index) => callLine(first + index, asks.call(first + index)));
}

/** Throws unless `chunks` hold exactly one right answer to each of the `count` calls from `first` on. */
export function checkAnswers(chunks, asks, { first, count }) {
  const lines = Buffer.concat(chunks).toString("utf8").trimEnd().split("\n");
  const open = new Set(Array.from({ length: count }, (_, index) => first + index));
  for (const line of lines) {
    const { id, result } = JSON.parse(line);
    if (!open.delete(id)) throw new Error(`a line answers no open call: ${excerpt(line)}`);
    const text = result?.content?.[0]?.text;
    if (text !== asks.expected(id) || result.isError) throw new Error(`a wrong answer: ${excerpt(line)}`);
  }
  if (open.size > 0) throw new Error(`${open.size} calls were not answered`);
}

export function listLine(id, cursor) {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/list", params: cursor === undefined ? {} : { cursor } })}\n`;
}

export function excerpt(line) {
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
