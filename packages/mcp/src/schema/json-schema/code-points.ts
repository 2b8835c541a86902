// Holds sets of characters as ranges of code points, as far as regular expressions name them.

/** A set of characters, as ranges of code points. */
export type Ranges = readonly (readonly [from: number, to: number])[];

export const ANY: Ranges = pairs(0, 0x10ffff);
const DIGIT: Ranges = pairs(48, 57);
const WORD: Ranges = pairs(48, 57, 65, 90, 95, 95, 97, 122);
const SPACE: Ranges = pairs(9, 13, 32, 32, 160, 160, 0x1680, 0x1680, 0x2000, 0x3000, 0xfeff, 0xfeff);
/** What a letter after a backslash stands for. */
export const shorthands: Readonly<Record<string, Ranges>> = {
  d: DIGIT,
  w: WORD,
  s: SPACE,
  D: except(DIGIT),
  W: except(WORD),
  S: except(SPACE),
};

export const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, v: 11, f: 12, b: 8, "0": 0 };

function pairs(...ends: readonly number[]): Ranges {
  return ends.flatMap((from, i) => (i % 2 === 0 ? [[from, ends[i + 1] ?? from] as const] : []));
}

export function one(character: string): Ranges {
  const code = character.codePointAt(0) ?? 0;
  return [[code, code]];
}

export function except(ranges: Ranges): Ranges {
  const rest: [number, number][] = [];
  let from = 0;
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (low > from) rest.push([from, low - 1]);
    from = Math.max(from, high + 1);
  }
  if (from <= 0x10ffff) rest.push([from, 0x10ffff]);
  return rest;
}

/** Whether some character is in both sets. */
export function overlap(a: Ranges = [], b: Ranges = []): boolean {
  return a.some(([low, high]) => b.some(([from, to]) => low <= to && from <= high));
}
