// The doctor on servers of flesh and blood: processes that misbehave, HTTP endpoints good and bad.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Transport } from "@secure-local/mcp/client";
import { childTransport, nodeRequester, streamableHttpTransport } from "@secure-local/mcp/client/node";
import { serveHttp } from "@secure-local/mcp/http";
import { afterEach, describe, expect, it } from "vitest";
import { everythingServer } from "../../../../examples/everything/server.mjs";
import { soaking } from "../../../mcp/test/support/soak.js";
import { Examination } from "../../src/doctor/examination.js";
import { CHECKS, type Diagnosis, examine } from "../../src/doctor/examine.js";
import { scriptedLink } from "./scripted-server.js";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const verdicts = ({ findings }: Diagnosis): Record<string, string> =>
  Object.fromEntries(findings.map(({ id, verdict }) => [id, verdict]));

function overHttp(url: string): Promise<Diagnosis> {
  const link = () => streamableHttpTransport({ url, requester: nodeRequester(), ownsRequester: true });
  return examine({ kind: "http", url, link, answerMs: 10_000 });
}

async function listening(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

describe("over HTTP", () => {
  it("our own server with every feature is well", async () => {
    const served = await serveHttp(everythingServer({ report: () => undefined }), { port: 0 });
    closers.push(() => served.close());
    const diagnosis = await overHttp(served.url);
    const bad = diagnosis.findings.filter(({ tier }) => tier !== undefined);
    expect(bad.map(({ id }) => id).filter((id) => id !== "start-time")).toEqual(["tool-parameter-descriptions"]);
    expect(verdicts(diagnosis)).toMatchObject({
      "http-origin": "ok",
      "http-header-mismatch": "ok",
      "http-delete": "ok",
    });
  });

  it("an endpoint that takes everything is found out", async () => {
    const diagnosis = await overHttp(await listening(carelessly));
    expect(verdicts(diagnosis)).toMatchObject({
      "http-notification": "warn",
      "http-session-id": "note",
      "http-session-missing": "warn",
      "http-version-header": "warn",
      "http-origin": "warn",
      "http-get": "warn",
      "http-not-json": "warn",
      "http-media-type": "note",
      "http-delete": "warn",
      "http-unknown-method": "warn",
      "http-method-header": "warn",
      "http-header-mismatch": "warn",
      "http-version-missing": "warn",
    });
  });

  it("an endpoint that holds to what was agreed, and refuses every other revision, is blamed for nothing", async () => {
    const found = await overHttp(await listening(strictly("2025-06-18")));
    const bad = found.findings.filter(({ id, tier, verdict }) => id.startsWith("http-") && (tier ?? verdict) !== "ok");
    expect(bad.filter(({ verdict }) => verdict !== "skipped")).toEqual([]);
    expect(verdicts(found)).toMatchObject({
      "http-notification": "ok",
      "http-get": "ok",
      "http-session-missing": "ok",
      "http-version-header": "ok",
      "http-delete": "ok",
    });
  });

  it("one that serves sessions it does not know is found out, whatever it speaks", async () => {
    const lax = strictly("2025-06-18", { anySession: true });
    expect(verdicts(await overHttp(await listening(lax)))).toMatchObject({
      "http-session-missing": "warn",
      "http-delete": "warn",
    });
  });

  it("a revision without the header is not asked for it", async () => {
    expect(verdicts(await overHttp(await listening(strictly("2025-03-26"))))).toMatchObject({
      "http-version-header": "skipped",
    });
  });

  it("what is kept for the URL is sent, and without it nothing is blamed on the server", async () => {
    const url = await listening(strictly("2025-11-25", { token: "kept" }));
    const headers = () => Promise.resolve({ authorization: "Bearer kept" });
    const authorizer = { headers, challenged: () => Promise.resolve(false) };
    const link = () => streamableHttpTransport({ url, authorizer, requester: nodeRequester(), ownsRequester: true });
    const options = { kind: "http", url, link, answerMs: 10_000 } as const;
    const http = ({ findings }: Diagnosis) =>
      findings.filter(({ id, verdict }) => id.startsWith("http-") && verdict !== "ok" && verdict !== "skipped");
    expect(http(await examine({ ...options, authorizer }))).toEqual([]);
    const without = http(await examine(options));
    expect(new Set(without.map(({ verdict }) => verdict))).toEqual(new Set(["unchecked"]));
    expect(without.map(({ detail }) => detail).join()).toContain("not checked: the server wants authorization");
  });

  it("an endpoint without a Content-Type is found out", async () => {
    const url = await listening((request, response) => carelessly(request, untyped(response)));
    expect(verdicts(await overHttp(url))).toMatchObject({ "http-content-type": "fail" });
  });

  it("what is not there cannot be examined", async () => {
    await expect(overHttp("http://127.0.0.1:9/mcp")).rejects.toMatchObject({ code: "UNREACHABLE" });
  });
});

/** Stays when its parent has gone. */
const STAYING =
  process.platform === "win32" ? `process.execPath, ["-e", "setInterval(() => {}, 1000)"]` : `"sleep", ["1000"]`;
const NOISY = `
console.log("Server started");
process.stdin.on("end", () => {});
const keep = setInterval(() => {}, 1000);
require("node:child_process").spawn(${STAYING}, { stdio: "ignore", detached: true }).unref();
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === "initialize"
    ? { protocolVersion: "2024-11-05", capabilities: {}, serverInfo: { name: "noisy", version: "1.0.0" } }
    : undefined;
  const body = result === undefined ? { error: { code: -32601, message: "No" } } : { result };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...body }) + "\\n");
});`;

describe("over stdio", () => {
  it("noise, a stubborn process and what it leaves behind are found", async () => {
    const closeTimeouts = { inputEndMs: 50, terminateMs: 1_000 };
    const link = firstOnly(() => childTransport({ command: process.execPath, args: ["-e", NOISY], closeTimeouts }));
    const found = verdicts(await examine({ kind: "stdio", link, answerMs: 10_000 }));
    expect(found).toMatchObject({
      "stdout-noise": "fail",
      "close-end": "warn",
      "version-echo": "note",
      ping: "warn",
    });
  });

  it("its sudden end is found", async () => {
    const closeTimeouts = { inputEndMs: 50, terminateMs: 1_000 };
    const link = () => childTransport({ command: process.execPath, args: ["-e", NOISY], closeTimeouts });
    const exam = new Examination({ kind: "stdio", link, answerMs: 10_000 });
    const check = CHECKS.find(({ id }) => id === "invalid-json");
    expect(await check?.run(exam)).toMatchObject({ verdict: "warn", detail: "afterwards it was gone" });
    await exam.close();
  });

  it("a process left behind by one that ends as it should is found", async () => {
    const polite = NOISY.replace('"end", () => {}', '"end", () => process.exit()').replace(
      'console.log("Server started");',
      "",
    );
    const closeTimeouts = { inputEndMs: 10_000 };
    const link = firstOnly(() => childTransport({ command: process.execPath, args: ["-e", polite], closeTimeouts }));
    const found = verdicts(await examine({ kind: "stdio", link, answerMs: 10_000 }));
    expect(found).toMatchObject({ "stdout-noise": "ok", "close-end": "ok", "close-leak": "warn" });
  });
});

/** The first conversation is with the process; how further ones end says nothing new. */
function firstOnly(real: () => Transport): () => Transport {
  let links = 0;
  return () => ((links += 1) === 1 || soaking ? real() : scriptedLink());
}

/** Answers 200 to everything that is asked, whatever it says. */
function carelessly(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    let message: { id?: unknown; method?: string } = {};
    try {
      message = JSON.parse(Buffer.concat(chunks).toString()) as typeof message;
    } catch {
      // Taken all the same.
    }
    const facts = { capabilities: {}, serverInfo: { name: "careless", version: "1.0" } };
    const result = { protocolVersion: "2025-11-25", supportedVersions: ["2026-07-28"], ...facts };
    const known = message.method === "initialize" || message.method === "server/discover" || message.method === "ping";
    const body = known ? { result } : { error: { code: -32601, message: "No" } };
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s1" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id ?? null, ...body }));
  });
}

