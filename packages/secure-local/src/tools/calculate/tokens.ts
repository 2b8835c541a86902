// Splits an arithmetic expression into numbers and signs.

export type Token =
  | { readonly kind: "number"; readonly value: number; readonly text: string }
  | { readonly kind: Sign };
export type Sign = "+" | "-" | "*" | "/" | "%" | "^" | "(" | ")";

const SPACE = /\s*/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SIGNS: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%", "^", "(", ")"]);

/** Returns the tokens of `text`, or undefined when it holds anything but decimal numbers, signs and white space. */
export function tokenize(text: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  let position = matchAt(SPACE, text, 0).length;
  while (position < text.length) {
    const number = matchAt(NUMBER, text, position);
    const sign = text[position] as string;
    if (number !== "") tokens.push({ kind: "number", value: Number(number), text: number });
    else if (SIGNS.has(sign)) tokens.push({ kind: sign as Sign });
    else return undefined;
    position += number.length || 1;
    position += matchAt(SPACE, text, position).length;
  }
  return tokens;
}

function matchAt(pattern: RegExp, text: string, position: number): string {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? "";
}
