// Every kind of text in every place of a policy: what is read without the YAML library is read as that reads it, by whatever condition
// of the reader it is let through.
import { describe, expect, it } from "vitest";
import type { PolicyError } from "../../src/policy/faults.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { plainTree } from "../../src/policy/policy-tree.js";
import { FRAGMENTS, VERSION_LINE, WHOLE } from "./malformed-policies.js";
import { alike, CHOSEN, SERVERS } from "./read-alike.js";

/** Whole texts in which every kind of place is: of what is put into them most is anything but plain. */
const TEMPLATES = [
  "a: b\n",
  "a: 1\n",
  "a:\n  - b\n  - c\n",
  "a: [b, 1]\n",
  "a: { b: c, d: 1 }\n",
  "a: \"x\"\nb: 'y' # c\n",
  "a:\n  b: c\nd: e\n",
  "a: ~/y\nb: b:c\n",
  "- a\n- true\n",
  "# c\na: # c\n  b: 1\n",
  "a: {}\nb: []\n",
];

/** Each of the pieces put into every place of every template, and put instead of what stands there. */
function* everywhere(pieces: readonly string[]): Generator<string> {
  for (const template of TEMPLATES)
    for (let at = 0; at <= template.length; at++)
      for (const piece of pieces) {
        yield template.slice(0, at) + piece + template.slice(at);
        yield template.slice(0, at) + piece + template.slice(at + 1);
      }
}

const PRINTABLE = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at));
const NOT_PLAIN = [
  ...Array.from({ length: 32 }, (_, at) => String.fromCharCode(at)).filter((each) => each !== "\n"),
  ...["\r\n", "\x7f", "\x80", "\x85", "\x9f", "\xa0", "\u2028", "\u2029", "\u200b", "\u202e", "\u3000", "\ufeff"],
  ...["\ud800", "\udfff", "\ufffe", "\uffff", "\u{1F600}", "\u017f", "\u212a", "\u0131"],
];
const LINES = ["\n", "\n ", "\n  ", "\n    ", "\n- ", "\n  - ", "\n---\n", "\n...\n", "\n#", "\n  c\n", "\na: 1\n"];

