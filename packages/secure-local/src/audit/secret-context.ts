// Knows secrets without a shape of their own by what stands before them, and by how random they look.

/** A first look that is quicker than the rules. */
const MAYBE = /secret|token|passw|pwd|passphrase|[_ -]?key|credential|bearer|basic/i;
const ASSIGNED =
  /((?:secret|token|passw(?:or)?d|pwd|passphrase|(?:api|access|auth|private|account|encryption|signing|client|shared|service|master|license)[_ -]?key|credentials?)[\w-]{0,30}["'\]]{0,2}[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}["'`]?)([^\s"'`,;()<>{}[\]$]{8,256})/gi;
const HEADER = /(?<![\w-])((?:bearer|basic)[ \t]{1,4})([\w.~+/=-]{16,4096})/gi;
const IN_URL = /(:\/\/[^\s/?#@:"'<>]{0,100}:)([^\s/?#@"'<>]{3,200})(?=@)/g;
/** Between the lines of a key: white space, its escapes, and the quotes of a program. */
const BETWEEN = `(?:\\s|\\\\[nr]|["',])+`;
const PRIVATE_KEY = new RegExp(
  `(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:${BETWEEN}[\\w-]{2,30}: [^\\n]{0,200})*)` +
    `${BETWEEN}[A-Za-z0-9+/=]{16,}(?:${BETWEEN}[A-Za-z0-9+/=]+)*` +
    `(?:${BETWEEN}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?`,
  "g",
);

/** What people write where a password would stand. */
const PLACEHOLDER =
  /^(?:pass(?:word|wd|phrase)?|secret|pwd|token|x{3,}|\*+|\.{3}|%[\w]+%|.*(?:example|sample|placeholder|change-?me|your|dummy|redacted|removed).*)$/i;

/** The text with every value replaced that stands where secrets stand and looks like one. */
export function replaceInContext(text: string, replacement: string): string {
  let clean = text;
  if (clean.includes("PRIVATE KEY")) clean = clean.replace(PRIVATE_KEY, replacement);
  if (clean.includes("://"))
    clean = clean.replace(IN_URL, (all, before: string, password: string) =>
      PLACEHOLDER.test(password) || password === replacement ? all : before + replacement,
    );
  if (!MAYBE.test(clean)) return clean;
  const replaced = (all: string, before: string, value: string): string =>
    looksRandom(value) ? before + replacement : all;
  return clean.replace(ASSIGNED, replaced).replace(HEADER, replaced);
}

/** Code that reads a secret from somewhere. */
const CODE = /^(?:process|os|env|config|settings|this|self|ctx|context|req|request|options|args|params|secrets|vars)\./;

/** Bits a character; words of a language have about 2.5 to 3, random letters and digits of this length more. */
const LONG_ENTROPY = 3.4;
const SHORT_ENTROPY = 2.7;
const LONG = 20;

function looksRandom(value: string): boolean {
  if (!/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (CODE.test(value) || /^(?:[./~]|\w+:\/\/|[A-Za-z]:\\)/.test(value)) return false;
  const bits = entropy(value);
  if (value.length >= LONG) return bits >= LONG_ENTROPY || (/^[0-9a-f-]+$/i.test(value) && bits >= SHORT_ENTROPY);
  // Short ones must mix more: `version2beta` is none.
  const mixed = (/[a-z]/.test(value) && /[A-Z]/.test(value)) || /[^\w.-]/.test(value);
  return mixed && bits >= SHORT_ENTROPY && !PLACEHOLDER.test(value);
}

/** Shannon's, in bits a character. */
export function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
