// A process that this one cannot connect to: said on standard error, and counted.
import { memoryStores, type SharedStores, shareOver } from "@secure-local/mcp/cluster";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { expect, it, onTestFinished } from "vitest";
import { call, session } from "../../../mcp/test/http/http-fixture.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { Metrics } from "../../src/observe/metrics.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";

const KEY = Buffer.alloc(32, 7);
const LOAD = { sessions: 0, streams: 0, connections: 0, bytesIn: 0, bytesOut: 0 };

it("a process that cannot be connected to is said once, and counted while it is so", async () => {
  const stores = memoryStores();
  const lines: string[] = [];
  const policy = await parsePolicy('version: "1.0"\ntools: { allowed: ["*"] }\n', { file: "policy.yaml" });
  const audit = new MemoryAudit();
  const secure = new SecureServer({ policy, audit, version: "1", say: (line) => lines.push(line) });
  onTestFinished(() => secure.stop());
  const metrics = new Metrics("1");
  onTestFinished(() => metrics.close());
  metrics.shared = { isUp: () => true, byRedis: () => secure.byLetters };
  const serve = async (server: Server, node: string) => {
    const { name, sessions, tasks, limits, marks, locks, records, streams, bus, mail } = stores;
    const own: SharedStores = {
      ...{ name, sessions, tasks, limits, marks, locks, records, streams, bus, mail },
      beat: (of, at) => stores.beat(of, of === "far" ? "tcp://127.0.0.1:1" : at),
      open: (...given) => stores.open(...given),
      leave: (given) => stores.leave(given),
      close: () => stores.close(),
    };
    const share = shareOver(own, { key: KEY, node });
    const serving = await serveHttp(server, { share, signals: false, limits: { drainMs: 10 } });
    onTestFinished(() => serving.close());
    return serving.url;
  };
  const far = await serve(new Server({ name: "far", version: "1", report: false }), "far");
  const near = await serve(secure.server, "near");
  const { headers } = await session(far);
  expect(metrics.text(LOAD, audit)).toContain("\nmcp_secure_local_peers_by_redis 0\n");
  for (let id = 1; id < 4; id++) {
    const types = { "content-type": "application/json", accept: "application/json" };
    await fetch(near, {
      method: "POST",
      headers: { ...headers, ...types },
      body: JSON.stringify(call("none", {}, id)),
    });
  }
  expect(lines).toEqual([
    "The process far cannot be reached at tcp://127.0.0.1:1: what goes there goes through memory, which is slower; check the address there",
  ]);
  expect(metrics.text(LOAD, audit)).toContain("\nmcp_secure_local_peers_by_redis 1\n");
});
