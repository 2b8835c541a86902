// What `audit verify` makes of the journal beside a log: one that was cut, forged or is of another log is said.
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { journalPath, newestRound, readJournal } from "../../src/audit/log-file.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { temporaryFolder } from "./temporary-folder.js";

interface Files {
  readonly log: Buffer;
  readonly journal: Buffer;
}

/** What a server leaves that was killed. */
async function killed(name: string, atEnd: (remove: () => void) => void): Promise<Files> {
  const file = join(temporaryFolder(atEnd), "audit.log");
  const log = await AuditLog.open(file, { now: () => 0 });
  while (readJournal(file).indexOf("\n") < 0) await log.record({ kind: "call.intent", id: name });
  for (let id = 0; id < 20; id += 1) await log.record({ kind: "call.intent", id: `${name} ${id}` });
  const files = { log: readFileSync(file), journal: readFileSync(journalPath(file)) };
  await log.close();
  return files;
}

function put({ log, journal }: Files): string {
  const file = join(temporaryFolder(), "audit.log");
  writeFileSync(file, log);
  writeFileSync(journalPath(file), journal);
  return file;
}

const linesOf = (log: Buffer): string[] => log.toString("utf8").split("\n").slice(0, -1);
const kindsOf = (file: string): unknown[] =>
  linesOf(readFileSync(file)).map((line) => (JSON.parse(line) as { readonly kind: unknown }).kind);

describe("the journal of a log", () => {
  let ours: Files;
  let other: Files;
  beforeAll(async () => {
    const removals: (() => void)[] = [];
    const atEnd = (remove: () => void): unknown => removals.push(remove);
    [ours, other] = [await killed("ours", atEnd), await killed("another", atEnd)];
    return () => removals.forEach((remove) => remove());
  });

  it("is no fault as a killed server leaves it, and is gone after the next start", async () => {
    const file = put(ours);
    expect(newestRound(ours.journal).length).toBeGreaterThan(5);
    expect(await verifyAudit(file)).toMatchObject({ ok: true });
    await (await AuditLog.open(file)).close();
    expect(readJournal(file).length).toBe(0);
    expect(readFileSync(file).equals(ours.log)).toBe(true);
  });

  it("shows that the end of its log was cut further than it reaches back", async () => {
    const file = put({ ...ours, log: Buffer.from(`${linesOf(ours.log)[0]}\n`) });
    const first = newestRound(ours.journal)[0]!.seq;
    const cut = put({
      ...ours,
      log: Buffer.from(
        linesOf(ours.log)
          .slice(0, first - 2)
          .map((line) => `${line}\n`)
          .join(""),
      ),
    });
    for (const each of first > 2 ? [file, cut] : [cut])
      expect(await verifyAudit(each)).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/(?:was|were) cut off at the end/),
      });
    await (await AuditLog.open(cut)).close();
    expect(kindsOf(cut)).toContain(first > 2 ? "log.truncated" : "log.repaired");
  });

  it("is told apart from the journal of another log", async () => {
    const file = put({ log: ours.log, journal: other.journal });
    expect(await verifyAudit(file)).toMatchObject({ ok: false, reason: expect.stringMatching(/rewritten/) });
    const shorter = put({ log: Buffer.from(`${linesOf(ours.log).slice(0, 3).join("\n")}\n`), journal: other.journal });
    expect((await verifyAudit(shorter)).ok).toBe(false);
    await (await AuditLog.open(shorter)).close();
    expect(kindsOf(shorter)).toContain("log.truncated");
    expect(await verifyAudit(shorter)).toMatchObject({ ok: false });
  });

  it("is told of when it was cut, made longer, or is no file of ours", async () => {
    const file = put(ours);
    truncateSync(journalPath(file), 5_000);
    expect(await verifyAudit(file)).toMatchObject({ ok: false, reason: expect.stringMatching(/journal .* was cut/) });
    writeFileSync(journalPath(file), Buffer.concat([ours.journal, Buffer.from("x")]));
    expect(await verifyAudit(file)).toMatchObject({ ok: false, reason: expect.stringMatching(/was made longer/) });
    const folder = put(ours).replace("audit.log", "b.log");
    writeFileSync(folder, ours.log);
    mkdirSync(journalPath(folder));
    expect(await verifyAudit(folder)).toMatchObject({ ok: false, reason: expect.stringMatching(/cannot be read/) });
    if (process.platform === "win32") return;
    const linked = put(ours).replace("audit.log", "c.log");
    writeFileSync(linked, ours.log);
    symlinkSync("audit.log.journal", journalPath(linked));
    expect(await verifyAudit(linked)).toMatchObject({ ok: false, reason: expect.stringMatching(/ELOOP/) });
  });
});
