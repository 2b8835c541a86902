// Names: one for each thing of each server, the same every time, never one that means another thing.
import { describe, expect, it } from "vitest";
import { qualifiedName } from "../../src/host/catalogue.js";
import { checkServerName } from "../../src/host/launch.js";

const SAFE = /^[A-Za-z0-9_-]{1,64}$/;

describe("names of tools", () => {
  it.each([
    ["files", "read", "files__read"],
    ["my-server_2", "read_file", "my-server_2__read_file"],
    ["files", "_read", "files___read"],
  ])("%s and %s are %s", async (server, tool, name) => {
    expect(await qualifiedName(server, tool)).toBe(name);
  });

  it.each([
    ["a long tool", "files", "t".repeat(100)],
    ["a server with spaces", "My Files", "read"],
    ["a tool with a dot", "files", "fs.read"],
    ["a server that holds the seam", "a__b", "c"],
    ["a server that ends like the seam", "a_", "b"],
    ["a tool that looks like one made with a digest", "files", "read_0123456789"],
    ["letters of other scripts", "датчик", "прочесть"],
  ])("%s is shortened or cleaned, with a digest", async (_, server, tool) => {
    const name = await qualifiedName(server, tool);
    expect(name).toMatch(SAFE);
    expect(name).toMatch(/_[0-9a-f]{10}$/);
    expect(await qualifiedName(server, tool)).toBe(name);
  });

  it("no two of many pairs have one name", async () => {
    const parts = [
      "a",
      "b",
      "a_",
      "_a",
      "a__b",
      "a_b",
      "a.b",
      "a b",
      "__",
      "_",
      "-",
      "b__a",
      "t".repeat(70),
      `${"t".repeat(69)}u`,
    ];
    const crafted = [(await qualifiedName("a.b", "a")).slice("a_b__".length)];
    const names = new Map<string, string>();
    for (const server of parts) {
      for (const tool of [...parts, ...crafted]) {
        const name = await qualifiedName(server, tool);
        expect(name).toMatch(SAFE);
        expect(names.get(name), `${server} ${tool}`).toBeUndefined();
        names.set(name, `${server} ${tool}`);
      }
    }
  });
});

describe("names of servers", () => {
  it.each([
    ["the same", "files", "files"],
    ["another case", "files", "Files"],
    ["a Cyrillic letter", "paypal", "pаypal"],
    ["a digit for a letter", "google", "g00gle"],
    ["a wide letter", "files", "ｆiles"],
    ["another separator", "my-files", "my_files"],
    ["an accent", "files", "fílés"],
    ["two letters for one", "modern", "modem"],
  ])("%s looks like one that is there", (_, there, name) => {
    expect(() => checkServerName(name, [there])).toThrow(expect.objectContaining({ code: "LOOK_ALIKE" }));
  });

  it.each(["", "  ", "a\nb", "a\u202eb", "\u200b", "x".repeat(65)])("%j is no name", (name) => {
    expect(() => checkServerName(name, [])).toThrow(expect.objectContaining({ code: "INVALID_NAME" }));
  });

  it.each(["files", "My Files", "датчик", "a.b", "github-2"])("%s is one", (name) => {
    expect(() => checkServerName(name, ["other", "github-1x"])).not.toThrow();
  });
});
