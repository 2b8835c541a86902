// A value written as bytes in every usual way is found, and where: from its first digit to its last.
import { describe, expect, it } from "vitest";
import { EncodedSecrets } from "../../src/audit/encoded-secrets.js";
import { atOnce } from "../../src/audit/secret-shapes.js";

/** With a tab, and with letters of whose digits some are letters. */
const VALUE = "Key-9z\tO_jkM~2";
const SECRETS = new EncodedSecrets([[VALUE, "[secret x]"]]);

/** What is covered of the text, the longest first. */
function covered(text: string): string[] {
  const places = atOnce(SECRETS.in(text)).map(({ index, length }) => text.slice(index, index + length));
  return [...new Set(places)].sort((a, b) => b.length - a.length);
}

const bytes = [...Buffer.from(VALUE)];
const decimal = (byte: number): string => `${byte}`;
const sixteen = (byte: number): string => byte.toString(16).padStart(2, "0");
const capital = (byte: number): string => sixteen(byte).toUpperCase();
const eight = (byte: number): string => byte.toString(8);
const three = (byte: number): string => eight(byte).padStart(3, "0");

type Way = readonly [before: string, number: (byte: number) => string, behind: string, between: string];

const WAYS: Readonly<Record<string, Way>> = {
  "a list of numbers": ["", decimal, "", ", "],
  "a number a line": ["", decimal, "", "\n"],
  "numbers as far apart as may be": ["", decimal, "", ` ${".".repeat(22)} `],
  "calls of a function": ["chr(", decimal, ")", " + "],
  "0x": ["0x", sixteen, "", ", "],
  "0X and capitals": ["0X", capital, "", ","],
  "0x, one behind the other": ["0x", sixteen, "", ""],
  "\\x": ["\\x", sixteen, "", ""],
  "x alone": ["x", sixteen, "", ""],
  "digits by sixteen": ["", sixteen, "", " "],
  "capital digits by sixteen": ["", capital, "", ":"],
  "an h behind them": ["", sixteen, "h", ", "],
  "a capital H behind them": ["", capital, "H", " "],
  "0o": ["0o", eight, "", ", "],
  "0O": ["0O", eight, "", " "],
  "three digits by eight": ["", three, "", " "],
  "four digits by eight": ["0", three, "", ", "],
  "U+ and four digits": ["U+", (byte) => `00${sixteen(byte)}`, "", " "],
  "a percent sign": ["%", sixteen, "", ""],
  "a percent sign and capitals": ["%", capital, "", ""],
  "an equals sign": ["=", capital, "", ""],
};

/** So many bytes a line, as programs dump them. */
function dumped(size: number, line: (part: readonly number[], at: number) => string): string {
  const lines = [];
  for (let at = 0; at < bytes.length; at += size) lines.push(line(bytes.slice(at, at + size), at));
  return lines.join("");
}

const shown = (part: readonly number[]): string =>
  part.map((byte) => (byte < 32 ? "." : String.fromCharCode(byte))).join("");
const place = (at: number, base = 16, digits = 8): string => at.toString(base).padStart(digits, "0");

const DUMPS: Readonly<Record<string, string>> = {
  "hexdump -C": dumped(8, (part, at) => `${place(at)}  ${part.map(sixteen).join(" ")}  |${shown(part)}|\n`),
  "hexdump -C, of Windows": dumped(
    8,
    (part, at) => `${place(at)}  ${part.map(sixteen).join(" ")}  |${shown(part)}|\r\n`,
  ),
  xxd: dumped(
    6,
    (part, at) =>
      `${place(at)}: ${part
        .map(sixteen)
        .join("")
        .replace(/(....)(?=.)/g, "$1 ")}  ${shown(part)}\n`,
  ),
  "od -t x1": dumped(3, (part, at) => `${place(at, 8, 7)} ${part.map(sixteen).join(" ")}\n`),
  "od -t x1z": dumped(3, (part, at) => `${place(at, 8, 7)} ${part.map(sixteen).join(" ")}  >${shown(part)}<\n`),
  "od -t u1": dumped(
    5,
    (part, at) => `${place(at, 8, 7)} ${part.map((byte) => decimal(byte).padStart(3)).join(" ")}\n`,
  ),
  "od -t o1": dumped(5, (part, at) => `${place(at, 8, 7)} ${part.map(three).join(" ")}\n`),
  "od -c": dumped(
    4,
    (part, at) =>
      `${place(at, 8, 7)}${part.map((byte) => (byte === 9 ? " \\t" : ` ${String.fromCharCode(byte)}`).padStart(4)).join("")}\n`,
  ),
};

describe("bytes of a value", () => {
  it.each(Object.entries(WAYS))("are found as %s", (_what, [before, number, behind, between]) => {
    for (const [start, end] of [
      ["", ""],
      ["see: [", "] and more"],
      ["x".repeat(5_000), "\nmore"],
    ]) {
      const written = bytes.map((byte) => before + number(byte) + behind).join(between);
      const [longest = ""] = covered(`${start} ${written} ${end}`);
      // Marks before the first number and behind the last may stay.
      const digits = written.slice(before.length, written.length - behind.length);
      expect(longest).toContain(digits);
      expect(written).toContain(longest);
    }
  });

  it.each(Object.entries(DUMPS))("are found in what %s writes", (_what, dump) => {
    for (const before of ["", "of it:\n"]) {
      const [longest = ""] = covered(`${before}${dump}\nthe end`);
      // From behind the first place to within the last line.
      expect(dump.indexOf(longest)).toBeGreaterThan(0);
      expect(dump.indexOf(longest)).toBeLessThan(12);
      expect(dump.slice(dump.indexOf(longest) + longest.length)).not.toMatch(/\n./);
    }
  });

  it.each([
    ["numbers that are farther apart", bytes.map(decimal).join(` ${".".repeat(23)} `)],
    ["numbers of which one is no byte", bytes.map(decimal).join(" ").replace(" ", " 256 ")],
    ["five digits by eight", bytes.map((byte) => `00${three(byte)}`).join(" ")],
    ["digits by eight among which is a nine", bytes.map(three).join(" ").replace(" ", " 109 ")],
  ])("are not found in %s", (_what, written) => expect(covered(written)).toEqual([]));

  it.each(["Key-9z%09O%5fjkM~2", "Key-9z%09O%5FjkM%7E2", "%4bey-9z=09O_jkM~2", "Key-9z\\tO&#95;jkM\\u007e2"])(
    "are found where some of them are escaped: %s",
    (written) => expect(covered(`a ${written} b`)).toEqual([written]),
  );

  it("are found in Base64 of Base64 of Base64, and no deeper", () => {
    const written = (times: number): string =>
      times === 0 ? VALUE : Buffer.from(written(times - 1)).toString("base64");
    for (const times of [1, 2, 3])
      expect(covered(`a ${written(times)} b`)[0], `${times}`).toContain(written(times).slice(4, -8));
    expect(covered(written(4))).toEqual([]);
  });
});
