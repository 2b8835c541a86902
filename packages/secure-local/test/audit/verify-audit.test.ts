// Tampering with a log of 10,000 lines is found wherever it happens, and named by its line.
import { generateKeyPairSync } from "node:crypto";
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { rememberedLogs } from "../../src/audit/log-writer.js";
import { archivedPath, headPath } from "../../src/audit/log-file.js";
import { restoredPath } from "../../src/audit/restored.js";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { forgeries, headOf } from "./forged-logs.js";
import { temporaryFolder } from "./temporary-folder.js";

const COUNT = 10_000;
let lines: string[] = [];
let head = "";
let path = "";

beforeAll(async () => {
  let remove: () => void;
  const file = join(
    temporaryFolder((removal) => (remove = removal)),
    "audit.log",
  );
  const log = await AuditLog.open(file, { sync: false });
  for (let id = 0; id < COUNT; id++) {
    if (id % 5_000 === 4_999)
      await log.record({ kind: "call.intent", id, tool: "calculate", arguments: { expression: `${id}+1` } });
    else void log.record({ kind: "call.intent", id, tool: "calculate", arguments: { expression: `${id}+1` } });
  }
  await log.close();
  lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  head = readFileSync(headPath(file), "utf8");
  return () => remove();
});

async function verify(changed: readonly string[], end = "\n"): ReturnType<typeof verifyAudit> {
  path = join(temporaryFolder(), "audit.log");
  writeFileSync(path, changed.join("\n") + (changed.length > 0 ? end : ""));
  writeFileSync(headPath(path), head);
  return await verifyAudit(path);
}

/** The log without its last record, which its head file does not know yet, and with other bytes behind it. */
async function endingIn(bytes: string): ReturnType<typeof verifyAudit> {
  path = join(temporaryFolder(), "audit.log");
  writeFileSync(path, [...lines.slice(0, -1), bytes].join("\n"));
  return await verifyAudit(path);
}

const line = fc.integer({ min: 1, max: COUNT });
const runs = { numRuns: repeated(2, 25) };

describe("a log of 10,000 records", () => {
  it("is whole as it was written", async () => {
    expect(await verify(lines)).toEqual({ ok: true, records: COUNT });
  });

  it("shows an edit of any character, in the edited line", async () => {
    await fc.assert(
      fc.asyncProperty(line, fc.nat(), fc.integer({ min: 1, max: 94 }), async (number, at, shift) => {
        const text = lines.at(number - 1)!;
        const index = at % text.length;
        const other = String.fromCharCode(32 + ((text.charCodeAt(index) - 32 + shift) % 95));
        const edited = text.slice(0, index) + other + text.slice(index + 1);
        fc.pre(edited !== text);
        expect(await verify(lines.with(number - 1, edited))).toMatchObject({ ok: false, firstBadLine: number });
      }),
      runs,
    );
  });

  it("shows a deletion where the line was", async () => {
    await fc.assert(
      fc.asyncProperty(line, async (number) => {
        expect(await verify(lines.toSpliced(number - 1, 1))).toMatchObject({ ok: false, firstBadLine: number });
      }),
      runs,
    );
  });

  it("shows an inserted copy", async () => {
    await fc.assert(
      fc.asyncProperty(line, line, async (number, copied) => {
        const inserted = lines.toSpliced(number - 1, 0, lines.at(copied - 1)!);
        const bad = copied === number ? number + 1 : number;
        expect(await verify(inserted)).toMatchObject({ ok: false, firstBadLine: bad });
      }),
      runs,
    );
  });

  it("shows two lines that changed places", async () => {
    await fc.assert(
      fc.asyncProperty(line, line, async (one, two) => {
        fc.pre(one !== two);
        const moved = lines.with(one - 1, lines.at(two - 1)!).with(two - 1, lines.at(one - 1)!);
        expect(await verify(moved)).toMatchObject({ ok: false, firstBadLine: Math.min(one, two) });
      }),
      runs,
    );
  });

  it("shows a line cut short in the middle", async () => {
    await fc.assert(
      fc.asyncProperty(line, fc.integer({ min: 1, max: 300 }), async (number, cut) => {
        const short = lines.at(number - 1)!.slice(0, -cut);
        expect(await verify(lines.with(number - 1, short))).toMatchObject({ ok: false, firstBadLine: number });
      }),
      runs,
    );
  });

  it("shows records cut off at the end, by the head file", async () => {
    await fc.assert(
      fc.asyncProperty(line, async (number) => {
        expect(await verify(lines.slice(0, number - 1))).toMatchObject({ ok: false, firstBadLine: number });
      }),
      runs,
    );
  });

  it("shows that the whole log was taken away, by what is left beside it", async () => {
    const file = join(temporaryFolder(), "audit.log");
    await expect(verifyAudit(file)).rejects.toThrow("ENOENT");
    const log = await AuditLog.open(file, { sync: false });
    for (let id = 0; id < 8; id++) void log.record({ kind: "call.intent", id });
    await log.close();
    rmSync(file);
    expect(rememberedLogs(file)).toEqual([file]);
    const report = await verifyAudit(file);
    expect(report).toMatchObject({
      ok: false,
      records: 0,
      reason: expect.stringMatching(/^records 1 to \d+ are gone with the log, which was moved or removed/) as string,
    });
    // Of this log, and of no other file.
    expect(report).not.toHaveProperty("badFile");
  });

  it("shows a log that was written anew with a sound chain", async () => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await AuditLog.open(file, { sync: false });
    for (let id = 0; id < 20; id++) void log.record({ kind: "call.intent", id });
    await log.close();
    const forged = `${file}.forged`;
    const other = await AuditLog.open(forged, { sync: false });
    for (let id = 0; id < 30; id++) void other.record({ kind: "call.intent", id: id + 1 });
    await other.close();
    copyFileSync(forged, file);
    expect(await verifyAudit(file)).toMatchObject({
      ok: false,
      firstBadLine: 20,
      reason: expect.stringContaining("rewritten") as string,
    });
  });

  it("is as sound with a torn tail, which is named", async () => {
    const next = lines.at(-1)!;
    for (const cut of [1, 17, 50, 140, next.length]) {
      // Of what a power failure leaves, blocks may be zeros.
      const zeros = [next.slice(0, cut), "\0".repeat(cut), next.slice(0, cut).replace(/^.{8}|.{8}$/g, "\0".repeat(8))];
      for (const torn of zeros) {
        const report = await endingIn(torn);
        expect(report, torn).toEqual({ ok: true, records: COUNT - 1, tornTail: torn.length });
      }
    }
  });

  it("and not with anything else behind its last record", async () => {
    const next = lines.at(-1)!;
    const others = [
      "x",
      " ",
      '{"seq":2',
      next.slice(1),
      next.replace(/\d+/, "$&1"),
      lines[1]!.slice(0, 50),
      "{}",
      "\0x",
      "\r",
    ];
    for (const added of [...others, next.replace(/[0-9a-f]{64}/, (hash) => [...hash].reverse().join(""))])
      expect(await endingIn(added), added).toMatchObject({
        ok: false,
        records: COUNT - 1,
        firstBadLine: COUNT,
        reason: "what stands behind the last record is no part of one",
      });
  });
});

