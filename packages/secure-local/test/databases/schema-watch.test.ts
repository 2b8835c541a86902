// Subscribers hear of schemas that have changed, and not of rows: of a file at once, of a server when the policy is loaded anew.
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { SchemaWatch } from "../../src/capabilities/databases/sqlite-store.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { sampleSqlite } from "./sample-databases.js";
import "./plain-wasm.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "schema-watch-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("compares what was read, one reading at a time, and forgets none of what happened meanwhile", async () => {
  const readings: { readonly answer: (schema: string | undefined) => void }[] = [];
  let told = 0;
  const watch = new SchemaWatch(
    () => new Promise((resolve) => readings.push({ answer: resolve })),
    () => (told += 1),
  );
  const answer = async (schema: string | undefined): Promise<void> => {
    readings.shift()?.answer(schema);
    await new Promise(setImmediate);
  };
  watch.touched();
  watch.touched();
  expect(readings).toHaveLength(1);
  await answer("one");
  expect([told, readings.length]).toEqual([0, 1]);
  await answer("two");
  expect([told, readings.length]).toEqual([1, 0]);
  for (const [schema, times] of [
    ["two", 1],
    [undefined, 1],
    ["two", 1],
    ["three", 2],
  ] as const) {
    watch.touched();
    await answer(schema);
    expect(told).toBe(times);
  }
  watch.touched();
  watch.stop();
  await answer("four");
  expect(told).toBe(2);
});

it("tells subscribers of a file's schema and of one table", async () => {
  const file = join(folder, "data.db");
  sampleSqlite(file);
  const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as typeof import("node-sqlite3-wasm");
  const change = (sql: string): void => {
    const database = new Database(file);
    database.exec(sql);
    database.close();
  };
  const policy = await parsePolicy(
    `version: "1.0"\ntools: { allowed: [query_database] }\nresources: { allowed: ["db://*"] }\ndatabases: { main: { file: "${file}" } }\n`,
    { file: "policy.yaml" },
  );
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0" });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const [whole, people] = ["db://main/schema", "db://main/schema/people"] as const;
  for (const uri of [whole, people]) await peer.request("resources/subscribe", { uri });
  const heard = (): string[] =>
    peer.messages
      .filter(({ method }) => method === "notifications/resources/updated")
      .map(({ params }) => (params as { uri: string }).uri);
  // What changes before the watching has begun is not told, nor what changes again while it is read: each change is given
  // longer than the one before it.
  let made = 0;
  const changeUntilTold = async (uri: string, sql: (at: number) => string): Promise<void> => {
    const told = (): void => expect(heard()).toContain(uri);
    for (let patience = 500; patience < 30_000 && !heard().includes(uri); patience *= 2) {
      change(sql((made += 1)));
      await vi.waitFor(told, { timeout: patience, interval: 20 }).catch(() => undefined);
    }
    told();
  };
  await changeUntilTold(whole, (at) => `CREATE TABLE extra_${at} (a)`);
  await changeUntilTold(people, (at) => `ALTER TABLE people ADD COLUMN town_${at} TEXT`);
  await peer.close();
});

it("tells subscribers of a server's schema when the policy is loaded anew", async () => {
  const text = `version: "1.0"\ntools: { allowed: [query_database] }\nresources: { allowed: ["db://*"] }
secrets: { pg: { from: "env:NOBODY", hosts: [] } }\ndatabases: { shop: { secret: pg } }\n`;
  const [policy, next] = await Promise.all(
    [text, `${text}# again\n`].map((each) => parsePolicy(each, { file: "policy.yaml" })),
  );
  if (policy === undefined || next === undefined) throw new Error("no policies");
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0" });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  await peer.request("resources/subscribe", { uri: "db://shop/schema" });
  secure.reload(next);
  const told = await peer.next(({ method }) => method === "notifications/resources/updated");
  expect(told["params"]).toEqual({ uri: "db://shop/schema" });
  await peer.close();
});
