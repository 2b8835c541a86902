// What the gateway runs as WebAssembly is what its source says.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("long-answers.ts holds what end-of-string.wat is assembled to: else run node scripts/assemble.mjs", () => {
  const script = fileURLToPath(new URL("../assemble.mjs", import.meta.url));
  expect(execFileSync(process.execPath, [script, "--check"], { encoding: "utf8" })).toBe("");
});
