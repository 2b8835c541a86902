// The door, the pages and the traces of a server on a port of this process.
import { AsyncLocalStorage } from "node:async_hooks";
import * as api from "@opentelemetry/api";
import { serveHttp } from "@secure-local/mcp/http";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { Metrics } from "../../src/observe/metrics.js";
import { telemetry } from "../../src/observe/open-telemetry.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { httpOptions, type HttpSettings } from "../../src/server/http-options.js";
import type { BusyRefusal } from "../../src/server/load-shedder.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { smallSdk } from "../observe/small-sdk.js";
import { type Reply, send, toolCall } from "./served.js";

const TOKEN = "k".repeat(43);
const OWNER = { authorization: `Bearer ${TOKEN}` };
const ARGS = { expression: "6 * 7" };

afterEach(() => {
  for (const part of [api.trace, api.propagation, api.context]) part.disable();
});

const ROOMY: HttpSettings["gate"] = { short: false, refusal: () => undefined };

interface Wishes {
  readonly perSecond?: number;
  readonly token?: string | undefined;
  readonly gate?: HttpSettings["gate"];
}

async function served({ perSecond = 100, gate = ROOMY, ...rest }: Wishes = {}): Promise<{
  url: string;
  audit: MemoryAudit;
  metrics: Metrics;
}> {
  const audit = new MemoryAudit();
  const metrics = new Metrics("1.0.0");
  const policy = await parsePolicy('version: "1.0"\ntools: { allowed: ["calculate"] }\n', { file: "policy.yaml" });
  const secure = new SecureServer({
    policy,
    audit: metrics.listenTo(audit),
    version: "1.0.0",
    telemetry: await telemetry("1.0.0", () => undefined),
  });
  const token = "token" in rest ? rest.token : TOKEN;
  const options = httpOptions({ sse: false, perSecond, token, audit, metrics, gate, serving: () => serving });
  expect(options.pings).toBe(true);
  const serving = await serveHttp(secure.server, { ...options, signals: false });
  onTestFinished(async () => {
    metrics.close();
    await serving.close();
  });
  return { url: serving.url, audit, metrics };
}

describe("the door", () => {
  it("knows the token in every form HTTP allows, and nothing that only resembles it", async () => {
    const { url, audit } = await served();
    for (const authorization of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER  ${TOKEN}`]) {
      expect((await send(url, toolCall("calculate", ARGS, { authorization }))).status).toBe(200);
    }
    const wrong = [
      "",
      TOKEN,
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}k`,
      `Bearer ${TOKEN.slice(1)}`,
      `Bearer ${TOKEN}, Bearer x`,
    ];
    for (const authorization of wrong) {
      const { status, headers } = await send(url, toolCall("calculate", ARGS, { authorization }));
      expect([authorization, status >= 400 && status <= 401]).toEqual([authorization, true]);
      expect(headers["www-authenticate"]).toMatch(/^Bearer/);
    }
    const principals = audit.records().map(({ kind, principal }) => [kind, principal]);
    const results = principals.filter(([kind]) => kind === "call.result");
    expect(results.map(([, principal]) => principal)).toEqual(["owner", "owner", "owner"]);
    expect(principals.filter(([kind]) => kind === "denied")).toHaveLength(wrong.length);
  });

  it("counts every refusal and records so many a minute", async () => {
    const { url, audit, metrics } = await served();
    for (let index = 0; index < 80; index += 1) expect((await send(url, toolCall("calculate", ARGS))).status).toBe(401);
    expect(metrics.unauthorized).toBe(80);
    expect(audit.lines).toHaveLength(60);
    expect(audit.lines.join("")).not.toContain(TOKEN);
  });
});

