// HTTPS: the same endpoint behind a certificate made for the test.
import { request as httpsRequest } from "node:https";
import { connect as tlsConnect } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { selfMadeCertificate } from "../support/self-made-certificate.js";
import type { HttpServing } from "../../src/serve/http.js";
import { call, JSON_TYPES, modern, modernHeaders, raw, type Json, start, testServer } from "./http-fixture.js";

const pair = selfMadeCertificate();

interface TlsReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

function post(url: string, message: Json, headers: Record<string, string> = {}, ca = pair?.cert): Promise<TlsReply> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { ...JSON_TYPES, ...headers }, agent: false, ...(ca ? { ca } : {}) };
    const request = httpsRequest(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.on("error", reject);
    request.end(JSON.stringify(message));
  });
}

describe.skipIf(pair === undefined)("over TLS", () => {
  const secure = (): Promise<HttpServing> => start(testServer(), { tls: pair ?? {} });
  const message = modern("tools/call", { name: "echo", arguments: { text: "hello" } });

  it("serves stateless requests and sessions, and counts what it served", async () => {
    const serving = await secure();
    expect(serving.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/mcp$/);
    expect(await post(serving.url, message, modernHeaders(message))).toMatchObject({ status: 200 });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const opened = await post(serving.url, { jsonrpc: "2.0", id: 0, method: "initialize", params });
    const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
    expect((await post(serving.url, call("echo", { text: "again" }), session)).text).toContain("again");
    const { sessions, bytesIn, bytesOut } = serving.stats();
    expect([sessions, bytesIn > 500, bytesOut > 500]).toEqual([1, true, true]);
  });

  it("lets its own origin in, and not the same host without TLS", async () => {
    const { url } = await secure();
    const { host } = new URL(url);
    const status = async (origin: string): Promise<number> =>
      (await post(url, message, { ...modernHeaders(message), origin })).status;
    expect(await status(`https://${host}`)).toBe(200);
    expect(await status(`http://${host}`)).toBe(403);
  });

  it("is refused by who does not know the certificate, and refuses who speaks without TLS or an old one", async () => {
    const { url } = await secure();
    await expect(post(url, message, modernHeaders(message), "")).rejects.toMatchObject({
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    const { text, ended } = await raw(url, `POST /mcp HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`);
    expect([text, ended]).toEqual(["", true]);
    const { hostname, port } = new URL(url);
    const old = tlsConnect({ host: hostname, port: Number(port), maxVersion: "TLSv1.1", ca: pair?.cert });
    onTestFinished(() => void old.destroy());
    await expect(
      new Promise((resolve, reject) => old.on("secureConnect", resolve).on("error", reject)),
    ).rejects.toThrow(/SSL|TLS|ECONNRESET/);
  });
});
