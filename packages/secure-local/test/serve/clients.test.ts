// The official clients against the built command over HTTP, with what it prints for them: the URL and the token.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Served } from "./served.js";

const SUM = { name: "calculate", arguments: { expression: "6 * 7" } };
const RESULT = { content: [{ type: "text", text: "42" }], isError: false };
const NAMES = ["calculate", "get_timestamp", "web_search"];

describe("an official client", () => {
  const home = mkdtempSync(join(tmpdir(), "clients-test-"));
  let served: Served;
  let url: URL;
  let requestInit: RequestInit;

  beforeAll(async () => {
    served = new Served(["--sse"], home, { shared: true });
    url = new URL(await served.ready());
    requestInit = { headers: served.bearer };
  });
  afterAll(async () => {
    expect(await served.end()).toBe(0);
    rmSync(home, { recursive: true });
  });

  it("of the first generation lists and calls over Streamable HTTP", async () => {
    const client = new Client({ name: "v1", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(NAMES);
    expect(await client.callTool(SUM)).toMatchObject(RESULT);
    await client.close();
  });

  it("of the first generation lists and calls over HTTP+SSE", async () => {
    const client = new Client({ name: "v1", version: "1.0.0" });
    const authorized: typeof fetch = (input, init) =>
      fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...served.bearer } });
    const options = { requestInit, eventSourceInit: { fetch: authorized } };
    await client.connect(new SSEClientTransport(new URL("/sse", url), options));
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(NAMES);
    expect(await client.callTool(SUM)).toMatchObject(RESULT);
    await client.close();
  });

  it.each([undefined, "auto"] as const)("of the second generation does so, too (mode %s)", async (mode) => {
    const options = mode === undefined ? {} : { versionNegotiation: { mode } };
    const client = new V2Client({ name: "v2", version: "1.0.0" }, options);
    await client.connect(new V2Transport(url, { requestInit }));
    expect((await client.listTools()).tools.map(({ name }) => name).sort()).toEqual(NAMES);
    expect(await client.callTool(SUM)).toMatchObject(RESULT);
    await client.close();
  });
});
