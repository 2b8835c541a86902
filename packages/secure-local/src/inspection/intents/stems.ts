// Brings the forms of an English word together: a table of words must not need "hand", "hands", "handed" and "handing".

const DOUBLED = /([bdgklmnprt])\1$/;

/** Not a word of the language: only equal for the forms of one. Shorter words are left alone. */
export function stemOf(word: string): string {
  const plain = word.endsWith("'s") || word.endsWith("s'") ? word.slice(0, word.lastIndexOf("'")) : word;
  if (plain.length < 4) return plain;
  return withoutEnding(plain).replace(/e$/, "");
}

function withoutEnding(word: string): string {
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (word.endsWith("ied") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (word.endsWith("ing") && word.length > 5) return word.slice(0, -3).replace(DOUBLED, "$1");
  if (word.endsWith("ed") && word.length > 4 && !word.endsWith("eed")) return word.slice(0, -2).replace(DOUBLED, "$1");
  if (/(?:ss|x|ch|sh)es$/.test(word)) return word.slice(0, -2);
  if (word.endsWith("s") && !/(?:ss|us|is)$/.test(word)) return word.slice(0, -1);
  return word;
}