/** Words that are no text in one version or another, in every spelling that one of them has. */
const NO_TEXTS = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].flatMap((word) => [
  word,
  word.toUpperCase(),
  word.slice(0, 1).toUpperCase() + word.slice(1),
]);
const NUMBERS = [
  ...["00", "01", "017", "08", "-0", "+0", "-1", "+1", "1_000", "0x1F", "0X1f", "0o17", "0O17", "0b1", "1e3", "1E3"],
  ...["0e0", "1e", ".5", "5.", "1.5", "-.5", ".inf", "-.inf", "+.Inf", ".INF", ".nan", ".NaN", "1:30", "190:20:30"],
  ...[
    "2001-12-14",
    "2001-12-14t21:59:43.10-05:00",
    "1234567890",
    "9007199254740993",
    "1a",
    "1-2",
    "1/2",
    "1.2.3",
    "1 2",
  ],
];
const LONG = [99, 100, 101, 1_023, 1_025].map((length) => "k".repeat(length));
const SCALARS = [
  ...[
    "a",
    "a1",
    "_",
    "/",
    "//",
    "/x/**",
    "~/",
    "~/x",
    "~x",
    "~",
    "a~b",
    "a*b",
    "a@b",
    "a.",
    "a..b",
    "a-",
    "a--",
    "A_b-c.d",
  ],
  ...["0", "7", "443", "123456789", "true", "false", "e1", "inf", "nan", "NaN", "Infinity", "=", "<<", "__proto__"],
  ...[
    "a b",
    "a: b",
    "a :b",
    "a:",
    "a:b",
    ":a",
    "a::b",
    "a:*",
    "a:/b",
    "a:-b",
    "a:.b",
    "a:@",
    "/:",
    "/:a",
    "http://h:1/p",
  ],
  ...["a #b", "a#b", "#", "# c", "a#", "/#", "-", "--", "---", "...", "--- a", "- a", "-a", "- - a", "?", "? a", "?a"],
  ...[
    "|",
    "|-",
    "|2",
    ">",
    ">-",
    "&a",
    "&a b",
    "*",
    "*a",
    "!",
    "!a b",
    "!!str 1",
    "%a",
    "@a",
    "`a",
    "a,",
    "a, b",
    "a,b",
  ],
  ...[
    '"a"',
    "'a'",
    '""',
    "''",
    '"a',
    "'a",
    "'a''b'",
    '"a\\n"',
    '"\\u0061"',
    '"a\\',
    '"a\\""',
    '"a" b',
    '"a"b',
    '"a"#c',
  ],
  ...["'a'#", "'a' #c", "'a': b", '"a":b', '"a" : b', '"a: b # c"', "'- a'", '"\'"', "'\"'", "a'b", 'a"b'],
  ...[
    "[]",
    "[ ]",
    "[a]",
    "[a,b]",
    "[ a , b ]",
    "[a,]",
    "[,a]",
    "[,]",
    "[a b]",
    "[a: b]",
    "[a:b]",
    "[a :b]",
    "[a",
    "a]",
  ],
  ...[
    "[a]b",
    "[a]#c",
    "[a] #c",
    "[a]: b",
    "[#c]",
    "[a #c]",
    "[a, #c]",
    "[*]",
    "[~]",
    "[[]]",
    "[{}]",
    "[[], [a]]",
    "[-]",
  ],
  ...["{}", "{ }", "{a}", "{a: b}", "{a:b}", "{a: }", "{a:}", "{ a: b, }", "{a: b,c: d}", "{a: b, a: c}", '{"a":b}'],
  ...[
    "{'a': b}",
    "{? a: b}",
    "{a: b}: c",
    "{a: #c}",
    "{a: [b, {c: d}]}",
    "{a: {b: c}, b: {b: c}}",
    "{a b: c}",
    "{a : b}",
  ],
];
/** What may stand around a value, and what may follow it. */
const PLACES = [
  ...[["a: "], ["a:   "], ["a:"], ["- "], ["-"], ["- - "], ["- a: "], ["a:\n  b: "], ["a:\n  - "], ["a:\n- "]],
  ...[
    ["a: [", "]"],
    ["a: [b, ", "]"],
    ["a: { b: ", " }"],
    ["a: { b: ", "}"],
    ["a: [[", "]]"],
    ["- { b: c, d: ", " }"],
  ],
];
const TAILS = [
  "",
  " ",
  " # c",
  " #",
  "#c",
  ",",
  ", b",
  "]",
  " }",
  ":",
  ": b",
  " - b",
  "\n c",
  "\n  c: d",
  "\nc: d",
  "\n- c",
];

const KEYS = [
  ...[
    "a",
    "A_b-c",
    "_",
    "a-",
    "a--",
    "__proto__",
    "constructor",
    "toString",
    "1",
    "0",
    "1a",
    "a1",
    "-a",
    "-",
    "~",
    "<<",
  ],
  ...[
    "a b",
    "a.b",
    "a/b",
    "/a",
    "~/a",
    "a:b",
    "a::b",
    ":a",
    "?a",
    "? a",
    "*a",
    "&a b",
    "!t a",
    "|",
    ">",
    "%a",
    "@a",
    "`a",
  ],
  ...[
    '"a"',
    "'a'",
    '""',
    "''",
    '"\\u0061"',
    "a'",
    'a"',
    "#a",
    "a#",
    "a #",
    "[a]",
    "{a}",
    "[a, b]",
    "a,b",
    ",a",
    "...",
    "---",
  ],
];
/** Where a key may stand, with what comes behind it. */
const keyed = (key: string, end: string): string[] => [
  `${key}${end}`,
  `b: 1\n${key}${end}\na: 2`,
  `b:\n  ${key}${end}\n  a: 2`,
  `b: { ${key}${end} }`,
  `b: {${key}${end}, a: 2}`,
  `b: [${key}${end}]`,
  `- ${key}${end}`,
  `${key}${end}\n${key}${end}`,
  `b: { ${key}${end}, ${key}${end} }`,
];

