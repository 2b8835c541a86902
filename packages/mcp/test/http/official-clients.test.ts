// The official SDKs as clients, over Streamable HTTP and HTTP+SSE, in each revision they speak.
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
import type { ServeHttpOptions } from "../../src/serve/http.js";
import { soaking } from "../support/soak.js";
import { gate, start, testServer } from "./http-fixture.js";

/** What both generations can be asked here. */
interface Spoken {
  readonly revision: string | undefined;
  tools(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>, onprogress?: () => void): Promise<string>;
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
    return send(
      one.method === "initialize" ? { ...one, params: { ...one.params, protocolVersion: revision } } : one,
      options,
    );
  };
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" as const, content: { sure: true } }));
  const changed = gate();
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.open());
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    revision: (transport as { protocolVersion?: string }).protocolVersion,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, onprogress) =>
      textOf(
        await client.callTool({ name, arguments: args }, undefined, onprogress === undefined ? {} : { onprogress }),
      ),
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
    revision: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, onprogress) =>
      textOf(await client.callTool({ name, arguments: args }, onprogress === undefined ? {} : { onprogress })),
    changed: changed.opened,
  };
}

const BETWEEN = ["2025-03-26", "2025-06-18"];
const HANDSHAKE = ["2024-11-05", ...BETWEEN, "2025-11-25"];

const MATRIX = [
  ...HANDSHAKE.map((revision) => ["v1", "http", revision] as const),
  ...HANDSHAKE.map((revision) => ["v1", "sse", revision] as const),
  ...HANDSHAKE.map((revision) => ["v2", "http", revision] as const),
  ["v2", "http", "2026-07-28"] as const,
  ...HANDSHAKE.map((revision) => ["v2", "sse", revision] as const),
];

/** HTTP+SSE is one thing to all revisions that open a session: in a usual run the first and the last stand for them. */
const SPOKEN = MATRIX.filter(([, kind, revision]) => soaking || kind === "http" || !BETWEEN.includes(revision));
/** So it is how POSTs are answered, which is nothing to HTTP+SSE. */
const ANSWERED = SPOKEN.filter(([, kind, revision]) => soaking || (kind === "http" && !BETWEEN.includes(revision)));

describe.each([
  ["auto", SPOKEN],
  ["sse", ANSWERED],
] as const)("answers: %s", (answers, matrix) => {
  it.each(matrix)(
    "SDK %s over %s in %s lists, calls, hears progress, is asked and told of changes",
    async (sdk, kind, revision) => {
      const server = testServer();
      const heard = gate();
      // Both SDKs lose progress that comes in one packet with the answer: they settle the call before they look at it.
      server.tool("strides", {
        async run(_, ctx) {
          await ctx.progress(1, 2);
          await ctx.progress(2, 2);
          await heard.opened;
          return "done";
        },
      });
      const options: ServeHttpOptions = { answers, sse: true };
      const { url } = await start(server, options);
      const target = new URL(kind === "sse" ? url.replace("/mcp", "/sse") : url);
      const client = await (sdk === "v1" ? v1 : v2)(target, revision, kind === "sse");
      if (client.revision !== undefined) expect(client.revision).toBe(revision);
      expect(await client.tools()).toContain("echo");
      expect(await client.call("echo", { text: "hello" })).toBe("hello");
      let steps = 0;
      const step = (): void => {
        if (++steps === 2) heard.open();
      };
      expect(await client.call("strides", {}, step)).toBe("done");
      expect(steps).toBe(2);
      if (revision >= "2025-06-18") expect(await client.call("ask", {})).toBe("accept");
      if (revision !== "2026-07-28") {
        server.tool("new", { run: () => 1 });
        await client.changed;
      }
    },
  );
});

it("the first generation comes back by itself for what a tool went on with", async () => {
  const { url } = await start();
  const client = await v1(new URL(url), "2025-11-25", false);
  expect(await client.call("hang-up", {})).toBe("hung up: true");
});