describe("a log whose forger knows how records are sealed", () => {
  const written = async (name: string, count: number): Promise<string[]> => {
    const file = join(temporaryFolder(), "audit.log");
    const log = await AuditLog.open(file, { sync: false });
    for (let id = 0; id < count; id++) void log.record({ kind: "call.intent", id: `${name}${id}`, tool: `t${id}` });
    await log.close();
    return readFileSync(file, "utf8").trimEnd().split("\n");
  };

  it("is found out at the first line that does not follow, or by the head file", async () => {
    const [own, other] = [await written("own", 24), await written("other", 24)];
    const made = forgeries(own, other, 11);
    expect(made.length).toBeGreaterThan(90);
    const file = join(temporaryFolder(), "audit.log");
    const missed: string[] = [];
    for (const { name, lines: forged, sound } of made) {
      writeFileSync(file, `${forged.join("\n")}\n`);
      writeFileSync(headPath(file), headOf(own));
      const { ok, firstBadLine = 0 } = await verifyAudit(file);
      const changed = forged.findIndex((text, index) => text !== own[index]);
      const from = changed < 0 ? forged.length : changed;
      // A chain that was made anew shows nothing before its end, where the head file knows better.
      if (ok || firstBadLine <= from || (!sound && firstBadLine > forged.length))
        missed.push(`${name}: ${firstBadLine}`);
    }
    expect(missed).toEqual([]);
  });

  it("is sound to whoever has nothing but the chain, when all of it was made anew or its end was cut", async () => {
    const [own, other] = [await written("own", 24), await written("other", 24)];
    const file = join(temporaryFolder(), "audit.log");
    for (const { name, lines: forged, sound } of forgeries(own, other, 11)) {
      writeFileSync(file, `${forged.join("\n")}\n`);
      writeFileSync(headPath(file), headOf(forged));
      expect([name, (await verifyAudit(file)).ok]).toEqual([name, sound]);
    }
  });
});

describe("other files", () => {
  it("are checked without their head file as far as the chain goes", async () => {
    await verify(lines.slice(0, 100));
    rmSync(headPath(path));
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 100 });
    expect(statSync(path).size).toBeGreaterThan(0);
  });

  it("that are no use beside a log are refused before any record counts", async () => {
    const file = join(temporaryFolder(), "audit.log");
    writeFileSync(file, lines.slice(0, 3).join(""));
    const absent = `${file}.absent`;
    const publicKey = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();
    expect(await verifyAudit(file, { checkpoints: { file: absent, publicKey } })).toEqual({
      ok: false,
      records: 0,
      reason: expect.stringContaining(absent) as string,
      unread: true,
    });
    const archives = { publicKey: undefined, keyFile: absent };
    for (const path of [archivedPath(file), restoredPath(file)]) {
      writeFileSync(path, "{}\n");
      const reason: unknown = expect.stringContaining("public key");
      expect(await verifyAudit(file, { archives })).toEqual({ ok: false, records: 0, reason });
      rmSync(path);
    }
  });

  it("are refused when they are not logs, or endless lines", async () => {
    path = join(temporaryFolder(), "x.log");
    writeFileSync(path, "hello\n");
    expect(await verifyAudit(path)).toMatchObject({ ok: false, firstBadLine: 1, records: 0 });
    writeFileSync(path, "x".repeat(3_000_000));
    expect(await verifyAudit(path)).toMatchObject({ ok: false, firstBadLine: 1 });
    await expect(verifyAudit(`${path}.absent`)).rejects.toThrow("ENOENT");
  });
});
