// Signed words of restores: that a log was put back from a copy of an earlier time, and its newer records are lost for good.
//
// One line for each in `<log>.restored`, signed with the key of the checkpoints: up to which record the copy went, how far the log
// had come before, who accepted that, when and why. Checkpoints of lost records count no more. Whoever can write the folder of
// the log, and not read the key, can take these words away, but not say them of records that he cut off.
import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import * as fs from "node:fs";
import { replaceWhole } from "./archive.js";
import { readBeside } from "./log-file.js";
import type { RecordLink } from "./event-text.js";

/** What is said of one restore; the number and hash are those of the last record that is there. */
export interface Restored extends RecordLink {
  /** Name of the log's file. */
  readonly log: string;
  /** The number of the last record that was known: those between are lost. */
  readonly known: number;
  /** When it was accepted: what was signed before of lost records counts no more. */
  readonly time: string;
  readonly by: string;
  readonly why: string;
}

/** The file with the words of a log's restores. */
export function restoredPath(log: string): string {
  return `${log}.restored`;
}

/** What was signed with the key, the oldest first; in words what is wrong when a line was not. */
export function signedRestores(log: string, publicKey: string | undefined): readonly Restored[] | string {
  const path = restoredPath(log);
  const lines = linesOf(path);
  if (lines.length === 0) return [];
  if (publicKey === undefined) return `${path} says what was restored, and there is no public key to check that with`;
  const key = createPublicKey(publicKey);
  const found: Restored[] = [];
  for (const [at, line] of lines.entries()) {
    const restored = signedRestore(line, key);
    if (restored === undefined) return `line ${at + 1} of ${path} is not signed with the key of this log`;
    found.push(restored);
  }
  return found;
}

/** Adds the word of one. */
export function noteRestored(log: string, restored: Restored, key: KeyObject): void {
  const signature = sign(null, Buffer.from(signedText(restored)), key).toString("base64");
  const lines = [...linesOf(restoredPath(log)), JSON.stringify({ ...restored, signature }), ""];
  replaceWhole(restoredPath(log), lines.join("\n"));
}

/** It is replaced in one step, so it is whole. */
function linesOf(path: string): readonly string[] {
  if (!fs.existsSync(path)) return [];
  return readBeside(path)
    .split("\n")
    .filter((line) => line !== "");
}

function signedRestore(line: string, key: KeyObject): Restored | undefined {
  try {
    const { signature, ...value } = JSON.parse(line) as Restored & { readonly signature?: unknown };
    const texts = [value.log, value.hash, value.time, value.by, value.why];
    if (!texts.every((text) => typeof text === "string")) return undefined;
    if (![value.seq, value.known].every(Number.isSafeInteger)) return undefined;
    const bytes = Buffer.from(String(signature), "base64");
    return verify(null, Buffer.from(signedText(value)), key, bytes) ? value : undefined;
  } catch {
    return undefined;
  }
}

function signedText({ log, seq, hash, known, time, by, why }: Restored): string {
  return JSON.stringify(["mcp-secure-local audit restored", log, seq, hash, known, time, by, why]);
}
