// The weights of the inspection are those that their script fits.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { soaking } from "../../packages/mcp/test/support/soak.js";
import { WEIGHTS } from "../../packages/inspection/src/intents/weights.js";
import { pointsFile } from "../../scorecard/fit-points/weights-file.mjs";

it("are in a file as the script writes it", () => {
  const file = new URL("../../packages/inspection/src/intents/weights.ts", import.meta.url);
  expect(readFileSync(file, "utf8")).toBe(pointsFile(WEIGHTS));
});

if (soaking)
  it("are what the fit gives: else run node scorecard/fit-points.mjs --write", () => {
    const script = fileURLToPath(new URL("../../scorecard/fit-points.mjs", import.meta.url));
    const { stdout, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8", timeout: 60_000 });
    expect(stdout + stderr).toBe("weights.ts has the fitted weights\n");
  });
