// Holds SECURITY.md to its word: every promise names a goal or a test that exists, and says what it does not cover.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const page = readFileSync(join(root, "SECURITY.md"), "utf8");
const defended = page.slice(page.indexOf("## What is defended"), page.indexOf("## What is not defended"));
const promises = defended.split(/\n(?=- \*\*)/).slice(1);
const goals = readdirSync(join(root, "scorecard/cases")).map((name) => name.slice(0, 3).toUpperCase());

describe("SECURITY.md", () => {
  it("has promises", () => expect(promises.length).toBeGreaterThan(15));

  it.each(promises.map((text) => [/\*\*(.+?)\*\*/.exec(text)?.[1] ?? "", text.replace(/\s+/g, " ")]))(
    "says of %s what shows it and what it does not cover",
    (_name, text) => {
      const shown = /\*Shown by (.+?)\.\*/.exec(text)?.[1]?.split(", ") ?? [];
      expect(shown.length).toBeGreaterThan(0);
      for (const one of shown) {
        const file = /^`(.+)`$/.exec(one)?.[1];
        if (file === undefined) expect(goals).toContain(one);
        else expect(existsSync(join(root, "packages/secure-local/test", file)), file).toBe(true);
      }
      expect(text).toContain("Not covered: ");
    },
  );
});
