// Another policy while calls run: each call is judged by exactly one version, and a file that cannot be used changes nothing.
import { chmodSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { loadPolicy } from "../../src/policy/load-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { followPolicyFile, watchFile } from "../../src/server/follow-policy-file.js";
import { repeated } from "../../../mcp/test/support/soak.js";

const RATES = "rate_limits: { default: 1000000 }";
const OPEN = `version: "1.0"\ntools: { allowed: [calculate], ${RATES} }\n`;
const SHUT = `version: "1.0"\ntools: { allowed: [calculate], denied: [calculate], ${RATES} }\n`;
const BAD = `version: "1.0"\ntools: { allowed: [calculate, get_timestamp] }\nnothing: here\n`;

interface Following {
  readonly file: string;
  readonly secure: SecureServer;
  readonly audit: MemoryAudit;
  /** The next line that is said and holds this text. */
  said(text: string): Promise<string>;
  stop(): void;
}

async function follow(): Promise<Following> {
  const file = join(temporaryFolder(), "policy.yaml");
  replace(file, OPEN);
  const audit = new MemoryAudit();
  const secure = new SecureServer({ policy: await loadPolicy(file), audit, version: "9.9.9" });
  const waiting = new Set<(line: string) => void>();
  const stop = followPolicyFile(secure, file, { say: (line) => [...waiting].forEach((each) => each(line)) });
  const said = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const look = (line: string): void => {
        if (!line.includes(text)) return;
        waiting.delete(look);
        resolve(line);
      };
      waiting.add(look);
    });
  return { file, secure, audit, said, stop };
}

function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

interface AuditRecord {
  readonly kind: string;
  readonly id: number;
  readonly policy: string;
  readonly decision?: { readonly allowed: boolean };
}

const RELOADS = repeated(100, 1_000);

describe(`${RELOADS} reloads under calls`, () => {
  it("leave every decision to exactly one version, and a bad file changes nothing", { timeout: 60_000 }, async () => {
    const file = join(temporaryFolder(), "policy.yaml");
    replace(file, OPEN);
    const open = await loadPolicy(file);
    replace(file, SHUT);
    const shut = await loadPolicy(file);
    const audit = new MemoryAudit();
    const secure = new SecureServer({ policy: shut, audit, version: "9.9.9" });
    const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
    const answers: Promise<boolean>[] = [];
    const call = async (n: number): Promise<boolean> => {
      const answer = await peer.request("tools/call", { name: "calculate", arguments: { expression: `${n} + 1` } });
      return answer["isError"] !== true;
    };
    let versions = 0;
    for (let turn = 0; turn < RELOADS; turn++) {
      const before = secure.policy.hash;
      answers.push(call(turn));
      replace(file, turn % 10 === 9 ? BAD : turn % 2 === 0 ? OPEN : SHUT);
      answers.push(call(turn));
      await loadPolicy(file).then(
        (policy) => secure.reload(policy),
        (error: unknown) => secure.reloadFailed(String(error)),
      );
      if (secure.policy.hash !== before) versions += 1;
      answers.push(call(turn));
    }
    const passed = (await Promise.all(answers)).filter(Boolean).length;
    await peer.close();
    const records = audit.records() as unknown as AuditRecord[];
    const labels = { [open.hash.slice(0, 12)]: true, [shut.hash.slice(0, 12)]: false };
    const decided = records.filter(({ decision }) => decision !== undefined);
    expect(decided).toHaveLength(answers.length);
    for (const { policy, decision } of decided) expect(decision?.allowed).toBe(labels[policy]);
    expect(decided.filter(({ decision }) => decision?.allowed)).toHaveLength(passed);
    // A call that runs while the policy changes ends under the version it began under.
    const begun = new Map(records.filter(({ kind }) => kind === "call.intent").map(({ id, policy }) => [id, policy]));
    for (const { kind, id, policy } of records) if (kind === "call.result") expect(policy).toBe(begun.get(id));
    expect(records.filter(({ kind }) => kind === "policy.rejected")).toHaveLength(RELOADS / 10);
    expect(versions).toBeGreaterThan(0.7 * RELOADS);
    expect(passed).toBeGreaterThan(RELOADS / 2);
    expect(passed).toBeLessThan(answers.length);
  });
});

describe("a policy file that changes", () => {
  it("comes into force once it has rested, and a bad one does not", async () => {
    const { file, secure, audit, said, stop } = await follow();
    const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
    const open = secure.policy.hash;
    const faulty = said("keeping the previous policy");
    replace(file, BAD);
    expect(await faulty).toContain(`${file}:3:1: a policy has no key "nothing"`);
    expect(secure.policy.hash).toBe(open);
    const inForce = said("is in force");
    writeFileSync(file, SHUT);
    expect(await inForce).toContain("changed:");
    expect(secure.policy.hash).not.toBe(open);
    const kinds = audit.records().map(({ kind }) => kind);
    expect(kinds).toEqual(["policy.rejected", "policy.loaded"]);
    expect(peer.messages.map(({ method }) => method)).toContain("notifications/message");
    await peer.close();
    stop();
  });

  it.skipIf(process.platform === "win32")("is refused where others can write to it, or when it is gone", async () => {
    const { file, secure, said, stop } = await follow();
    const open = secure.policy.hash;
    const writable = said("keeping the previous policy");
    writeFileSync(file, SHUT);
    chmodSync(file, 0o666);
    expect(await writable).toContain("chmod go-w");
    const gone = said("keeping the previous policy");
    renameSync(file, `${file}.gone`);
    expect(await gone).toContain("no such file");
    expect(secure.policy.hash).toBe(open);
    stop();
  });

  it("that cannot be watched is said to be", () => {
    const lines: string[] = [];
    const stop = watchFile("/nowhere/at/all", { changed: () => undefined, say: (line) => lines.push(line) });
    expect(lines).toEqual([expect.stringContaining("send SIGHUP to reload")]);
    stop();
  });

  it("is told once for many changes", async () => {
    const file = join(temporaryFolder(), "watched");
    writeFileSync(file, "0");
    let told = 0;
    await new Promise<void>((resolve) => {
      const changed = (): void => {
        told += 1;
        stop();
        resolve();
      };
      const stop = watchFile(file, { changed, say: () => undefined, quietMs: 50 });
      for (let n = 0; n < 200; n++) writeFileSync(file, String(n));
    });
    expect(told).toBe(1);
  });
});
