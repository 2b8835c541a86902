// The pages about the command line name every check and option there is, and none that is not.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readCommandLine } from "../../src/cli/command-line.js";
import { COMMAND_PAGES } from "../../src/cli/command-reference.js";
import { OPTION_PAGES } from "../../src/cli/option-reference.js";
import { CHECKS } from "@secure-local/mcp-tools/examine";

const page = (name: string): string => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8");

describe("docs/command-line.md", () => {
  const text = page("command-line.md");

  it("has each check as it is, in order", () => {
    const rows = CHECKS.map(({ id, tier, must, title }) => {
      const rule = must === undefined ? "" : `M${String(must).padStart(2, "0")}`;
      return `| \`${id}\` | ${tier} | ${rule} | ${title} |`.replaceAll(/ +/g, " ");
    });
    const written = text.split("\n").filter((line) => /^\| `[a-z-]+`\s+\| (?:breaks|note)/.test(line));
    expect(written.map((line) => line.replaceAll(/ +/g, " "))).toEqual(rows);
  });

  it("has options and commands that exist, as the help has them", () => {
    for (const [, option = ""] of text.matchAll(/(?:^\| |`)`?(--[a-z]+(?:-[a-z]+)*)/gm)) {
      const read = (): unknown => readCommandLine([option, "x"]);
      expect(read, option).not.toThrow("there is no option");
      expect(OPTION_PAGES, option).toHaveProperty([option]);
    }
    for (const name of ["inspect", "tools", "call", "read", "prompt", "doctor", "record", "replay"]) {
      expect(COMMAND_PAGES.map((each) => each.name)).toContain(name);
    }
  });
});

describe("docs/troubleshooting.md", () => {
  it("names checks that exist", () => {
    const ids = new Set(CHECKS.map(({ id }) => id));
    const named = [...page("troubleshooting.md").matchAll(/checks? (`[a-z-]+`(?:, `[a-z-]+`)*)/g)];
    const names = named.flatMap(([, list = ""]) => [...list.matchAll(/`([a-z-]+)`/g)].map(([, id]) => id ?? ""));
    expect(names.length).toBeGreaterThan(25);
    expect(names.filter((id) => !ids.has(id))).toEqual([]);
  });
});
