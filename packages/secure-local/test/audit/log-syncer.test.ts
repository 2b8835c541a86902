// Which way a record gets onto the disk: the journal for a few on a quick disk, the log itself for the rest.
import { describe, expect, it } from "vitest";
import type { Journal } from "../../src/audit/log-file.js";
import { LogSyncer } from "../../src/audit/log-writer.js";
import { systemError } from "./failing-file.js";

const RECORD = Buffer.from("record\n");

/** A log and a journal that tell what was asked of them, on a disk whose syncs take as long as the test says. */
function disk(room = 3) {
  const said: string[] = [];
  let clock = 0;
  let used = 0;
  const state = { syncMs: 0.2, faults: [] as (Error | undefined)[], noJournal: undefined as Error | undefined };
  const act = (what: string): void => {
    said.push(what);
    clock += state.syncMs;
    const fault = state.faults.shift();
    if (fault) throw fault;
  };
  const journal: Journal = {
    fits: () => used < room,
    write() {
      act("journal");
      used++;
    },
    clear() {
      act("cleared");
    },
    rewind() {
      used = 0;
    },
    close: () => void said.push(`closed with ${used}`),
  };
  const log = {
    async sync() {
      await Promise.resolve();
      act("log");
    },
    async journal() {
      await Promise.resolve();
      said.push("made");
      if (state.noJournal) throw state.noJournal;
      return journal;
    },
  };
  return { said, state, syncer: new LogSyncer(log, () => clock) };
}

/** A syncer that has a journal already. */
async function withJournal(room?: number) {
  const made = disk(room);
  await made.syncer.sync(RECORD, 1);
  await new Promise(setImmediate);
  expect(made.said.splice(0)).toEqual(["log", "made"]);
  return made;
}

describe("a quick disk", () => {
  it("gets a few records through the journal, at once", async () => {
    const { said, syncer } = await withJournal();
    expect(syncer.sync(RECORD, 1)).toBeUndefined();
    expect(syncer.sync(RECORD, 4)).toBeUndefined();
    expect(said).toEqual(["journal", "journal"]);
  });

  it("gets many records through the log", async () => {
    const { said, syncer } = await withJournal();
    await syncer.sync(RECORD, 5);
    expect(said).toEqual(["log"]);
  });

  it("has its log synced when the journal is full, which then begins anew", async () => {
    const { said, syncer } = await withJournal(2);
    for (let record = 0; record < 6; record++) await syncer.sync(RECORD, 1);
    expect(said).toEqual(["journal", "journal", "log", "journal", "journal", "log"]);
  });

  it("has its log synced before the journal is given up at the end", async () => {
    const { said, syncer } = await withJournal();
    await syncer.sync(RECORD, 1);
    await syncer.close();
    expect(said).toEqual(["journal", "log", "closed with 0"]);
  });

  it("keeps the journal when the log cannot be synced at the end", async () => {
    const { said, state, syncer } = await withJournal();
    await syncer.sync(RECORD, 1);
    state.faults.push(systemError("EIO"));
    await syncer.close();
    expect(said).toEqual(["journal", "log", "closed with 1"]);
  });

  it("has its log synced only where the journal has more", async () => {
    const { said, syncer } = await withJournal();
    await syncer.settleJournal();
    await syncer.sync(RECORD, 1);
    await syncer.settleJournal();
    await syncer.settleJournal();
    expect(said).toEqual(["journal", "log"]);
  });
});

describe("a slow disk", () => {
  it("is never waited for in place", async () => {
    const { said, state, syncer } = disk();
    state.syncMs = 2;
    for (let record = 0; record < 20; record++) await syncer.sync(RECORD, 1);
    expect(new Set(said)).toEqual(new Set(["log"]));
  });

  it("is found out, and found to be quick again", async () => {
    const { said, state, syncer } = await withJournal(1_000);
    state.syncMs = 2;
    for (let record = 0; record < 20; record++) await syncer.sync(RECORD, 1);
    expect(said.at(-1)).toBe("log");
    expect(said.filter((way) => way === "journal").length).toBeLessThan(10);
    state.syncMs = 0.2;
    for (let record = 0; record < 20; record++) await syncer.sync(RECORD, 1);
    expect(said.at(-1)).toBe("journal");
  });
});

describe("a journal that fails", () => {
  it("while it is made is done without", async () => {
    const { said, state, syncer } = disk();
    state.noJournal = systemError("ENOSPC");
    for (let record = 0; record < 3; record++) await syncer.sync(RECORD, 1);
    await syncer.close();
    expect(said.filter((way) => way !== "log")).toEqual(["made"]);
  });

  it("while it is written is given up for the log", async () => {
    const { said, state, syncer } = await withJournal();
    await syncer.sync(RECORD, 1);
    state.faults.push(systemError("EIO"));
    await syncer.sync(RECORD, 1);
    await syncer.sync(RECORD, 1);
    expect(said).toEqual(["journal", "journal", "log", "cleared", "closed with 0", "log"]);
  });

  it("together with the log has its records refused", async () => {
    const { state, syncer } = await withJournal();
    state.faults.push(systemError("EIO"), systemError("EIO"));
    await expect(syncer.sync(RECORD, 1)).rejects.toThrow("EIO");
  });
});
