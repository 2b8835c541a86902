// Plays every golden conversation: `npm run test:update` writes down what the server says now.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { play } from "./runner.js";
import { readTranscript, writeTranscript } from "./transcript.js";

const FOLDER = new URL(".", import.meta.url);
const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const recording = process.env["UPDATE_TRANSCRIPTS"] === "1";

describe.each(REVISIONS)("transcripts of %s", (revision) => {
  const folder = new URL(`${revision}/`, FOLDER);
  const names = readdirSync(folder).filter((name) => name.endsWith(".txt"));

  it.each(names)("%s", async (name) => {
    const file = new URL(name, folder);
    const text = readFileSync(file, "utf8");
    const transcript = readTranscript(text);
    const { steps, faults } = await play(transcript, recording);
    const played = writeTranscript({ ...transcript, steps });
    expect(faults).toEqual([]);
    if (recording) writeFileSync(file, played);
    else expect(played).toBe(text);
  });
});