describe("every kind of text in every place", { timeout: 60_000 }, () => {
  /** @returns how many were plain */
  async function allAlike(texts: Iterable<string>): Promise<number> {
    let plain = 0;
    for (const text of texts) if (await alike(text)) plain++;
    return plain;
  }

  it("a character that is not plain is left to the library, wherever it stands", () => {
    for (const text of everywhere(NOT_PLAIN))
      if (plainTree(text) !== undefined) expect.unreachable(JSON.stringify(text));
  });

  it("every template is read without the library", () => {
    for (const text of TEMPLATES) expect(plainTree(text), text).toBeDefined();
  });

  it("a plain character, or the end of a line, is read as the library does wherever it stands", async () => {
    expect(await allAlike(everywhere([...PRINTABLE, ...LINES]))).toBeGreaterThan(5_000);
  });

  it("values are read as the library does, whatever follows them", async () => {
    const values = [...SCALARS, ...NO_TEXTS, ...NUMBERS, ...LONG];
    const texts = PLACES.flatMap(([before = "", after = ""]) =>
      values.flatMap((value) =>
        TAILS.flatMap((tail) => [`${before}${value}${after}${tail}`, `${before}${value}${tail}${after}\n`]),
      ),
    );
    expect(await allAlike(texts)).toBeGreaterThan(2_000);
  });

  it("keys are read as the library does, whatever follows them", async () => {
    const ends = [": ", ":  ", ":", " : ", " :", ":#", ": # c\n ", ":\n  c: "].flatMap((sign) =>
      ["x", "", "1", "[x]", "# c"].map((value) => sign + value),
    );
    const keys = [...KEYS, ...NO_TEXTS, ...NUMBERS, ...LONG];
    const texts = keys.flatMap((key) => ends.flatMap((end) => keyed(key, end)));
    expect(await allAlike(texts)).toBeGreaterThan(500);
  });

  it("words and numbers that are, or nearly are, something else in another version are left to the library", () => {
    const texts = NO_TEXTS.filter((word) => word !== "true" && word !== "false");
    const odd = [...texts, ...NUMBERS, "~", "~x", "~a/b", "a#", "a#b", "/#"];
    const values = PLACES.flatMap(([before = "", after = ""]) => odd.map((word) => before + word + after));
    const keys = [...odd, "true", "false", ...LONG.slice(2)].flatMap((key) => keyed(key, ": x"));
    for (const text of [...values, ...keys])
      if (plainTree(text) !== undefined) expect.unreachable(JSON.stringify(text));
  });

  it("what is nested is read as the library does, to a depth that it reads as well", async () => {
    const nested = (depth: number): string[] => [
      `${Array.from({ length: depth }, (_, at) => `${" ".repeat(at)}a:`).join("\n")} 1\n`,
      `${Array.from({ length: depth }, (_, at) => `${" ".repeat(at)}a:`).join("\n")}\n${" ".repeat(depth)}- b\n`,
      `a: ${"[".repeat(depth)}${"]".repeat(depth)}\n`,
      `a: ${"{ a: ".repeat(depth)}b${" }".repeat(depth)}\n`,
      `a:\n  b:\n    - ${"[{ a: ".repeat(depth)}b${" }]".repeat(depth)}\n`,
    ];
    expect(await allAlike(Array.from({ length: 20 }, (_, at) => at + 1).flatMap(nested))).toBeGreaterThan(20);
    for (const text of nested(12)) expect(plainTree(text), text).toBeUndefined();
  });

  it("lines at any of their levels are read as the library does", async () => {
    const lines = ["a: 1", "b:", "- c", "# d", "e: # f", "{ g: 1 }", ""];
    const levels = [0, 1, 2, 3];
    const each = lines.flatMap((line) => levels.map((level) => " ".repeat(level) + line));
    const texts = function* (): Generator<string> {
      for (const first of each)
        for (const second of each) for (const third of each) yield `${first}\n${second}\n${third.replace("a:", "h:")}`;
    };
    expect(await allAlike(texts())).toBeGreaterThan(300);
  });
});

it("what it reads becomes the same policy, or the same faults, as by the library", async () => {
  const outcome = async (text: string): Promise<unknown> => {
    try {
      return { ...(await parsePolicy(text, { file: "p.yaml", environment: { HOME: "/h" } })), hash: "", revision: 0 };
    } catch (error) {
      return (error as PolicyError).errors;
    }
  };
  const fragments = FRAGMENTS.map(([text]) => VERSION_LINE + text);
  let plain = 0;
  for (const text of [CHOSEN, SERVERS, ...WHOLE.map(([whole]) => whole), ...fragments]) {
    if (plainTree(text) === undefined) continue;
    plain++;
    // The same text, in which the library alone can read a comment.
    const forced = `${text}\n# \u00e9`;
    expect(plainTree(forced)).toBeUndefined();
    expect(await outcome(text), text).toEqual(await outcome(forced));
  }
  expect(plain).toBeGreaterThan(60);
});
