// Servers that behave badly, beside one that does not: each call ends in time with what it is worth or an error that names
// the fault, and the other server never notices.
import { createServer, type ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { connect, type NodeConnectOptions } from "../../src/serve/connect-node.js";
import { withClient } from "./cells.js";
import { ANSWERING, texts } from "./features.js";
import { listening } from "./servers/listening.mjs";
import { newServer } from "./servers/ours.mjs";

const FINE = { content: [{ type: "text", text: "fine" }] };
const SCHEMA = { type: "object" };

/** What a bad server does with each request but the handshake. */
interface Bad {
  call?(id: number, response: ServerResponse): void;
  tools?: readonly object[];
}

let bad: Bad = {};
let url: string;
let close: () => Promise<void>;
let witness: Client;

beforeAll(async () => {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += String(chunk)));
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(405).end();
      const { id, method } = JSON.parse(body) as { id?: number; method: string };
      if (id === undefined) return response.writeHead(202).end();
      if (method === "initialize") {
        return json(response, { id, result: { protocolVersion: "2025-11-25", ...FACTS } });
      }
      if (method === "tools/list") return json(response, { id, result: { tools: bad.tools ?? [] } });
      if (method === "tools/call") return bad.call?.(id, response);
      return json(response, { id, error: { code: -32601, message: "no" } });
    });
  });
  const opened = await listening(server);
  url = `${opened.origin}/mcp`;
  close = opened.close;
});
afterAll(() => close());

beforeEach(async () => {
  witness = await connect(newServer(), ANSWERING);
});
// Whatever happened, the other server is served as before.
afterEach(async () => {
  expect(texts(await witness.call("echo", { text: "untouched" }))).toBe("untouched");
  expect(witness.ignoredMessages).toBe(0);
  await witness.close();
});

const FACTS = { capabilities: { tools: {} }, serverInfo: { name: "bad", version: "1.0.0" } };

function json(response: ServerResponse, message: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

function events(response: ServerResponse, ...messages: object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const message of messages) response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
}

function raw(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(text);
}

/** What a call comes to: its text, or the code of its error and what that says. */
async function called(how: Bad, options: NodeConnectOptions = {}): Promise<string> {
  bad = how;
  const client = await connect(url, { verdicts: false, timeoutMs: 10_000, ...options });
  return withClient(client, async () => {
    if (how.tools !== undefined) await client.tools().all();
    return client.call("x").then(texts, (error: Error & { code: string }) => `${error.code}: ${error.message}`);
  });
}

const DEEP = `${"[".repeat(1e6)}${"]".repeat(1e6)}`;

describe("a call over HTTP to a server that", () => {
  it.each<[string, NonNullable<Bad["call"]>, RegExp]>([
    [
      "answers twice",
      (id, response) => {
        events(response, { id, result: FINE }, { id, result: { content: [] } });
        response.end();
      },
      /^fine$/,
    ],
    [
      "answers for others first",
      (id, response) => {
        events(response, { id: id + 7, result: {} }, { id: "nobody", result: {} }, { id, result: FINE });
        response.end();
      },
      /^fine$/,
    ],
    ["answers for others only", (id, response) => json(response, { id: id + 7, result: FINE }), /^INVALID_RESPONSE: /],
    [
      "answers as a tree a million deep",
      (id, response) => raw(response, `{"jsonrpc":"2.0","id":${id},"result":{"a":${DEEP}}}`),
      /^INVALID_RESPONSE: .*nested deeper/,
    ],
    [
      "answers with content that is none",
      (id, response) => json(response, { id, result: { content: "fine" } }),
      /^INVALID_RESPONSE: .*content/,
    ],
    ["answers without a result", (id, response) => json(response, { id }), /^INVALID_RESPONSE: /],
    [
      "answers with a page",
      (_id, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
      /^INVALID_RESPONSE: .*MCP endpoint/,
    ],
    ["answers half", (id, response) => raw(response, `{"jsonrpc":"2.0","id":${id},"resu`), /^INVALID_RESPONSE: /],
    [
      "hangs up within its answer",
      (id, response) => {
        events(response);
        response.write(`data: {"jsonrpc":"2.0","id":${id}`, () => response.destroy());
      },
      /^OUTCOME_UNKNOWN: .*may have been served/,
    ],
    [
      "sends on to an address of the inner network",
      (_id, response) => response.writeHead(307, { location: "http://169.254.169.254/latest/meta-data" }).end(),
      /^REDIRECTED: .*169\.254\.169\.254.*not followed/,
    ],
    ["fails", (_id, response) => response.writeHead(500).end("oh"), /^HTTP_STATUS: .*500/],
    ["wants authorization all of a sudden", (_id, response) => response.writeHead(401).end(), /^UNAUTHORIZED: /],
    [
      "sends answers without end",
      (_id, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const chunk = "x".repeat(65_536);
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once("drain", more);
        };
        more();
      },
      /^LIMIT: .*more than \d+ bytes/,
    ],
  ])("%s", async (_what, call, outcome) => {
    expect(await called({ call })).toMatch(outcome);
  });

  it("never answers", async () => {
    expect(await called({ call: () => undefined }, { timeoutMs: 100 })).toMatch(/^TIMEOUT: .*100 ms/);
  });

  it("sends progress for ever", async () => {
    const call = (id: number, response: ServerResponse): void => {
      events(response);
      const timer = setInterval(() => {
        const params = { progressToken: id, progress: 1 };
        response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`);
      }, 5);
      response.on("close", () => clearInterval(timer));
    };
    expect(await called({ call }, { timeoutMs: 100, maxTimeoutMs: 200 })).toMatch(/^TIMEOUT: /);
  });
});

describe("a list over HTTP", () => {
  const answer = (id: number, response: ServerResponse): void => json(response, { id, result: FINE });

  it("keeps out tools that are none, and says which", async () => {
    const warnings: string[] = [];
    bad = {
      tools: [{ name: "", inputSchema: SCHEMA }, { name: "x" }, { name: "y", inputSchema: SCHEMA }],
      call: answer,
    };
    await withClient(
      await connect(url, { verdicts: false, onWarning: (text) => warnings.push(text) }),
      async (client) => {
        expect((await client.tools().all()).map(({ name }) => name)).toEqual(["y"]);
      },
    );
    expect(warnings.join()).toMatch(/no name.*no inputSchema/s);
  });

  it.each([
    ["of no use", { type: "no-such-type" }, /^INVALID_OUTPUT: .*outputSchema is of no use/],
    ["that leads to another server", { $ref: "http://169.254.169.254/schema" }, /^INVALID_OUTPUT: /],
    ["it does not keep", { type: "object", required: ["sum"] }, /^INVALID_OUTPUT: .*sum/],
  ])("of tools with an output schema %s", async (_what, outputSchema, outcome) => {
    const call = (id: number, response: ServerResponse): void =>
      json(response, { id, result: { ...FINE, structuredContent: {} } });
    expect(await called({ tools: [{ name: "x", inputSchema: SCHEMA, outputSchema }], call })).toMatch(outcome);
  });
});
