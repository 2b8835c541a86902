// What HTML's names of characters stand for: those of ASCII, and those of letters and marks that are drawn like one of them.

/** In small letters: no two of them differ in case alone. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    tab: "\t",
    newline: "\n",
    excl: "!",
    quot: '"',
    num: "#",
    dollar: "$",
    percnt: "%",
    amp: "&",
    apos: "'",
    lpar: "(",
    rpar: ")",
    ast: "*",
    midast: "*",
    plus: "+",
    comma: ",",
    period: ".",
    sol: "/",
    colon: ":",
    semi: ";",
    lt: "<",
    equals: "=",
    gt: ">",
    quest: "?",
    commat: "@",
    lsqb: "[",
    lbrack: "[",
    bsol: "\\",
    rsqb: "]",
    rbrack: "]",
    hat: "^",
    lowbar: "_",
    underbar: "_",
    grave: "`",
    diacriticalgrave: "`",
    lcub: "{",
    lbrace: "{",
    verbar: "|",
    vert: "|",
    verticalline: "|",
    rcub: "}",
    rbrace: "}",
    hyphen: "-",
    dash: "-",
    minus: "-",
    nbsp: " ",
    nonbreakingspace: " ",
  }),
);
/** Letters of other styles: `&Afr;`, `&bopf;`, `&cscr;`. */
const STYLED = /^([a-z])(?:fr|opf|scr)$/i;

/** A name as a part of a pattern; the longest that is known has sixteen characters. */
export const ENTITY_NAME = "[a-z]{2,16}";

/** Undefined for the name of any other character, and for none. */
export function namedCharacter(name: string): string | undefined {
  return NAMES.get(name.toLowerCase()) ?? STYLED.exec(name)?.[1];
}
