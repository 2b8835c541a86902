// The list of the longest test files names files that exist: one that was renamed would run last again, alone.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LONGEST } from "../lib/longest-first.mjs";
import { root } from "../lib/run-command.mjs";

it("names files that exist, each once", () => {
  const files = ["packages", "scripts"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"))
      .map((name) => `/${folder}/${name}`),
  );
  for (const end of LONGEST) expect([end, files.filter((name) => name.endsWith(`/${end}`)).length]).toEqual([end, 1]);
});
