// Every rule that is easily missed (protocol.md, section 10) is named by a test or a transcript, or says here why not.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { describe, expect, it } from "vitest";

const FOLDER = new URL(".", import.meta.url);
const RULES = new URL("../../../../shared/protocol.md", import.meta.url);
const ALL = Array.from({ length: 60 }, (_, n) => `M${String(n + 1).padStart(2, "0")}`);

const HTTP = "HTTP: its suite names it when the rule is shown there";
const CLIENT = "client: not built yet";

/** Rules no test names. A line goes as soon as one does. */
const EXCUSES: Readonly<Record<string, string>> = {
  M13: CLIENT,
  ...Object.fromEntries(range(17, 30).map((rule) => [rule, HTTP])),
  M31: CLIENT,
  M32: HTTP,
  M34: HTTP,
  M35: HTTP,
};

describe("the rules of protocol.md, section 10", () => {
  const named = namesIn(FOLDER);

  it("are sixty", ({ skip }) => {
    if (!existsSync(RULES) && process.env["CI"]) throw new Error("../shared/protocol.md must be there when CI is set");
    skip(!existsSync(RULES), "../shared/protocol.md is not here");
    const section = readFileSync(RULES, "utf8").split("# 10. ")[1]?.split("\n# ")[0] ?? "";
    expect(section.match(/^\d+\. /gm)).toHaveLength(ALL.length);
  });

  it("are named by a test or excused", () => {
    expect(ALL.filter((rule) => !named.has(rule) && EXCUSES[rule] === undefined)).toEqual([]);
  });

  it("are not excused once a test names them", () => {
    expect(
      Object.keys(EXCUSES).filter((rule) => named.has(rule)),
      "remove these lines from EXCUSES",
    ).toEqual([]);
  });
});

function range(from: number, to: number): string[] {
  return ALL.slice(from - 1, to);
}

/** Rules named in the tests, transcripts and corpora of a folder; this file does not count. */
function namesIn(folder: URL): Set<string> {
  const found = new Set<string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "musts.test.ts" || ![".ts", ".txt", ".json"].includes(extname(entry.name)))
      continue;
    const text = readFileSync(`${entry.parentPath}/${entry.name}`, "utf8");
    for (const [rule] of text.matchAll(/\bM\d\d\b/g)) found.add(rule);
  }
  return found;
}
