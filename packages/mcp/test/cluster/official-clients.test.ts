// The official SDKs as clients of three and of ten members, in each revision they speak, over both transports.
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { gate, testServer } from "../http/http-fixture.js";
import { startCluster } from "./cluster-fixture.js";

interface Spoken {
  call(name: string, args: Record<string, unknown>): Promise<string>;
  readonly changed: Promise<void>;
}

const CAPABILITIES = { elicitation: {} };

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]?.text ?? "";
}

async function v1(url: URL, revision: string, sse: boolean): Promise<Spoken> {
  const transport = sse ? new SseV1(url) : new HttpV1(url);
  const send = transport.send.bind(transport) as (message: unknown, options?: unknown) => Promise<void>;
  transport.send = (message: unknown, options?: unknown) => {
    const one = message as { method?: string; params?: object };
    const opens = one.method === "initialize";
    return send(opens ? { ...one, params: { ...one.params, protocolVersion: revision } } : one, options);
  };
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { sure: true } }));
  const changed = gate();
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.open());
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    changed: changed.opened,
  };
}

async function v2(url: URL, revision: string, sse: boolean): Promise<Spoken> {
  const stateless = revision === "2026-07-28";
  const client = new ClientV2(
    { name: "v2", version: "1" },
    {
      capabilities: CAPABILITIES,
      ...(stateless ? { versionNegotiation: { mode: "auto" } } : { supportedProtocolVersions: [revision] }),
    },
  );
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { sure: true } }) as never);
  const changed = gate();
  client.setNotificationHandler("notifications/tools/list_changed", () => changed.open());
  await client.connect(sse ? new SseV2(url) : new HttpV2(url));
  onTestFinished(() => client.close());
  return {
    call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    changed: changed.opened,
  };
}

const HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MATRIX = [
  ...HANDSHAKE.flatMap((revision) => [["v1", "http", revision] as const, ["v2", "http", revision] as const]),
  ["v2", "http", "2026-07-28"] as const,
  ...["2024-11-05", "2025-11-25"].flatMap((revision) => [
    ["v1", "sse", revision] as const,
    ["v2", "sse", revision] as const,
  ]),
];

describe.each([3, 10])("%i members behind a round robin", (count) => {
  it.each(MATRIX)("SDK %s over %s in %s calls, is asked and told of changes", async (sdk, kind, revision) => {
    const cluster = await startCluster({ count, server: () => testServer({ report: () => undefined }) });
    const target = new URL(kind === "sse" ? cluster.url.replace("/mcp", "/sse") : cluster.url);
    const client = await (sdk === "v1" ? v1 : v2)(target, revision, kind === "sse");
    for (let n = 0; n < count; n++) expect(await client.call("echo", { text: `hello ${n}` })).toBe(`hello ${n}`);
    if (revision >= "2025-06-18") expect(await client.call("ask", {})).toBe("accept");
    if (revision === "2026-07-28") return;
    cluster.servers[1]?.tool("new", { run: () => 1 });
    await client.changed;
  });
});
