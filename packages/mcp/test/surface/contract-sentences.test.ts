// Every sentence of a public doc comment that says "once", "never" or "at most" is listed with the test that shows it.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { publicNames } from "../../../../scripts/lib/api-reference.mjs";
import { NO_PROMISES, SHOWN } from "./contract-sentences.js";

/** "At once" is a number or a moment, and "once it is there" a time: neither promises how often something happens. */
const OTHER_SENSES =
  /\bat once\b|\bonce (?:the|there|they|their|its?|what|a session|everything|nothing|whoever|`|run|removed|completed)\b|\bonce `?\w+`? (?:is|are|has|have|had|approves)\b/gi;
const PROMISE = /\b(?:once|never|at most)\b/i;

interface Sentence {
  readonly name: string;
  readonly text: string;
}

function sentences(): readonly Sentence[] {
  const found = new Map<string, Sentence>();
  for (const { names } of publicNames()) {
    for (const { name, comment = "", source } of names) {
      const comments = [comment, ...Array.from(source.matchAll(/\/\*\*([\s\S]*?)\*\//g), ([, inner = ""]) => inner)];
      for (const each of comments) {
        const plain = each.replace(/^\s*\*\s?/gm, "").replace(/\s+/g, " ");
        for (const text of plain.split(/(?<=[.;:])\s+/)) {
          if (PROMISE.test(text.replace(OTHER_SENSES, ""))) found.set(`${name} ${text}`, { name, text });
        }
      }
    }
  }
  return [...found.values()];
}

describe("what public doc comments promise", () => {
  const all = sentences();
  const listed = [...SHOWN, ...NO_PROMISES];

  it("is shown by a test", () => {
    const unshown = all.filter(({ name, text }) => !listed.some((line) => line[0] === name && text.includes(line[1])));
    expect(unshown.map(({ name, text }) => `no test is listed for ${name}: ${text}`)).toEqual([]);
  });

  it("is said where the list says it", () => {
    const unsaid = SHOWN.filter(([name, words]) => !all.some((one) => one.name === name && one.text.includes(words)));
    expect(unsaid).toEqual([]);
  });

  it.each(SHOWN)("%s: %s", (_name, _words, file, title) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
    expect(text, `${file} has no test of this title`).toContain(JSON.stringify(title));
  });
});