describe("the rate", () => {
  it("holds back who sends too many, whether or not it has the token, and says when to come back", async () => {
    const { url, audit } = await served({ perSecond: 1 });
    const flood = (headers: Record<string, string>): Promise<Reply[]> =>
      Promise.all(Array.from({ length: 30 }, () => send(url, toolCall("calculate", ARGS, headers))));
    for (const [headers, usual] of [
      [OWNER, 200],
      [{}, 401],
    ] as const) {
      const replies = await flood(headers);
      const held = replies.filter(({ status }) => status === 429);
      expect(held.length).toBeGreaterThan(0);
      expect(replies.filter(({ status }) => status === usual).length).toBe(30 - held.length);
      for (const reply of held) expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0);
    }
    expect(audit.records().filter(({ kind }) => kind === "call.result").length).toBeLessThan(30);
  });
});

describe("/healthz", () => {
  it("is 503 while the audit log cannot be written", async () => {
    const { url, audit } = await served();
    const page = new URL("/healthz", url).href;
    audit.failure = new Error("/secret/place is full");
    expect(await send(page)).toMatchObject({
      status: 503,
      text: '{"status":"degraded","reason":"the audit log cannot be written"}',
    });
    audit.failure = undefined;
    expect((await send(page)).status).toBe(200);
  });

  it("says while no checkpoint can be written, and not where, and so do the metrics", async () => {
    const { url, audit, metrics } = await served();
    const page = new URL("/healthz", url).href;
    const load = { sessions: 0, streams: 0, connections: 0, bytesIn: 0, bytesOut: 0 };
    expect(metrics.text(load, audit)).not.toContain("checkpoints_up");
    audit.checkpoints = { fault: "/secret/place was moved" };
    expect(await send(page)).toMatchObject({
      status: 200,
      text: '{"status":"degraded","reason":"no checkpoint of the audit log can be written"}',
    });
    expect(metrics.text(load, audit)).toContain("mcp_secure_local_checkpoints_up 0\n");
    audit.checkpoints = { fault: undefined };
    expect((await send(page)).text).toBe('{"status":"ok"}');
    expect(metrics.text(load, audit)).toContain("mcp_secure_local_checkpoints_up 1\n");
  });
});

describe("without memory", () => {
  const refusal = (): BusyRefusal => ({ status: 503, headers: { "retry-after": "1" }, text: "later" });

  it.each([TOKEN, undefined])(
    "a call is refused for now, a stranger as ever, and /healthz says so (token %s)",
    async (token) => {
      const { url, audit, metrics } = await served({ token, gate: { short: true, refusal } });
      const reply = await send(url, toolCall("calculate", ARGS, token === undefined ? {} : OWNER));
      expect([reply.status, reply.headers["retry-after"], reply.text]).toEqual([503, "1", "later"]);
      expect([audit.lines.length, metrics.unauthorized]).toEqual([0, 0]);
      expect((await send(url, toolCall("calculate", ARGS))).status).toBe(token === undefined ? 503 : 401);
      expect(await send(new URL("/healthz", url).href)).toMatchObject({
        status: 503,
        text: '{"status":"degraded","reason":"memory is short"}',
      });
    },
  );
});

describe("a trace", () => {
  const HEADER = "00-11111111111111111111111111111111-2222222222222222-01";
  const META = "00-33333333333333333333333333333333-4444444444444444-01";

  it("is continued from the message, from the HTTP request without that, and links the latter beside the former", async () => {
    const spans = smallSdk(api, new AsyncLocalStorage());
    const { url } = await served();
    const plain = toolCall("calculate", ARGS, { ...OWNER, traceparent: HEADER });
    const { body } = plain as { body: { params: { _meta: object } } };
    const params = { ...body.params, _meta: { ...body.params._meta, traceparent: META } };
    await send(url, plain);
    await send(url, { ...plain, body: { ...body, params } });
    expect(spans).toMatchObject([
      { parent: { spanId: "2222222222222222" }, links: [] },
      { parent: { spanId: "4444444444444444" }, links: [{ context: { spanId: "2222222222222222" } }] },
    ]);
    expect(spans[0]?.attributes).toMatchObject({
      "mcp.protocol.version": "2026-07-28",
      "network.transport": "tcp",
      "network.protocol.name": "http",
    });
  });
});
