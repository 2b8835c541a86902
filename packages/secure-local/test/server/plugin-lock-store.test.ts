// The lock of plugins while a server runs: an approval takes effect by itself, and a damaged file changes nothing.
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { pipeAt } from "../audit/rescued-pipe.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { PluginLockStore } from "../../src/server/plugin-reviews.js";
import { itemsOf } from "../../src/server/plugin-names.js";
import { lockFileOf, type PluginLock, readLock, relocked, writeLock } from "../../src/server/plugin-lock.js";
import { SecureServer } from "../../src/server/secure-server.js";

const EMPTY: PluginLock = new Map();
const open: (() => Promise<void>)[] = [];
afterEach(async () => void (await Promise.all(open.splice(0).map((close) => close()))));

async function policyIn(folder: string): Promise<Policy> {
  const text = `
version: "1.0"
tools: { allowed: ["weather_*"] }
sandbox: none
plugins: { folder: ${folder}, load: [{ name: weather }] }
`;
  return await parsePolicy(text, { file: join(folder, "policy.yaml"), environment: {} });
}

describe("a lock that cannot be used", () => {
  const names = {
    "policy.yaml.lock": "plugins lock",
    "policy.yaml.servers.lock": "move it away and .* servers review",
  };

  it.each(Object.entries(names))("is refused with the command that mends it: %s", (name, command) => {
    const file = join(temporaryFolder(), name);
    const mended = new RegExp(`${command} --policy \\S*/policy\\.yaml\\.$`);
    writeFileSync(file, '{"version":');
    expect(() => readLock(file)).toThrow(/is damaged/);
    expect(() => readLock(file)).toThrow(mended);
    rmSync(file);
    // It would be waited for without end.
    pipeAt(file);
    expect(() => readLock(file)).toThrow(/is no regular file/);
    expect(() => readLock(file)).toThrow(mended);
  });
});

describe("a lock in force", () => {
  async function kept(): Promise<{ readonly file: string; readonly policy: Policy; readonly lock: PluginLockStore }> {
    const folder = temporaryFolder();
    const policy = await policyIn(folder);
    return { file: lockFileOf(join(folder, "policy.yaml")), policy, lock: new PluginLockStore() };
  }

  it("is nothing where there is no file, and the file as soon as there is one", async () => {
    const { file, policy, lock } = await kept();
    expect(lock.read(policy)).toBeUndefined();
    expect(lock.of(policy)).toMatchObject({ lock: undefined, fault: undefined });
    writeLock(file, EMPTY);
    expect(lock.read(policy)).toMatchObject({ kind: "lock.loaded", text: expect.stringContaining("is in force") });
    expect(lock.of(policy).lock).toEqual(EMPTY);
    // The same again is no news.
    writeLock(file, EMPTY);
    expect(lock.read(policy)).toBeUndefined();
  });

  it("stays when its file is gone, which is told once, until there is one again", async () => {
    const { file, policy, lock } = await kept();
    writeLock(file, EMPTY);
    expect(lock.read(policy)).toBeUndefined();
    const before = lock.of(policy);
    rmSync(file);
    const news = lock.read(policy);
    expect(news).toMatchObject({ kind: "lock.rejected", file });
    expect(news?.text).toMatch(/is gone; .* Until then what was approved before stays approved\.$/);
    expect(lock.read(policy)).toBeUndefined();
    expect(lock.of(policy)).toBe(before);
    writeLock(file, EMPTY);
    expect(lock.read(policy)).toMatchObject({ kind: "lock.loaded" });
  });

  it("is nothing again when the only file there ever was could not be read and is gone", async () => {
    const { file, policy, lock } = await kept();
    expect(lock.read(policy)).toBeUndefined();
    writeFileSync(file, "{");
    expect(lock.read(policy)).toMatchObject({ kind: "lock.rejected" });
    rmSync(file);
    expect(lock.read(policy)).toBeUndefined();
    expect(lock.of(policy)).toMatchObject({ lock: undefined, fault: undefined });
    writeLock(file, EMPTY);
    expect(lock.read(policy)).toMatchObject({ kind: "lock.loaded" });
  });

  it("stays when its file is damaged, which is told once for each fault", async () => {
    const { file, policy, lock } = await kept();
    writeLock(file, EMPTY);
    expect(lock.read(policy)).toBeUndefined();
    const before = lock.of(policy);
    for (const damage of ["{", "[]"]) {
      writeFileSync(file, damage);
      const news = lock.read(policy);
      expect(news).toMatchObject({ kind: "lock.rejected", file });
      expect(news?.text).toMatch(
        /damaged .* mcp-secure-local plugins lock --policy \S+\. Until then what was approved before stays/,
      );
      expect(lock.read(policy)).toBeUndefined();
      expect(lock.of(policy)).toBe(before);
    }
    writeLock(file, EMPTY);
    expect(lock.read(policy)).toMatchObject({ kind: "lock.loaded" });
  });

  it("approves nothing where the first one is damaged", async () => {
    const { file, policy, lock } = await kept();
    writeFileSync(file, "{");
    expect(lock.of(policy).fault).toContain("cannot be read");
    writeFileSync(file, "");
    expect(lock.read(policy)?.text).toContain("Until then no plugin offers anything");
    expect(lock.of(policy).fault).toContain("cannot be read");
  });
});

