// A start that is put off is recorded before anything else is, and by itself when nothing else happens.
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { DeferredStart } from "../../src/audit/audit-log.js";

const kinds = (audit: MemoryAudit): string[] => audit.records().map(({ kind }) => String(kind));

function late(): { readonly audit: MemoryAudit; readonly sink: DeferredStart } {
  const audit = new MemoryAudit();
  const sink = new DeferredStart(audit);
  sink.after(() => void sink.record({ kind: "start" }));
  return { audit, sink };
}

describe("a late start", () => {
  it("comes by itself when what has arrived is answered", async () => {
    const { audit } = late();
    expect(kinds(audit)).toEqual([]);
    await turn();
    await turn();
    await turn();
    expect(kinds(audit)).toEqual(["start"]);
  });

  it("comes before the first record, and only once", async () => {
    const { audit, sink } = late();
    await sink.record({ kind: "policy.loaded" });
    await turn();
    await turn();
    await turn();
    expect(kinds(audit)).toEqual(["start", "policy.loaded"]);
  });

  it("hands on what the log says of itself", async () => {
    const { audit, sink } = late();
    expect(sink.failure).toBe(audit.failure);
    await expect(sink.close()).resolves.toBeUndefined();
  });
});
