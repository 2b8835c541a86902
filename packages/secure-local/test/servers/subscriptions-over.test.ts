// Subscriptions, and each change of a policy that takes away what is subscribed to: nothing more is told of it, in any revision.
import { mkdtempSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { loadPolicy } from "../../src/policy/load-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { Fleet } from "./fleet.js";

const REVISIONS = ["2025-11-25", "2026-07-28"];
const UPDATED = "notifications/resources/updated";
type Peer = Awaited<ReturnType<typeof connectInMemory>>;

/** Subscribes; resolves once that is so, with what the answer to a listen is when it is over. */
async function subscribed(peer: Peer, revision: string, uri: string): Promise<{ over: () => boolean }> {
  if (revision !== "2026-07-28") {
    await peer.request("resources/subscribe", { uri });
    return { over: () => true };
  }
  let over = false;
  const end = (): void => void (over = true);
  peer.request("subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } }).then(end, end);
  await peer.next(({ method }) => method === "notifications/subscriptions/acknowledged");
  return { over: () => over };
}
const news = (peer: Peer): number => peer.messages.filter(({ method }) => method === UPDATED).length;

describe.each(REVISIONS)("files, in revision %s", (revision) => {
  let folder: string;
  let file: string;
  let secure: SecureServer;
  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "heard-")));
    mkdirSync(join(folder, "data"));
    file = join(folder, "data", "a.txt");
    writeFileSync(file, "0");
    symlinkSync(file, join(folder, "data", "link.txt"));
    const policy = await written("");
    secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1" });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const written = (change: string, resources = '["file:///*"]', readable = `["${folder}/data/**"]`) => {
    writeFileSync(
      join(folder, "policy.yaml"),
      `version: "1.0"\nresources: { allowed: ${resources} }\nfilesystem: { readable_paths: ${readable}${change} }\n`,
    );
    return loadPolicy(join(folder, "policy.yaml"));
  };
  const CHANGES: Readonly<Record<string, () => ReturnType<typeof written>>> = {
    "denied_paths of the file": () => written(`, denied_paths: ["${file}"]`),
    "denied_paths of its folder": () => written(`, denied_paths: ["${folder}/data"]`),
    "readable_paths without it": () => written("", '["file:///*"]', `["${folder}/other/**"]`),
    "resources.allowed without it": () => written("", '["server://info"]'),
  };

  it.each(["a.txt", "link.txt"].flatMap((name) => Object.keys(CHANGES).map((change) => [name, change] as const)))(
    "%s is told of no more after %s",
    async (name, change) => {
      const peer = await connectInMemory(secure.server, { revision });
      await subscribed(peer, revision, `file://${folder}/data/${name}`);
      await expect
        .poll(() => (writeFileSync(file, String(Math.random())), news(peer)), { interval: 30 })
        .toBeGreaterThan(0);
      // What was written before the change has been told.
      await expect.poll(() => settled(peer), { interval: 150 }).toBe(true);
      secure.reload(await (CHANGES[change] as () => ReturnType<typeof written>)());
      const before = news(peer);
      // Another watch of the same folder, which is allowed, says when the change of the file must have been heard.
      writeFileSync(file, "after");
      await heardElsewhere(join(folder, "data"), file);
      expect(news(peer)).toBe(before);
      await peer.close();
    },
  );

  let last = -1;
  const settled = (peer: Peer): boolean => {
    const same = last === news(peer);
    last = news(peer);
    return same;
  };
});

/** Resolves when a watch of a folder, begun now, has told of the file three times: any older one has told of what was before. */
async function heardElsewhere(folder: string, file: string): Promise<void> {
  const { FileSystem } = await import("../../src/capabilities/files/file-system.js");
  const { parsePolicy } = await import("../../src/policy/parse-policy.js");
  const policy = await parsePolicy(`version: "1.0"\nfilesystem: { readable_paths: ["${folder}/**"] }`, { file: "/x" });
  const system = new FileSystem(() => policy, { own: [] });
  let heard = 0;
  system.watch(file, () => (heard += 1));
  await expect.poll(() => (writeFileSync(file, String(Math.random())), heard), { interval: 50 }).toBeGreaterThan(2);
  system.close();
}

describe.each(REVISIONS)("resources of a mounted server, in revision %s", (revision) => {
  let fleet: Fleet;
  let tell: () => void;
  beforeEach(async () => {
    fleet = new Fleet();
    fleet.make("far", () => {
      const server = new Server({ name: "far", version: "1" });
      server.resource("note://a", { read: () => "a" });
      tell = () => server.resourceUpdated("note://a");
      return server;
    });
    const policy = await body("");
    await fleet.approve(policy);
    await fleet.serve(policy);
  });
  afterEach(() => fleet.close());

  const body = (more: string, resources = 'resources: { allowed: ["note://*"] }') =>
    fleet.policy(`${resources}\n${more}\nsandbox: none`);

  it.each([
    ["resources.allowed without it", 'resources: { allowed: ["memo://*"] }', ""],
    ["resources.denied of it", 'resources: { allowed: ["note://*"], denied: ["note://a"] }', ""],
    ["a rule that asks about it", 'resources: { allowed: ["note://*"] }', "approvals: [{ approve: all }]"],
  ])("are told of no more after %s", async (_change, resources, more) => {
    const peer = await fleet.client(revision);
    const { over } = await subscribed(peer, revision, "note://a");
    await expect.poll(() => (tell?.(), news(peer))).toBeGreaterThan(0);
    fleet.secure.reload(await body(more, resources));
    const before = news(peer);
    tell();
    // A listen ends, so that its client learns of it and asks anew; a session can be told nothing but the next refusal.
    await expect.poll(over).toBe(true);
    await peer.request("tools/list", {});
    expect(news(peer)).toBe(before);
  });

  it("go on being told of where nothing is taken away", async () => {
    const peer = await fleet.client(revision);
    await subscribed(peer, revision, "note://a");
    await expect.poll(() => (tell?.(), news(peer))).toBeGreaterThan(0);
    fleet.secure.reload(await body("output: { max_bytes: 4096 }"));
    const before = news(peer);
    await expect.poll(() => (tell(), news(peer))).toBeGreaterThan(before);
  });
});
