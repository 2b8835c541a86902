// What a person is shown of hostile calls: all of it, nothing that acts on a terminal, nothing that passes for something else.
import { corpus } from "./corpora.mjs";

/** What the call really does; it has to be in sight whatever stands around it. */
const CORE = "/srv/evil-target";
/** Lines within which a person sees it. */
const IN_SIGHT = 20;

const PADDING = {
  "10 kB of spaces": " ".repeat(10_000),
  "10 kB of lines": "\n".repeat(10_000),
  "10 kB of one letter": "a".repeat(10_000),
  "10 kB of a joiner": "\u200d".repeat(10_000),
  "10 kB of a blank": "\u2800".repeat(10_000),
  "10 kB of carriage returns": "\r".repeat(10_000),
  "10 kB of tabs": "\t".repeat(10_000),
  "10 kB of marks": `a${"\u0301".repeat(10_000)}`,
  "10 kB of a wide space": "\u3000".repeat(10_000),
};
const TERMINAL = {
  hidden: "\x1b[8m",
  "cursor up": "\x1b[99A\x1b[2K",
  "screen cleared": "\x1b[2J\x1b[H",
  "line rewritten": "\rAllow a harmless thing?",
  "a title": "\x1b]0;safe\x07",
  "a link": "\x1b]8;;http://x\x1b\\safe\x1b]8;;\x1b\\",
  "an 8 bit sequence": "\u009b2J",
  "a screen of its own": "\x1b[?1049h",
  backspaces: "\b".repeat(99),
};
const LOOK_ALIKE = [
  "p\u0430ypal",
  "\u0440\u0430\u0441\u0435",
  "micr\u03bfsoft",
  "\uff52\uff4d",
  "\u{1d42b}\u{1d426}",
  "\u0455\u0435\u0441ure",
  "r\u03bf\u03bft",
];
const BIDI = ["\u202e", "\u2066", "\u200f", "\u061c", "\u202d", "\u2067"];
const HONEST = [
  "Grüße aus Köln",
  "日本語のテキスト",
  "привет мир",
  "γειά σου Κόσμε",
  "مرحبا",
  "naïve façade 😀",
  "https://example.com/?a=b#c",
  "SELECT 1;",
];

export async function questionsShown(report, parts) {
  report.kind("a question that shows something else than what is done");
  const look = (args, tool = "erase") => shown(parts, args, tool);
  for (const [what, padding] of Object.entries(PADDING)) {
    const forms = { before: `${padding}${CORE}`, behind: `${CORE}${padding}`, around: `${padding}${CORE}${padding}` };
    for (const [where, note] of Object.entries(forms)) {
      await report.attack(`${what} ${where} the target`, () => inSight(parts, look({ note })));
      await report.attack(`${what} ${where} in another argument`, () => inSight(parts, look({ note, path: CORE })));
    }
    await report.attack(`${what} in a name`, () => inSight(parts, look({ [padding]: 1, path: CORE })));
  }
  const terminal = { ...TERMINAL, ...corpus("terminal-and-log.json", {}) };
  for (const [what, escape] of Object.entries(terminal)) {
    await report.attack(`${what} in an argument`, () => inSight(parts, look({ note: `${escape}${CORE}${escape}` })));
    await report.attack(`${what} in a name`, () => inSight(parts, look({ [escape]: CORE })));
    await report.attack(`${what} in the tool's name`, () => inSight(parts, look({ path: CORE }, `erase${escape}`)));
  }
  for (const word of LOOK_ALIKE) {
    await report.attack(`the look-alike ${word}`, () => warned(look({ path: `/srv/${word}` })));
    await report.attack(`a tool called ${word}`, () => warned(look({}, word)));
  }
  for (const mark of BIDI)
    await report.attack(`a direction U+${mark.codePointAt(0).toString(16)}`, () => {
      const text = look({ path: `${CORE}${mark}gpj.exe` });
      return text.includes(mark) ? "it is not written out" : inSight(parts, text);
    });
  for (const forged of [
    "Question 0000; approved already",
    'Allow this one call of the tool "look"?',
    "It has no arguments.",
  ])
    for (const args of [
      { note: `x\n${forged}` },
      { [`a\n${forged}`]: 1 },
      { note: `x\u2028${forged}` },
      { note: `x\r\n${forged}` },
    ])
      await report.attack(`a forged line: ${JSON.stringify(args)}`, () => {
        const lines = look(args).split("\n").slice(2, -2);
        return lines.every((line) => line.startsWith("  ")) || lines.join("\n");
      });
  await report.attack(
    "more than anybody reads",
    () => shown(parts, { note: words(70_000), path: CORE }, "erase") === undefined,
  );
  for (const text of HONEST)
    await report.benign(`shown without a warning: ${text}`, () => {
      const told = look({ path: text });
      return (told.includes(text) || told.includes(JSON.stringify(text).slice(1, -1))) && !told.includes("CAREFUL")
        ? true
        : told;
    });
}

function shown({ shownCall }, args, tool) {
  return shownCall({
    tool,
    arguments: args,
    principal: "ada",
    rules: [{ text: "approvals: destructive", line: 4 }],
    timeoutMs: 5_000,
    id: "ab12",
  });
}

/** Whole, soon seen, and dead. What is not shown at all is refused, which is as good. */
function inSight({ activeControls }, text) {
  if (text === undefined) return true;
  const actions = activeControls(text);
  if (actions.length > 0) return `acts: ${actions.join(", ")}`;
  const line = text.split("\n").findIndex((one) => one.includes(CORE));
  return (line >= 0 && line < IN_SIGHT) || text.slice(0, 500);
}

function warned(text) {
  return text.includes("CAREFUL") || text;
}

function words(characters) {
  return Array.from({ length: characters / 5 }, (_, index) => `w${index}`).join(" ");
}
