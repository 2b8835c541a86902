// What the built library loads: a start reads no more than it needs, and what comes later is in files of its own.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const dist = new URL("../../packages/mcp/dist/", import.meta.url);

/** The built files that `entries` load at once: by static imports. */
function loadedAtOnce(...entries: string[]): ReadonlySet<string> {
  const loaded = new Set(entries);
  for (const name of loaded) {
    const text = readFileSync(fileURLToPath(new URL(name, dist)), "utf8");
    for (const [, other] of text.matchAll(/^(?:import|export) (?:[^;]*? from )?"\.\/([^"]+\.js)";/gm))
      loaded.add(other as string);
  }
  return loaded;
}

it("a server over stdio loads nothing at its start that only answers with data, questions or HTTP need", () => {
  expect([...loadedAtOnce("server.js", "stdio.js")].sort()).toEqual([
    "server.js",
    "shared-core.js",
    "shared-rolldown-runtime.js",
    "shared-stdio.js",
    "stdio.js",
  ]);
});

it("what comes with the first call that needs it is there", () => {
  const core = readFileSync(fileURLToPath(new URL("shared-core.js", dist)), "utf8");
  expect(core.includes(`import("./shared-later.js")`)).toBe(true);
});
