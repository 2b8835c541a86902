// A log that was put back from a copy of an earlier time: a person accepts it, the history keeps it, and nothing else passes for it.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { CheckpointWriter, checkpointKey } from "../../src/audit/checkpoint.js";
import { headPath } from "../../src/audit/log-file.js";
import { restoredPath } from "../../src/audit/restored.js";
import type { Ran } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { temporaryFolder } from "./temporary-folder.js";

interface Place {
  readonly log: string;
  /** A server that records so many calls and ends. */
  serve(count: number): Promise<void>;
  /** What a backup has now, and putting it back: the head file as well, or as it is by then. */
  copy(): (head?: "too" | "not") => void;
  audit(...words: string[]): Promise<Ran>;
  change(line: number, from: string, to: string): void;
}

function place(): Place {
  const home = temporaryFolder();
  const state = join(home, "state/mcp-secure-local");
  const [log, checkpoints, policy] = [join(state, "audit.log"), join(home, "elsewhere"), join(home, "policy.yaml")];
  fs.mkdirSync(state, { recursive: true, mode: 0o700 });
  const text = `version: "1.0"\naudit: { checkpoints: { file: ${checkpoints}, every_records: 5 } }\n`;
  fs.writeFileSync(policy, text, { mode: 0o600 });
  return {
    log,
    async serve(count) {
      const key = checkpointKey(join(state, "audit-key.pem"));
      const writer = new CheckpointWriter({ file: checkpoints, key, everyRecords: 5, everyMs: 60_000, say: () => {} });
      const audit = await AuditLog.open(log, { checkpoints: writer });
      writer.begin(audit.file);
      for (let index = 0; index < count; index++) await audit.record({ kind: "denied", tool: `t${index}` });
      await audit.close();
    },
    copy() {
      const [whole, head] = [log, headPath(log)].map((file) => fs.readFileSync(file));
      return (which = "too") => {
        fs.writeFileSync(log, whole!);
        if (which === "too") fs.writeFileSync(headPath(log), head!);
      };
    },
    audit: (...words) => runQuickly(["audit", ...words, "--policy", policy], { home }),
    change(line, from, to) {
      const lines = fs.readFileSync(log, "utf8").split("\n");
      lines[line] = lines[line]!.replace(from, to);
      fs.writeFileSync(log, lines.join("\n"));
    },
  };
}

const LOST = /RESTORED from a copy, accepted on .* by \S+ \(disk died\): records 8 to 20 are lost/;

it.each([
  ["with its head file", "too", false],
  ["and its head file not", "not", false],
  ["with its head file, and a server has gone on", "too", true],
  ["and its head file not, and a server has gone on", "not", true],
] as const)("a copy that was put back %s is accepted by a person, and named for ever", async (_how, head, wentOn) => {
  const { serve, copy, audit, log } = place();
  await serve(7);
  const restore = copy();
  await serve(13);
  restore(head);
  if (wentOn) await serve(9);
  expect(await audit("verify")).toMatchObject({ code: 1 });
  expect(await audit("restored")).toMatchObject({ code: 2 });
  const shown = await audit("restored", "disk died");
  expect(shown).toMatchObject({ code: 1, stderr: expect.stringContaining("records 8 to 20 are lost") as string });
  expect(shown.stderr).toContain('audit restored "disk died" --yes --policy');
  expect(await audit("verify")).toMatchObject({ code: 1 });
  expect(await audit("restored", "disk died", "--yes")).toMatchObject({ code: 0 });
  const accepted = await audit("verify");
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringMatching(LOST) as string });
  // New records get the numbers of those that are lost, and checkpoints of their own.
  await serve(20);
  expect(await audit("verify")).toMatchObject({ code: 0, stdout: expect.stringMatching(LOST) as string });
  expect((await audit("query", "kind=log.restored", "--json")).stdout).toMatch(
    /"reason":"disk died","by":"\S+","last":7,"known":20/,
  );
  expect(await audit("restored", "again", "--yes")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("nothing to accept") as string,
  });
  // What was signed since holds as before.
  const lines = fs.readFileSync(log, "utf8").trimEnd().split("\n");
  fs.writeFileSync(log, `${lines.slice(0, -3).join("\n")}\n`);
  fs.rmSync(headPath(log));
  expect(await audit("verify")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("cut off at the end") as string,
  });
});

it("a log that was changed is no copy, and is not accepted", async () => {
  const { serve, copy, audit, change, log } = place();
  await serve(7);
  const restore = copy();
  await serve(13);
  restore();
  change(3, "t3", "t9");
  const refused = await audit("restored", "disk died", "--yes");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("A copy of an earlier time, put back, does not explain that; nothing was accepted");
  expect(fs.existsSync(restoredPath(log))).toBe(false);
});

it("a word of a restore that nobody with the key has signed is a fault", async () => {
  const { serve, copy, audit, log } = place();
  await serve(7);
  const restore = copy();
  await serve(13);
  restore();
  expect(await audit("restored", "disk died", "--yes")).toMatchObject({ code: 0 });
  const text = fs.readFileSync(restoredPath(log), "utf8");
  fs.writeFileSync(restoredPath(log), text.replace('"seq":7', '"seq":2'));
  expect(await audit("verify")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("not signed with the key") as string,
  });
  fs.rmSync(restoredPath(log));
  expect(await audit("verify")).toMatchObject({ code: 1 });
});

it("a log that a server writes is not accepted while it does", async () => {
  const { serve, copy, audit, log } = place();
  await serve(7);
  const restore = copy();
  await serve(13);
  restore();
  const running = await AuditLog.open(log);
  const refused = await audit("restored", "disk died", "--yes");
  await running.close();
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("stop it, then accept") as string });
  expect(fs.existsSync(join(log, "../audit.2.log"))).toBe(false);
});
