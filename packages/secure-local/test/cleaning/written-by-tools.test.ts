// A value as programs show bytes: the real output of od, hexdump, xxd and base64, and the forms of languages and manuals.
import { describe, expect, it } from "vitest";
import { BEFORE, FORMS, toolForms } from "../../../../scorecard/support/tool-dumps.mjs";
import { rememberSecret } from "../../src/audit/secret-shapes.js";
import { EscapedValues, LONGEST_ESCAPE } from "../../src/audit/secret-spellings.js";
import { cleanText } from "../../src/guard/cleaning/clean-text.js";

const VALUES = ["Yw8-RvFsUz_3gK1jMnP7qS4", 'Vb6/t+K&w0%q"Ns=81cD', "4815162342108"];
for (const [at, value] of VALUES.entries()) rememberSecret(`tool_${at}`, value);

type Write = (text: string) => string;
const forms = [
  ...Object.entries(FORMS as Readonly<Record<string, Write>>),
  ...(toolForms() as Iterable<[string, Write]>),
];

describe("a value is found", () => {
  it.each(forms)("as %s, wherever it stands in it", (_, write) => {
    for (const [at, value] of VALUES.entries())
      for (const before of BEFORE)
        for (const text of [write(`${before}${value}`), `it: ${write(`${before}${value} and more`)} end`]) {
          if (text.includes(value)) continue;
          expect(cleanText(text), text).toContain(`[secret tool_${at}]`);
        }
  });

  it("behind names of characters in answers of hosts as well, which are no longer than what is held back", () => {
    const value = VALUES[0] as string;
    const escaped = new EscapedValues([[value, "HIDDEN"]]);
    for (const written of ["Yw8&hyphen;RvFsUz&UnderBar;3gK1jMnP7qS4", "&Yopf;w8&minus;RvFsUz&lowbar;3gK1jMnP7qS4"]) {
      expect(escaped.replace(`a ${written} z`)).toBe("a HIDDEN z");
      expect(cleanText(`a ${written} z`)).toBe("a [secret tool_0] z");
    }
    expect("&DiacriticalGrave;".length).toBeLessThanOrEqual(LONGEST_ESCAPE);
    for (const text of ["&eacute; &nosuchname; &lt;p&gt;", "x1 x2 x3", "it is 5h, 12h or 20h", "U+0041 is A"])
      expect(cleanText(text)).toBe(text);
  });
});
