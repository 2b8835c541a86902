// Records that the console cannot show: of a log that somebody took away, and those that were archived.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { LookedThrough, Verification } from "@secure-local/console/api";
import { AuditLog } from "../../src/audit/audit-log.js";
import { CheckpointWriter, checkpointKey } from "../../src/audit/checkpoint.js";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";
import { Watched } from "./running.js";

const POLICY = `version: "1.0"
tools: { allowed: [calculate] }
audit: { checkpoints: { file: NOTES/../checkpoints.jsonl, every_records: 1 } }
`;
const stateOf = (home: string): string => join(home, "state/mcp-secure-local");

/** A process that writes so many records into a log and ends. */
async function write(home: string, name: string, count: number): Promise<void> {
  const state = stateOf(home);
  const file = join(home, "checkpoints.jsonl");
  const key = checkpointKey(join(state, "audit-key.pem"));
  const writer = new CheckpointWriter({ file, key, everyRecords: 1, everyMs: 60_000, say: () => {} });
  const audit = await AuditLog.open(join(state, name), { checkpoints: writer });
  writer.begin(audit.file);
  for (let index = 0; index < count; index++) await audit.record({ kind: "denied", tool: `t${index}` });
  await audit.close();
}

function take(home: string, name: string): void {
  for (const each of readdirSync(stateOf(home))) if (each.startsWith(name)) rmSync(join(stateOf(home), each));
}

const verified = async (watched: Watched): Promise<Verification[]> =>
  JSON.parse((await watched.post("/api/verify", {})).text) as Verification[];

it("says that a log is missing that checkpoints know, read by this console or not", { timeout: LONG }, async () => {
  const watched = await Watched.start({ policy: POLICY });
  onTestFinished(() => watched.end());
  await write(watched.home, "audit.log", 2);
  await write(watched.home, "audit.2.log", 6);
  take(watched.home, "audit.2.log");
  await write(watched.home, "audit.3.log", 4);
  await expect.poll(async () => (await verified(watched)).filter(({ ok }) => ok).length).toBe(2);
  take(watched.home, "audit.3.log");
  const found = (await verified(watched)).map(({ file, ok, reason = "" }) => `${file}: ${ok} ${reason}`);
  expect(found.map((each) => each.replace(`${stateOf(watched.home)}/`, "")).sort()).toEqual([
    "audit.2.log: false audit.2.log is missing: checkpoints remember it up to record 6",
    "audit.3.log: false audit.3.log is missing: checkpoints remember it up to record 4",
    "audit.log: true ",
  ]);
});

it("says that a log is gone that it had read, where no checkpoint knows it", { timeout: LONG }, async () => {
  const watched = await Watched.start({ policy: `version: "1.0"\n` });
  onTestFinished(() => watched.end());
  await write(watched.home, "audit.log", 2);
  await expect.poll(async () => (await verified(watched))[0]?.records).toBe(2);
  take(watched.home, "audit.log");
  expect((await verified(watched))[0]).toMatchObject({
    ok: false,
    reason: "its file is gone: this console had read 2 records of it",
  });
});

/** Two logs, of which one has its first files in another folder. */
async function archived(): Promise<Watched> {
  const watched = await started({
    signedIn: false,
    policy: POLICY,
    prepare: (home) => {
      const state = stateOf(home);
      const file = join(state, "audit.log");
      const other = new Date("2026-01-02T03:04:05Z");
      mkdirSync(state, { recursive: true, mode: 0o700 });
      const text = (seq: number, at: Date): string =>
        `${JSON.stringify({ seq, time: at.toISOString(), kind: "denied", method: "tools/call", tool: `t${seq}` })}\n`;
      writeFileSync(join(state, "audit.2.log"), text(1, other), { mode: 0o600 });
      writeFileSync(file, text(2_275, new Date("2026-03-04T05:06:07Z")), { mode: 0o600 });
      const said = { log: "audit.log", file: "audit.log.0000000000002274", chain: "c", seq: 2_274, hash: "h" };
      const where = { bytes: 9, sha256: "s", to: join(home, "old"), time: other.toISOString() };
      const line = JSON.stringify({ ...said, ...where, reached: { seq: 2_275, hash: "h" }, signature: "x" });
      writeFileSync(`${file}.archived`, `${line}\n`, { mode: 0o600 });
      return {};
    },
  });
  return watched;
}

inBrowser("where records were archived", (browser) => {
  it(
    "says on every page which records were not looked at, and since when there are all",
    { timeout: LONG },
    async () => {
      const watched = await archived();
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      const folder = join(watched.home, "old");
      for (const screen of ["calls", "audit", "policy", "clients", "servers", "approvals", "definitions"]) {
        await show(page, screen);
        const note = page.locator("main > .note", { hasText: "older records are archived" });
        await expect
          .poll(() => note.innerText(), { message: screen })
          .toMatch(
            new RegExp(
              `^2274 older records are archived in ${folder} and were not searched\\. Of .*audit\\.log what is here begins at .*2026.*audit query --audit ${folder}/audit\\.log$`,
            ),
          );
      }
      await show(page, "calls");
      await page.getByLabel("Words").fill("nothing-of-this");
      const told = page.locator(".note", { hasText: "Looked at" });
      await expect
        .poll(() => told.innerText())
        .toMatch(/^0 calls fit\. Looked at 2 calls, complete since .*4.*, for those/);
      watched.code = await watched.anotherCode();
      await watched.signIn();
      const looked = JSON.parse((await watched.get("/api/looked")).text) as LookedThrough;
      expect(new Date(looked.since ?? 0).toISOString()).toBe("2026-03-04T05:06:07.000Z");
      expect(conduct.faults).toEqual([]);
    },
  );
});
