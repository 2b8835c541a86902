// Each built-in tool has a page of documentation that names its arguments, what it answers and how it annotates itself.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { catalogueOf } from "../../src/server/catalogue.js";

interface Property {
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
}
interface Schema {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

const identity = { name: "mcp-secure-local", version: "1.0.0" };
const tools = [...catalogueOf(builtInPolicy(), { identity, tools: [] }).tools.values()];

describe.each(tools.map((tool) => [tool.name, tool] as const))("docs/tools/%s.md", (name, tool) => {
  const file = new URL(`../../../../docs/tools/${name}.md`, import.meta.url);
  const page = existsSync(file) ? readFileSync(file, "utf8") : "";
  const input = tool.input as Schema;
  const rows = new Map(
    [...page.matchAll(/^\| `(\w+)` +\| ([^]*?) \|$/gm)].map(([, key = "", rest = ""]) => [key, rest]),
  );

  it("is there", () => expect(page).toMatch(new RegExp(`^# ${name}\n`)));

  it("has a row for each argument, with what is required and every bound, default and choice", () => {
    expect([...rows.keys()].toSorted()).toEqual(Object.keys(input.properties ?? {}).toSorted());
    for (const [key, property] of Object.entries(input.properties ?? {})) {
      const row = rows.get(key) ?? "";
      expect(row.includes("required"), `${key} required`).toBe(input.required?.includes(key) ?? false);
      const { default: usual, minimum, maximum, enum: choices = [] } = property;
      const small = [usual, minimum === 0 || minimum === 1 ? undefined : minimum, maximum].filter(
        (each) => each !== undefined,
      );
      for (const value of [...small, ...choices]) expect(row, `${key}: ${wordOf(value)}`).toContain(wordOf(value));
    }
  });

  it("names everything that is answered as data", () => {
    expect(tool.output, "output schema").toBeDefined();
    for (const key of Object.keys((tool.output as Schema | undefined)?.properties ?? {}))
      expect(page).toContain(`\`${key}\``);
  });

  it("says its annotations", () => {
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations;
    const words = [
      readOnlyHint ? "read-only" : destructiveHint ? "destructive" : "not destructive",
      ...(idempotentHint ? ["idempotent"] : readOnlyHint ? [] : ["not idempotent"]),
      openWorldHint ? "open world" : "closed world",
    ];
    expect(page.replace(/\s+/g, " ")).toMatch(new RegExp(`Annotations: ${words.join(", ")}[.;]`));
  });
});

function wordOf(value: unknown): string {
  return typeof value === "boolean" ? (value ? "true" : "false") : String(value);
}
