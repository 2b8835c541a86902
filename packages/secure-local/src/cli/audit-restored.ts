// `mcp-secure-local audit restored WHY`: accepts that a log was put back from a copy of an earlier time, and leaves a record and a signed word of it.
import { userInfo } from "node:os";
import { basename } from "node:path";
import { AuditError } from "../audit/audit-event.js";
import { AuditLog } from "../audit/audit-log.js";
import { checkpointKey } from "../audit/checkpoint.js";
import { noteRestored, type Restored } from "../audit/restored.js";
import { recordsWith, verifyAudit, type VerifyOptions } from "../audit/verify-audit.js";
import { adviceWord, type CommandLine, inUse, UsageError } from "./command-line.js";
import { checkpointKeyFile } from "./open-audit.js";
import { complain, ExitCode, print, printJson, showProgress, styled } from "./terminal.js";

interface Given {
  readonly words: readonly string[];
  readonly options: VerifyOptions;
}

/** Without --yes it only says what would be accepted. @throws AuditError for what no copy of an earlier time explains */
export async function auditRestored(
  line: CommandLine,
  logs: readonly string[],
  { words, options }: Given,
): Promise<number> {
  const [why = "", ...rest] = words;
  if (why.trim() === "" || rest.length > 0)
    throw new UsageError('audit restored needs one text that says why, as in audit restored "disk of 3 May replaced"');
  const found: { readonly log: string; readonly restored: Restored }[] = [];
  for (const log of logs) {
    showProgress(`verifying ${log}`);
    const restored = await lossOf(log, why, options);
    if (restored !== undefined) found.push({ log, restored });
  }
  if (found.length === 0) {
    if (line.json) printJson({ restored: [] });
    else print("The log verifies: nothing is missing, so there is nothing to accept.");
    return ExitCode.Ok;
  }
  if (!line.yes) return ask(line, found, why);
  for (const { log, restored } of found) await accept(log, restored);
  if (line.json) printJson({ restored: found.map(({ restored }) => restored) });
  for (const { log, restored } of line.json ? [] : found)
    print(`${styled("green", "accepted")}  ${log}: ${lost(restored)}; audit verify says so from now on`);
  return ExitCode.Ok;
}

/** Undefined where the log is in order. */
async function lossOf(log: string, why: string, options: VerifyOptions): Promise<Restored | undefined> {
  const { ok, reason = "", earlier, badFile = log, firstBadLine: bad } = await verifyAudit(log, options);
  if (ok) return undefined;
  const at = `${badFile}${bad === undefined ? "" : `:${bad}`}`;
  if (earlier === undefined) throw noCopy(at, reason);
  const { seq, hash, known } = earlier;
  const said = { log: basename(log), seq, hash, known, time: new Date().toISOString(), by: userInfo().username, why };
  // Whatever else is wrong with it stays a fault, and is not accepted with the rest.
  const then = await verifyAudit(log, { ...options, supposed: said });
  // What the head file remembers is judged anew when the log is opened.
  if (!then.ok && then.earlier === undefined) throw noCopy(at, then.reason ?? "");
  return said;
}

function noCopy(at: string, reason: string): AuditError {
  const what = `${reason}. A copy of an earlier time, put back, does not explain that; nothing was accepted.`;
  return new AuditError("not_ours", at, what);
}

function ask(line: CommandLine, found: readonly { log: string; restored: Restored }[], why: string): number {
  if (line.json) printJson({ wouldAccept: found.map(({ restored }) => restored) });
  for (const { log, restored } of found) complain(`${log}: ${lost(restored)}`);
  const audit = line.audit === undefined ? "" : ` --audit ${adviceWord(line.audit)}`;
  complain(
    `mcp-secure-local: if a copy was put back and this is what it lacks: mcp-secure-local audit restored ${JSON.stringify(why)} --yes${audit}${inUse(line)}. If nobody did, somebody cut the log off: keep it as it is`,
  );
  return ExitCode.Failed;
}

function lost({ seq, known }: Restored): string {
  return known > seq ? `${recordsWith(seq + 1, known, "is")} lost` : `what was signed does not fit after record ${seq}`;
}

/** The record comes first: what was signed of it before it was accepted counts no more, and it need not. */
async function accept(log: string, restored: Restored): Promise<void> {
  const key = checkpointKey(checkpointKeyFile());
  const audit = await AuditLog.open(log);
  try {
    if (audit.file !== log)
      throw new AuditError("in_use", log, "A server writes this log: stop it, then accept what was restored.");
    const { seq, known, by, why } = restored;
    await audit.record({ kind: "log.restored", detail: { reason: why, by, last: seq, known } });
  } finally {
    await audit.close();
  }
  noteRestored(log, { ...restored, time: new Date().toISOString() }, key);
}
