// Finding tools: ranking, levels of detail, and that nothing is found that is not listed.
import { describe, expect, it } from "vitest";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { catalogueOf } from "../../src/server/catalogue.js";
import {
  listCategories,
  rankTools,
  searchTools,
  type SearchToolsArguments,
} from "../../src/tools/search-tools/search-tools.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { powers, wordsOf } from "./powers.js";

const policy = builtInPolicy();
const all = [...catalogueOf(policy, { identity: { name: "x", version: "1" }, tools: [] }).tools.values()];
const names = (query: string): string[] => rankTools(all, query).map(({ name }) => name);
const search = (args: SearchToolsArguments) => searchTools(() => all).run(args, powers());

describe("search_tools", () => {
  it.each([
    ["read_file", "read_file"],
    ["read a file", "read_file"],
    ["sql", "query_database"],
    ["postgres tables", "query_database"],
    ["load a spreadsheet", "import_csv"],
    ["grep", "search_text"],
    ["math", "calculate"],
    ["what is the date today", "get_timestamp"],
    ["open website", "web_fetch"],
    ["search the web", "web_search"],
    ["ls", "list_directory"],
    ["shell", "run_command"],
    ["categories", "list_categories"],
  ])("finds for %j %s first, each time", (query, first) => {
    expect(names(query)[0]).toBe(first);
    expect(rankTools([...all].reverse(), query).map(({ name }) => name)).toEqual(names(query));
  });

  it("says as much as is asked for", async () => {
    expect(await search({ query: "database", detail: "names", limit: 1 })).toEqual({
      structured: { tools: [{ name: "query_database" }], total: expect.any(Number) as number },
      text: expect.stringMatching(/^query_database\n\(\d+ more fit/) as string,
    });
    const summary = await search({ query: "", category: "data" });
    expect(summary).toMatchObject({
      structured: { total: 2, tools: [{ name: "import_csv", category: "data" }, { name: "query_database" }] },
    });
    const full = await search({ query: "query_database", detail: "full", limit: 1 });
    expect(full).toMatchObject({
      structured: { tools: [{ inputSchema: { required: ["sql"] }, annotations: { readOnlyHint: true } }] },
    });
    const sizes = await Promise.all(
      (["names", "summary", "full"] as const).map(
        async (detail) => wordsOf(await search({ query: "", detail, limit: 100 })).length,
      ),
    );
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    expect(wordsOf(await search({ query: "xylophone" }))).toContain("No tool fits");
  });

  it("knows only what is listed now", async () => {
    let listed = all;
    const tool = searchTools(() => listed);
    listed = all.filter(({ name }) => name === "calculate");
    expect(await tool.run({ query: "", detail: "names" }, powers())).toMatchObject({
      structured: { tools: [{ name: "calculate" }], total: 1 },
    });
  });

  it("stays quick whatever is asked", () => {
    const many = Array.from({ length: repeated(300, 1_000) }, (_, index) => ({
      ...all[0]!,
      name: `tool_${index}`,
      description: "word ".repeat(2_000),
    }));
    expect(rankTools(many, "a".repeat(500)).length).toBe(0);
    expect(rankTools(many, Array.from({ length: 250 }, (_, index) => `w${index}`).join(" ")).length).toBe(0);
  });
});

describe("list_categories", () => {
  it("counts the tools of each", async () => {
    const answer = await listCategories(() => all).run({}, powers());
    expect(answer).toMatchObject({
      structured: {
        categories: expect.arrayContaining([
          { name: "files", description: "Files and folders of this machine", tools: 6 },
        ]) as unknown,
      },
    });
    expect(wordsOf(answer)).toContain("data (2 tools): Databases and tables");
    const odd = { ...all[0]!, category: "music" };
    expect(wordsOf(await listCategories(() => [odd]).run({}, powers()))).toBe("music (1 tool)");
  });
});