/** Does as the specification says, in one revision. */
function strictly(revision: string, { anySession = false, token = "" } = {}): RequestListener {
  const sessions = new Set<string>();
  return (request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const { status, body, session } = strictAnswer({ request, text }, { revision, anySession, token, sessions });
      const headers = body === undefined ? {} : { "content-type": "application/json" };
      response.writeHead(status, { ...headers, ...(session === undefined ? {} : { "mcp-session-id": session }) });
      response.end(body === undefined ? undefined : JSON.stringify({ jsonrpc: "2.0", ...body }));
    });
  };
}

interface Strictness {
  readonly revision: string;
  readonly anySession: boolean;
  readonly token: string;
  readonly sessions: Set<string>;
}

function strictAnswer(
  { request, text }: { readonly request: IncomingMessage; readonly text: string },
  { revision, anySession, token, sessions }: Strictness,
): { readonly status: number; readonly body?: object; readonly session?: string } {
  const { "mcp-session-id": session, "mcp-protocol-version": version, origin, authorization } = request.headers;
  if (token !== "" && authorization !== `Bearer ${token}`) return { status: 401 };
  if (origin !== undefined) return { status: 403 };
  if (request.method === "GET") return { status: version === revision ? 405 : 400 };
  const known = anySession || sessions.has(String(session));
  if (request.method === "DELETE") return { status: sessions.delete(String(session)) ? 204 : 404 };
  if (request.headers["content-type"] !== "application/json") return { status: 415 };
  if (!text.startsWith("{") || text.startsWith("{ ")) return { status: 400 };
  const { id = null, method } = JSON.parse(text) as { readonly id?: unknown; readonly method?: string };
  if (method === "initialize") {
    const opened = `0123456789abcdef-${sessions.size}`;
    sessions.add(opened);
    const result = { protocolVersion: revision, capabilities: {}, serverInfo: { name: "strict", version: "1.0" } };
    return { status: 200, body: { id, result }, session: opened };
  }
  if (!known) return { status: 404 };
  if (version !== revision) return { status: 400 };
  if (id === null) return { status: 202 };
  if (method === "ping") return { status: 200, body: { id, result: {} } };
  return { status: 200, body: { id, error: { code: -32601, message: "No" } } };
}

function untyped(response: ServerResponse): ServerResponse {
  const writeHead = response.writeHead.bind(response);
  response.writeHead = (status: number) => writeHead(status);
  return response;
}
