// Says in words what a check of audit logs found, for the commands that check them.
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import type { ArchivedFile } from "../audit/archive.js";
import { whyUnread } from "../audit/owned-files.js";
import type { Restored } from "../audit/restored.js";
import { recordsWith, verifyAudit, type VerifyOptions } from "../audit/verify-audit.js";
import { localTime } from "./audit-lines.js";
import { ExitCode, showProgress } from "./terminal.js";

/** What a check found of one log. */
export interface Verified {
  readonly file: string;
  readonly ok: boolean;
  readonly said: string;
  /** The first bad line, as FILE:LINE. */
  readonly at?: string;
  readonly records?: number;
  /** It could not be read, or something beside it that tells whether it is whole. */
  readonly notChecked?: true;
  readonly continues?: ArchivedFile;
}

/** As `verify` of each of them. */
export async function verifiedLogs(files: readonly string[], options: VerifyOptions): Promise<Verified[]> {
  showProgress(`verifying ${files.join(", ")}`);
  return Promise.all(files.map((file) => verify(file, options)));
}

async function verify(file: string, options: VerifyOptions): Promise<Verified> {
  try {
    const report = await verifyAudit(file, options);
    const {
      ok,
      records,
      files = 1,
      checkpoints,
      badFile = file,
      firstBadLine,
      reason = "",
      unread,
      tornTail,
      inJournal,
      continues,
      earlierArchives = [],
      archive,
      restored = [],
    } = report;
    const at = `${badFile}${firstBadLine === undefined ? "" : `:${firstBadLine}`}`;
    if (!ok) return { file, ok, at, said: reason, records, ...(unread && { notChecked: unread }) };
    const notes = [
      files > 1 ? ` in ${files} files` : "",
      ", none changed, missing or added",
      checkpoints === undefined ? "" : `; ${vouching(checkpoints)}`,
      tornTail === undefined ? "" : `; an unfinished last line of ${tornTail} bytes, which the next start repairs`,
      inJournal === undefined ? "" : `; ${inJournal} more in its journal, which the next start puts back`,
      continues === undefined ? "" : `; continues from ${continuesText(continues)}`,
      ...earlierArchives.map((each) => `; before that, ${continuesText(each)}`),
      archive === undefined ? "" : `; an archive, which ends with record ${archive}`,
      ...restored.map((each) => `; ${lossText(each)}`),
    ];
    const before = continues === undefined ? {} : { continues };
    return { file, ok, records, said: `${records} records${notes.join("")}`, ...before };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const said = isMissing ? "there is no file of that name" : `it cannot be read: ${whyUnread(error)}; put that right`;
    return { file, ok: false, said, notChecked: true };
  }
}

/** A log that nobody signed for may be anybody's. */
function vouching(checkpoints: number): string {
  return checkpoints === 0 ? "vouched for by no checkpoint" : agreeing(checkpoints, "signed checkpoint");
}

/** What a restore that was accepted has cost. Who and why are the words of a person. */
function lossText({ time, by, why, seq, known }: Restored): string {
  const lost = known > seq ? `${recordsWith(seq + 1, known, "is")} lost` : "nothing that was signed is lost";
  return escapeUnseen(`RESTORED from a copy, accepted on ${localTime(time)} by ${by} (${why}): ${lost}`);
}

/** Which file came before what is there, and what is known of it. */
export function continuesText({ file, to, time, seq }: ArchivedFile): string {
  return `${file}, archived to ${to} at ${time}, verified up to record ${seq}`;
}

/** `1 witness agrees`, `2 witnesses agree`. */
export function agreeing(count: number, noun: string): string {
  if (count === 1) return `1 ${noun} agrees`;
  return `${count} ${noun}${noun.endsWith("s") ? "es" : "s"} agree`;
}

/** What could not be read was not found to be changed. */
export function verdictOn(all: readonly { readonly ok: boolean; readonly notChecked?: true }[]): number {
  if (all.every(({ ok }) => ok)) return ExitCode.Ok;
  return all.every(({ ok, notChecked }) => ok || notChecked) ? ExitCode.Usage : ExitCode.Failed;
}
