// Plugins in TypeScript run on every Node this program runs on, with lines as their author wrote them.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { hasWall } from "../sandbox/walls.js";
import { type ServedPlugins, servePlugins } from "./plugin-server.js";

const PLUGIN = `
import { definePlugin, type PluginContext } from "mcp-secure-local/plugin";
import { shout, type Loud } from "./shout.ts";

interface Said { readonly text: string }

export default definePlugin({
  name: "typed", version: "1",
  tools: {
    say: { description: "Says it", run: ({ text }: Said, _context: PluginContext): Loud => shout<string>(text as string) },
    where: { description: "Its line", run: (): string => (new Error("x").stack ?? "").split("\\n")[1]?.replace(/.*plugin\\.ts:/, "") ?? "" },
  },
});
`;
const folder = pluginFolder();
folder.write("typed", {
  "plugin.ts": PLUGIN,
  "shout.ts":
    "export type Loud = string;\nexport function shout<T extends string>(text: T): Loud { return text!.toUpperCase(); }\n",
});
folder.write("wrong", { "plugin.ts": "export default { name: 'wrong', tools: {}, } as;\n" });
folder.write("enums", { "plugin.ts": "enum Odd { A }\nexport default { name: 'enums', version: String(Odd.A) };\n" });
const POLICY = `version: "1.0"\ntools: { allowed: ["typed_*"] }\nplugins: { folder: ${folder.path}, load: [{ name: typed }, { name: wrong }, { name: enums }] }\n`;
afterAll(() => folder.remove());

describe.skipIf(!hasWall())("a plugin in TypeScript", () => {
  let served: ServedPlugins;

  beforeAll(async () => void (served = await servePlugins(POLICY, ["typed_say"])));
  afterAll(() => served.secure.stop());

  test("may import others, and its errors name its own lines", async () => {
    expect(await served.call("typed_say", { text: "loud" })).toBe("LOUD");
    expect(await served.call("typed_where")).toMatch(/^11:/);
  });

  test.each(["wrong", "enums"])("that cannot be read, like %s, tells why", async (name) => {
    // Newer Nodes tell it in words of their own, of which only the end is kept.
    const told =
      "typescript" in process.features
        ? /"state":"(?:waiting|broken)"/
        : /"state":"(?:waiting|broken)".*plugin\.ts:1:\d+: /;
    const health = (): string => JSON.stringify(served.secure.pluginHealth().find((plugin) => plugin.name === name));
    await vi.waitFor(() => expect(health()).toMatch(told), { timeout: 15_000 });
  });
});
