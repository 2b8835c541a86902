// The same program of everything a client can do, in every revision: what it writes is valid there, and what it learns
// is the same wherever the revision can say it. `npm run test:update` writes down the conversations as they are now.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FIXTURES } from "../transcripts/fixtures.js";
import { TOUR } from "./tour.js";
import { watch } from "./watched-server.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const TASK_ID = /(?<="taskId": ")[A-Za-z0-9_-]{43}/g;
const recording = process.env["UPDATE_TRANSCRIPTS"] === "1";

describe.each(REVISIONS)("in %s", (revision) => {
  it.each(Object.keys(TOUR))("%s", async (name) => {
    const { server, options = {}, visit } = TOUR[name] as (typeof TOUR)[string];
    const { client, lines } = await watch((FIXTURES[server] as () => never)(), revision, options);
    const learnt = await visit(client, revision);
    await client.close();
    const text = `${lines.join("\n")}\n\n${JSON.stringify(learnt, undefined, 1).replace(TASK_ID, "«task»")}\n`;
    const file = new URL(`transcripts/${revision}/${name}.txt`, import.meta.url);
    if (recording) {
      mkdirSync(new URL(".", file), { recursive: true });
      writeFileSync(file, text);
    } else expect(text).toBe(readFileSync(file, "utf8"));
  });
});
