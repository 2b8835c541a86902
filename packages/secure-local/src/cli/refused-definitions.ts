// Definitions that a person refused: what has such a digest stays withheld as before, and is shown as refused instead of waiting.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { recordOf } from "../audit/call-records.js";
import { readAtOnce } from "../audit/owned-files.js";
import { stateFolder } from "../policy/own-places.js";

/** The newest are kept: a definition that was refused a thousand refusals ago is shown as waiting again. */
const MOST_REFUSALS = 1_000;
const DIGEST = /^[0-9a-f]{64}$/;

/** When what has this digest was refused, as an ISO 8601 date; undefined when it was not. */
export function refusedAt(digest: string): string | undefined {
  return refusals().get(digest);
}

/** Remembers that a person refused what has this digest. It approves and withholds nothing. @throws the system's errors */
export function rememberRefusal(digest: string): void {
  if (!DIGEST.test(digest)) throw new TypeError("a refusal is of a digest: 64 hexadecimal digits");
  const kept = refusals();
  kept.delete(digest);
  kept.set(digest, new Date().toISOString());
  const file = refusalsFile();
  fs.mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(6).toString("hex")}.new`;
  try {
    fs.writeFileSync(draft, `${JSON.stringify(Object.fromEntries([...kept].slice(-MOST_REFUSALS)))}\n`, {
      flag: "wx",
      mode: 0o600,
    });
    fs.renameSync(draft, file);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** A file that is damaged says nothing: what was refused is shown as waiting, and stays withheld all the same. */
function refusals(): Map<string, string> {
  let text: string;
  try {
    text = readAtOnce(refusalsFile());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw error;
  }
  const entries = Object.entries(recordOf(text) ?? {});
  return new Map(
    entries.filter(
      (entry): entry is [string, string] =>
        DIGEST.test(entry[0]) && typeof entry[1] === "string" && !Number.isNaN(Date.parse(entry[1])),
    ),
  );
}

function refusalsFile(): string {
  return join(stateFolder(), "refused.json");
}
