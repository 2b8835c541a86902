// Each error that a person's own command line or file can cause says what to do, whatever it says besides.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "../../src");

/** What is thrown at people, by its class; a `LocalError` where it is one of usage. */
const THROWN = /new (?:UsageError|ServeError|LockError|LocalError\(\s*"USAGE",|AuditError\(\s*"[a-z_]+",)\s*\(?/g;

/** A text has something to do in it: a form to write, a command, a thing that is to be done. */
const ADVICE =
  /\bas in\b|\bneeds?\b|\btakes?\b|\bbelongs? to\b|\bname\b|\bgive\b|\bkeep\b|\bwrite\b|\bleave\b|\bmake\b|\bchoose\b|\bremove\b|\bmend\b|\bcheck\b|\bsee\b|\brun\b|\bcopy\b|\bread\b|\banswer\b|\brepeat\b|\bStop\b|\brecord\b|\bset\b|\bput\b|\bchange\b|\bRestart\b|\bverify\b|did you mean|mcp-secure-local|\bare for\b|\bis for\b|there are|\bonly\b|nearest\(|usage|advice|howToAllow/i;

/** Texts made elsewhere, each with its own advice, as the names in them show; and one that says what a person did. */
const ELSEWHERE =
  /^(?:[A-Za-z.]+|(?:this\.)?#?\w+, what|reason, \{ cause: error \}|this\.#file, what|isThere\(file\)|notLoaded\(.*\)|adviceFor\(.*\)|`\$\{file\}: \$\{fault\}`|`\$\{file\} has \$\{which\}.*)$/s;
const SAID = ["nothing was started: you did not allow it", "the audit log is closed."];

interface Thrown {
  readonly place: string;
  readonly text: string;
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
}

/** The first argument with words in it, as it stands in the source. */
function thrownIn(file: string): Thrown[] {
  const source = readFileSync(join(SOURCES, file), "utf8");
  return [...source.matchAll(THROWN)].map((match) => {
    const from = match.index + match[0].length;
    let [depth, quote, at] = [1, "", from];
    for (; at < source.length && depth > 0; at++) {
      const character = source[at]!;
      if (quote !== "") {
        if (character === "\\") at++;
        else if (character === quote) quote = "";
      } else if ("\"'`".includes(character)) quote = character;
      else if ("([{".includes(character)) depth++;
      else if (")]}".includes(character)) depth--;
    }
    const line = source.slice(0, match.index).split("\n").length;
    return {
      place: `${file}:${line}`,
      text: source
        .slice(from, at - 1)
        .trim()
        .replace(/,$/, ""),
    };
  });
}

const ALL = sourcesIn(SOURCES).flatMap(thrownIn);

describe("errors of people", () => {
  it("are found in the sources", () => {
    expect(ALL.length).toBeGreaterThan(150);
  });

  it("say what to do", () => {
    const silent = ALL.filter(
      ({ text }) => !ADVICE.test(text) && !ELSEWHERE.test(text) && !SAID.some((said) => text.includes(said)),
    );
    expect(silent).toEqual([]);
  });
});
