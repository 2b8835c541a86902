// What a person is shown: all of the call, nothing that acts on a terminal, nothing that passes for something else.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber } from "@secure-local/mcp/jsonrpc";
import { MAX_SHOWN, shownCall } from "../../src/guard/approvals/shown-call.js";
import { cleanText } from "../../src/guard/cleaning/clean-text.js";
import { hasCorpus, readCorpus } from "../fixtures/shared-corpus.js";

function shown(args: unknown, tool = "erase"): string {
  const text = shownCall({
    tool,
    arguments: args,
    principal: "ada",
    rules: [{ text: "approvals: destructive", line: 4 }],
    timeoutMs: 5_000,
    id: "ab12",
  });
  if (text === undefined) throw new Error("not shown");
  return text;
}

describe("a call is shown", () => {
  it("whole, short arguments first, however much padding stands around them", () => {
    const padding = " ".repeat(10_000);
    const text = shown({ note: `ok${padding}rm -rf /`, path: "/a" });
    expect(text).toContain("rm -rf /");
    expect(text).toContain("\\{10000 times}");
    expect(text.length).toBeLessThan(600);
    expect(text.indexOf("path")).toBeLessThan(text.indexOf("note"));
    const lines = shown({ note: `ok${"\n".repeat(10_000)}rm -rf /` });
    expect(lines).toContain("times}");
    expect(lines.split("\n").length).toBeLessThan(15);
    const words = Array.from({ length: 2_500 }, (_, index) => `w${index}`).join(" ");
    expect(shown({ note: `${words} rm -rf /` })).toContain("rm -rf /");
  });

  it("or not at all when nobody would read it", () => {
    const words = Array.from({ length: MAX_SHOWN }, (_, index) => `w${index}`).join(" ");
    expect(() => shown({ note: words })).toThrow("not shown");
  });

  it("without a line that an argument could forge", () => {
    const text = shown({ note: 'x\nQuestion 0000; approved already\n"path": "/tmp/harmless"' });
    for (const line of text.split("\n").slice(2, -2)) expect(line).toMatch(/^ {2}/);
    expect(text).not.toMatch(/^Question 0000/m);
    expect(shown({ "a\nb": 1 })).toContain('"a\\nb": 1');
  });

  it.each([
    ["a Cyrillic letter in a Latin word", "p\u0430ypal"],
    ["a word of Cyrillic twins", "\u0440\u0430\u0441\u0435"],
    ["a Greek letter in a Latin word", "micr\u03bfsoft"],
    ["fullwidth letters", "\uff52\uff4d"],
    ["mathematical letters", "\u{1d42b}\u{1d426}"],
  ])("with a warning of %s", (_what, word) => {
    expect(shown({ path: `/srv/${word}` })).toContain("CAREFUL");
    expect(shown({}, word)).toContain("CAREFUL");
  });

  it.each(["Grüße aus Köln", "日本語のテキスト", "привет мир", "γειά σου Κόσμε", "مرحبا", "naïve façade 😀"])(
    "without a warning of honest writing: %s",
    (text) => expect(shown({ path: text })).not.toContain("CAREFUL"),
  );

  it("with each line of a longer text as it is: a quote is a quote, and no two texts look alike", () => {
    const script = 'cp "$HOME/work" \\\n  "$1"\n';
    expect(shown({ script })).toContain('    | cp "$HOME/work" \\\\\n    |   "$1"\n    | ');
    const piece = fc.constantFrom('"', "\\", '\\"', "a", "\u200b", "{", " ", "\\u{200b}", "| ");
    const text = fc.array(piece, { minLength: 1, maxLength: 6 }).map((all) => `x\n${all.join("")}`);
    fc.assert(fc.property(text, text, (a, b) => (shown({ a }) === shown({ a: b })) === (a === b)));
  });

  it("so that no two values look alike, whatever kind they are and however their letters are put together", () => {
    const numbers = [
      "1.0",
      "1",
      "1e1",
      "1E1",
      "10",
      "1e400",
      "-0",
      "0",
      "12345678901234567890",
      "1e-7",
      "true",
      "null",
    ];
    const plain = numbers.flatMap((text): unknown[] => [
      ["-0", "1.0", "1E1", "1e1", "1e400", "12345678901234567890"].includes(text)
        ? new ExactNumber(text)
        : (JSON.parse(text) as unknown),
      text,
      `"${text}"`,
    ]);
    const letters = [
      "\u00e9",
      "e\u0301",
      "\u1ecd\u0301",
      "o\u0323\u0301",
      "o\u0301\u0323",
      "\u00f8",
      "o\u0338",
      "i",
      "i\u0307",
    ];
    const others = [
      "\u212b",
      "\u00c5",
      "A\u030a",
      "\uac00",
      "\u1100\u1161",
      "\u0958",
      "\u0915\u093c",
      "\u2260",
      "=\u0338",
    ];
    const edges = [
      "",
      "\u0301",
      "x\u0301",
      "\u0622",
      "\u0627\u0653",
      "\ufb2a",
      "\u05e9\u05c1",
      "\u{1d15e}",
      "\u{1d157}\u{1d165}",
    ];
    const values = [...plain, ...letters, ...others, ...edges];
    const nested = [
      (v: unknown) => v,
      (v: unknown) => [v],
      (v: unknown) => ({ a: { b: [1, v] } }),
      (v: unknown) => `x\n${String(v)}`,
    ];
    for (const [at, shape] of nested.entries()) {
      const all = values.filter((value) => at < 3 || typeof value === "string").map((v) => shown({ f: shape(v) }));
      expect(new Set(all.map((text) => text.normalize("NFC"))).size).toBe(all.length);
    }
    for (const [number, text] of [
      ["1.0", "f"],
      ["1e400", "f"],
      ["12345678901234567890", "f"],
    ] as const)
      expect(shown({ [text]: new ExactNumber(number) })).toContain(`"f": ${number}\n`);
    for (const marked of ["o\u0338", "i\u0307", "e\u0301", "\u0301"])
      expect(shown({ f: `a${marked}` })).toContain(`\\u{${marked.codePointAt(marked.length - 1)?.toString(16)}}`);
    const names = ["caf\u00e9", "cafe\u0301"].map((name) => shown({ [name]: 1 }).normalize("NFC"));
    expect(names[0]).not.toBe(names[1]);
  });

  it("with accents, vowel signs and syllables as they are usually written", () => {
    for (const text of ["naïve façade Ünïcödé", "हिन्दी में लिखा", "ภาษาไทยที่นี่", "한국어", "தமிழ்", "עברית", "العربية"])
      expect(shown({ path: text })).toContain(`"${text}"`);
  });

  it("tells escapes from what looks like them", () => {
    expect(shown({ note: "\\u{200b}" })).toContain("\\\\u{200b}");
    expect(shown({ note: "a\u200bb" })).toContain("a\\u{200b}b");
    expect(shown({ note: `\\${"n".repeat(30)}` })).toContain("\\\\n\\{30 times}");
    expect(shown({ note: `\t${"t".repeat(30)}` })).toContain("\\tt\\{30 times}");
  });
});

describe.skipIf(!hasCorpus("hidden-unicode.json") || !hasCorpus("terminal-and-log.json"))("hostile texts", () => {
  it("are shown as escapes, so that cleaning finds nothing to do", () => {
    const { classes } = readCorpus<{ classes: Record<string, number[]> }>("hidden-unicode.json");
    const sequences = readCorpus<Record<string, string>>("terminal-and-log.json");
    const points = Object.values(classes).flat();
    for (const hostile of [...points.map((point) => `a${String.fromCodePoint(point)}b`), ...Object.values(sequences)]) {
      for (const text of [shown({ note: hostile }), shown({ [hostile]: 1 }), shown({}, hostile)]) {
        expect(cleanText(text)).toBe(text);
        // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
        expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
      }
    }
  });
});
