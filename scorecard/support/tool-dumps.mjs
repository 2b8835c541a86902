// How programs that show bytes write a value: their real output, where this machine has them, and forms of languages and manuals.
import { execFileSync } from "node:child_process";
import { numberCases, spreadCases } from "./spread-secrets.mjs";

const bytesOf = (text) => [...Buffer.from(text)];
const each =
  (how, between = "") =>
  (text) =>
    bytesOf(text).map(how).join(between);
const by =
  (base, digits = 1) =>
  (byte) =>
    byte.toString(base).padStart(digits, "0");

export const FORMS = {
  x5ax78: each((byte) => `x${by(16, 2)(byte)}`),
  X5AX78: each((byte) => `X${by(16, 2)(byte).toUpperCase()}`),
  "0x5a0x78": each((byte) => `0x${by(16, 2)(byte)}`),
  "0X5A, 0X78": each((byte) => `0X${by(16, 2)(byte).toUpperCase()}`, ", "),
  "5ah 78h": each((byte) => `${by(16, 2)(byte)}h`, " "),
  "5AH,78H": each((byte) => `${by(16, 2)(byte).toUpperCase()}H`, ","),
  "U+005A U+0078": each((byte) => `U+${by(16, 4)(byte).toUpperCase()}`, " "),
  "u+5a,u+78": each((byte) => `u+${by(16, 2)(byte)}`, ","),
  "U+00005a": each((byte) => `U+${by(16, 6)(byte)}`, ", "),
  "\\132\\71": each((byte) => `\\${by(8)(byte)}`),
  "\\132\\071": each((byte) => `\\${by(8, 3)(byte)}`),
  "0o132, 0o71": each((byte) => `0o${by(8)(byte)}`, ", "),
  "0o132,0o071": each((byte) => `0O${by(8, 3)(byte)}`, ","),
  "0132, 071": each((byte) => `0${by(8, 2)(byte)}`, ", "),
  "a backslash at the end of each line": (text) => text.replace(/.{5}/g, "$&\\\n"),
  "the same, of another system": (text) => text.replace(/.{5}/g, "$&\\\r\n"),
  "names of HTML": (text) => text.replace(/[^A-Za-z0-9]/g, (mark) => `&${NAMES[mark] ?? "nbsp"};`),
  "names of HTML, the longest": (text) => text.replace(/[^A-Za-z0-9]/g, (mark) => `&${LONGEST[mark] ?? NAMES[mark]};`),
  "letters of other styles": (text) =>
    text.replace(/[A-Za-z]/g, (letter, at) => `&${letter}${["fr", "opf", "scr"][at % 3]};`),
};

const NAMES = {
  "-": "hyphen",
  _: "lowbar",
  "+": "plus",
  "/": "sol",
  "&": "amp",
  "%": "percnt",
  "\\": "bsol",
  '"': "quot",
  "=": "equals",
  ".": "period",
  ":": "colon",
  "~": "Tilde",
};
const LONGEST = { _: "UnderBar", "-": "minus", " ": "NonBreakingSpace" };

/** Programs and what they are called with; each reads the value from its input. */
const CALLS = [
  ["od"],
  ...["-b", "-c", "-a", "-x", "-tx1", "-tx2", "-tx4", "-tx8", "-to1", "-tu1", "-tx1z", "-tx2z", "-tx4z", "-tcx1"].map(
    (how) => ["od", how],
  ),
  ...["x", "d", "n"].flatMap((place) => [
    ["od", "-A", place, "-tx1"],
    ["od", "-A", place, "-tx2"],
  ]),
  ["od", "-w8", "-tx2"],
  ["hexdump"],
  ...["-C", "-b", "-c", "-x"].map((how) => ["hexdump", how]),
  ["xxd"],
  ...["-p", "-i", "-e", "-u", "-g1", "-g4", "-g8", "-c8"].map((how) => ["xxd", how]),
  ["base64"],
  ["base64", "-w8"],
];
/** Two lines for each sixteen bytes, and words of several bytes by eight, are not read. */
const UNREAD = new Set(["od", "od -tcx1"]);

/** What each of them writes of a text; those that are not there write nothing. */
export function* toolForms() {
  for (const [program, ...args] of CALLS) {
    const name = [program, ...args].join(" ");
    if (UNREAD.has(name)) continue;
    const write = (text) => execFileSync(program, args, { input: text, encoding: "utf8" });
    try {
      write("x");
    } catch {
      continue;
    }
    yield [name, write];
  }
}

/** Text before the value moves it to each place of a word and of a line. */
export const BEFORE = ["", "a", "abc", "x".repeat(7), "y".repeat(13)];

/** Values in pieces, as numbers, and as programs show bytes. */
export async function hidden(report, parts) {
  parts.watchNumbers();
  const json = {
    parse: (text) => parts.parseJson(text, parts.DEFAULT_LIMITS),
    write: (value) => parts.exactJson(parts.exactly(value)),
  };
  for (const [index, value] of ["Zx9-QwErTy_4hJ2kLmN8pR3", "k7Vt2mQ9xLb4"].entries()) {
    parts.rememberSecret(`hidden_${index}`, value);
    report.kind("a secret in pieces at several places of one message", { found: "attack" });
    for (const { name, run } of spreadCases(parts, value, `[secret hidden_${index}]`)) await report.attack(name, run);
    report.kind("a secret as programs show bytes", { found: "attack" });
    for (const [name, write] of [...Object.entries(FORMS), ...toolForms()])
      for (const before of BEFORE)
        await report.attack(`${name}, ${before.length} before`, () => {
          const text = write(`${before}${value} and more`);
          const got = parts.cleanText(text);
          return text.includes(value) || got.includes(`[secret hidden_${index}]`) || got;
        });
  }
  const digits = "4815162342108";
  parts.rememberSecret("hidden_digits", digits);
  report.kind("a secret of digits where JSON has numbers", { found: "attack" });
  for (const { name, run } of numberCases({ ...parts, ...json }, digits)) await report.attack(name, run);
  await report.benign("numbers that hold none", () => {
    const text = `{"structuredContent":{"a":[0,-1.5,481516,1e21,12345678901234567890,true,null]},"content":[]}`;
    return json.write(parts.cleanResult(json.parse(text))) === text;
  });
}