interface Served {
  readonly file: string;
  readonly peer: MemoryPeer;
  readonly audit: MemoryAudit;
  readonly said: readonly string[];
  names(): readonly string[];
  /** The lock of what the plugin offers now. */
  approval(): PluginLock;
}

/** Serves one plugin under an empty lock: nothing of it is approved. `sandbox: none` because nothing of it is ever run. */
async function served(): Promise<Served> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "weather"));
  writeFileSync(join(folder, "weather", "main.sh"), "exit 0\n");
  chmodSync(join(folder, "weather", "main.sh"), 0o755);
  const tools = [{ name: "now", description: "Returns the weather of a city." }];
  writeFileSync(
    join(folder, "weather", "manifest.yaml"),
    JSON.stringify({ name: "weather", run: ["./main.sh"], tools }),
  );
  const policy = await policyIn(folder);
  const file = lockFileOf(join(folder, "policy.yaml"));
  writeLock(file, EMPTY);
  const audit = new MemoryAudit();
  const said: string[] = [];
  const secure = new SecureServer({ policy, audit, version: "1", say: (line) => said.push(line) });
  open.push(() => secure.stop());
  secure.start();
  await vi.waitFor(() => expect(secure.pluginHealth()[0]?.state).toBe("ready"), { timeout: 10_000, interval: 5 });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const approval = (): PluginLock => {
    const [review] = secure.pluginReviews();
    if (review === undefined) throw new Error("there is no review");
    const items = new Map([...itemsOf(review.description), ["launch", review.launch] as const]);
    return new Map([["weather", relocked(undefined, items)]]);
  };
  return { file, peer, audit, said, approval, names: () => secure.tools().map(({ name }) => name) };
}

const SOON = { timeout: 10_000, interval: 10 };

describe("an approval under a running server", () => {
  it("takes effect by itself: the tool is listed, clients hear of it, and the log says so", async () => {
    const { file, peer, audit, said, names, approval } = await served();
    expect(names()).toEqual([]);
    writeLock(file, approval());
    await vi.waitFor(() => expect(names()).toEqual(["weather_now"]), SOON);
    await vi.waitFor(
      () => expect(peer.messages.map(({ method }) => method)).toContain("notifications/tools/list_changed"),
      SOON,
    );
    expect(said).toContain(`${file} is in force`);
    expect(audit.records()).toContainEqual(expect.objectContaining({ kind: "lock.loaded", detail: { file } }));
    // What is taken back is gone as well, and a call of it is refused.
    writeLock(file, EMPTY);
    await vi.waitFor(() => expect(names()).toEqual([]), SOON);
    const answer = await peer.request("tools/call", { name: "weather_now", arguments: {} });
    expect(JSON.stringify(answer)).toContain("it is not approved");
  });

  it("stays in force while the file is damaged", async () => {
    const { file, audit, said, names, approval } = await served();
    writeLock(file, approval());
    await vi.waitFor(() => expect(names()).toEqual(["weather_now"]), SOON);
    writeFileSync(`${file}.new`, '{"version":2,"plugins":{"weather":{"approved":{},"removed":[]}}}');
    renameSync(`${file}.new`, file);
    await vi.waitFor(() => expect(said.filter((line) => line.includes("is damaged"))).toHaveLength(1), SOON);
    expect(names()).toEqual(["weather_now"]);
    expect(audit.records().map(({ kind }) => kind)).toContain("lock.rejected");
  });
});
