// Durations of requests and sessions, recorded through the real OpenTelemetry API by an SDK that only measures.
import * as api from "@opentelemetry/api";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { afterEach, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { telemetry } from "../../src/observe/open-telemetry.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { smallMetrics } from "./small-sdk.js";

const POLICY = 'version: "1.0"\ntools: { allowed: ["calculate"] }\n';
const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

afterEach(() => api.metrics.disable());

async function connected(): Promise<MemoryPeer> {
  const policy = await parsePolicy(POLICY, { file: "policy.yaml" });
  const seen = await telemetry("1.0.0", () => undefined);
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0", telemetry: seen });
  return connectInMemory(secure.server, { revision: "2025-06-18" });
}

const calculate = (peer: MemoryPeer, name: string, expression: string): Promise<unknown> =>
  peer.request("tools/call", { name, arguments: { expression } }).catch((error: unknown) => error);

it("are measured by method, tool and failure, in the buckets of the conventions", async () => {
  const measured = smallMetrics(api);
  const peer = await connected();
  await calculate(peer, "calculate", "6 * 7");
  await calculate(peer, "calculate", "1 / 0");
  await peer.request("made/up").catch(() => undefined);
  await peer.close();
  const session = measured.pop();
  const common = { "mcp.protocol.version": "2025-06-18", "network.transport": "tcp" };
  const tool = { ...common, "mcp.method.name": "tools/call", "gen_ai.tool.name": "calculate" };
  expect(measured.map(({ attributes }) => attributes)).toMatchObject([
    { ...common, "mcp.method.name": "initialize" },
    { ...tool, "gen_ai.operation.name": "execute_tool" },
    { ...tool, "error.type": "tool_error" },
  ]);
  expect(measured[1]?.attributes).not.toHaveProperty("error.type");
  for (const { name, unit, bounds, value } of measured) {
    expect([name, unit, bounds]).toEqual(["mcp.server.operation.duration", "s", BUCKETS]);
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThan(60);
  }
  expect(session).toMatchObject({
    name: "mcp.server.session.duration",
    unit: "s",
    bounds: BUCKETS,
    attributes: common,
  });
});

it("take no attribute from what a caller made up", async () => {
  const measured = smallMetrics(api);
  const peer = await connected();
  for (let index = 0; index < 20; index += 1) await calculate(peer, `made-up-${index}`, "1");
  await peer.close();
  expect(JSON.stringify(measured)).not.toContain("made-up");
  expect(measured.filter(({ attributes }) => attributes["error.type"] === "-32602")).toHaveLength(20);
});

it("are not measured without an SDK", async () => {
  expect(await telemetry("1.0.0", () => undefined)).toBeUndefined();
});
