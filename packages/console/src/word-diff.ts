// What differs between two texts, word by word.

/** A run of words that is in both texts, or in one of them alone. */
export interface Piece {
  readonly text: string;
  readonly differs: boolean;
}

/** Words compared one by one; where more differ, all between the first and the last difference is marked. */
const MAX_COMPARED = 400;

/** Both texts in pieces; the pieces of each make up its text. */
export function wordDiff(before: string, now: string): { readonly before: Piece[]; readonly now: Piece[] } {
  const [old, fresh] = [words(before), words(now)];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, fresh.length) - start;
  while (end < most && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  const middle = [old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)] as const;
  const kept = commonWords(...middle);
  const piecesOf = (all: readonly string[], part: readonly string[], common: ReadonlySet<number>): Piece[] =>
    merged([
      ...all.slice(0, start).map((text) => ({ text, differs: false })),
      ...part.map((text, index) => ({ text, differs: !common.has(index) })),
      ...all.slice(start + part.length).map((text) => ({ text, differs: false })),
    ]);
  return { before: piecesOf(old, middle[0], kept.before), now: piecesOf(fresh, middle[1], kept.now) };
}

interface Common {
  readonly before: ReadonlySet<number>;
  readonly now: ReadonlySet<number>;
}

/** The places of the longest run of words that both have in this order. */
function commonWords(before: readonly string[], now: readonly string[]): Common {
  const common = { before: new Set<number>(), now: new Set<number>() };
  if (before.length > MAX_COMPARED || now.length > MAX_COMPARED) return common;
  const width = now.length + 1;
  const longest = new Uint16Array((before.length + 1) * width);
  const at = (row: number, column: number): number => longest[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = now.length - 1; column >= 0; column -= 1)
      longest[row * width + column] =
        before[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  for (let row = 0, column = 0; row < before.length && column < now.length;) {
    if (before[row] === now[column]) {
      common.before.add(row);
      common.now.add(column);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return common;
}

function merged(pieces: readonly Piece[]): Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (last?.differs === piece.differs) all[all.length - 1] = { ...last, text: last.text + piece.text };
    else all.push(piece);
  }
  return all;
}

/** Each with the blanks behind it. */
function words(text: string): string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}
