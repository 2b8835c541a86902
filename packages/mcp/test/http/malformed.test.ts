// Malformed HTTP: one refusal, then the connection ends, and nothing reaches a handler.
import { describe, expect, it } from "vitest";
import { Server } from "../../src/server/server.js";
import { modern, raw, start, startOnce, statuses } from "./http-fixture.js";

const BODY = JSON.stringify(modern("tools/call", { name: "count" }));
const LENGTH = `Content-Length: ${BODY.length}`;
const COMMON = `Content-Type: application/json\r\nAccept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: count`;
const SMUGGLED = `GET /smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n`;

const CASES: [string, string][] = [
  ["no version", `POST /mcp\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["HTTP/0.9", "GET /mcp\r\n\r\n"],
  ["HTTP/2.0 by name", `POST /mcp HTTP/2.0\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["HTTP/1.9", `POST /mcp HTTP/1.9\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["lower-case protocol", `POST /mcp http/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["an unknown method", `P0ST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["no Host", `POST /mcp HTTP/1.1\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["an empty Host", `POST /mcp HTTP/1.1\r\nHost:\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["two Hosts", `POST /mcp HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["two equal Hosts", `POST /mcp HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["absolute form", `POST http://HOST/mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  [
    "absolute form of another host",
    `POST http://evil.example/mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`,
  ],
  ["asterisk form", `OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n`],
  ["a target without a slash", `POST mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["a space in the target", `POST /m cp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["a bare line feed in the headers", `POST /mcp HTTP/1.1\nHost: HOST\n${COMMON}\n${LENGTH}\n\n${BODY}`],
  ["a bare carriage return", `POST /mcp HTTP/1.1\r\nHost: HOST\rX: y\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["a space before the colon", `POST /mcp HTTP/1.1\r\nHost : HOST\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["a header without a colon", `POST /mcp HTTP/1.1\r\nHost: HOST\r\nbroken\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["a header without a name", `POST /mcp HTTP/1.1\r\nHost: HOST\r\n: x\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  [
    "a folded header",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\nX: a\r\n b\r\nHost: evil.example\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`,
  ],
  ["a NUL in a value", `POST /mcp HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  ["a NUL in a name", `POST /mcp HTTP/1.1\r\nHost: HOST\r\nX\0: a\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`],
  [
    "two different lengths",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\nContent-Length: 5\r\n\r\n${BODY}`,
  ],
  ["two lengths in one header", `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}, 5\r\n\r\n${BODY}`],
  ["a negative length", `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nContent-Length: -5\r\n\r\n${BODY}`],
  ["a signed length", `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nContent-Length: +5\r\n\r\n${BODY}`],
  ["a hexadecimal length", `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nContent-Length: 0x5\r\n\r\n${BODY}`],
  [
    "an overflowing length",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nContent-Length: 99999999999999999999\r\n\r\n${BODY}`,
  ],
  [
    "a length with a space in it",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nContent-Length: 1 0\r\n\r\n${BODY}`,
  ],
  [
    "length and chunks",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\n${LENGTH}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  [
    "chunks and length",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nTransfer-Encoding: chunked\r\n${LENGTH}\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  [
    "chunked that is not last",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  [
    "an encoding nobody knows",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  ],
  [
    "a chunk size that is no number",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n${BODY}\r\n0\r\n\r\n`,
  ],
  [
    "a negative chunk size",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n${BODY}\r\n0\r\n\r\n`,
  ],
  [
    "a chunk longer than its size",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n${BODY}\r\n0\r\n\r\n`,
  ],
  [
    "an overflowing chunk size",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${COMMON}\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`,
  ],
  [
    "headers without end",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\nX: ${"x".repeat(20_000)}\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`,
  ],
  [
    "too many headers",
    `POST /mcp HTTP/1.1\r\nHost: HOST\r\n${"X: y\r\n".repeat(120)}${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`,
  ],
  ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ["noise", "\x00\x01\x02\x03\r\n\r\n"],
];

describe("malformed HTTP", () => {
  const server = new Server({ name: "t", version: "1" });
  let calls = 0;
  server.tool("count", { run: () => ++calls });
  const served = startOnce(server);

  it.each(CASES)("%s", async (_, bytes) => {
    calls = 0;
    const { url } = served;
    const { text, ended } = await raw(url, Buffer.from(bytes.replaceAll("HOST", new URL(url).host), "latin1"));
    const replies = statuses(text);
    expect(replies.length).toBeLessThanOrEqual(1);
    for (const status of replies) expect([400, 403, 413, 431, 501, 505]).toContain(status);
    expect(ended).toBe(true);
    expect(calls).toBe(0);
  });

  it("well-formed requests of the same kind are served", async () => {
    const { url } = served;
    const one = `POST /mcp HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${COMMON}\r\n${LENGTH}\r\n\r\n${BODY}`;
    const chunked = `POST /mcp HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${COMMON}\r\nTransfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
    const { text } = await raw(url, one + chunked + one, { enough: (got) => statuses(got).length === 3 });
    expect(statuses(text)).toEqual([200, 200, 200]);
  });
});

it("slow headers and slow bodies are cut off with 408", async () => {
  const { url } = await start(undefined, { limits: { headersMs: 50, requestMs: 100 } });
  const { host } = new URL(url);
  const [headers, body] = await Promise.all([
    raw(url, `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n`),
    raw(url, `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${COMMON}\r\n${LENGTH}\r\n\r\n{`),
  ]);
  expect([headers.ended, body.ended]).toEqual([true, true]);
  expect(headers.text).toMatch(/^HTTP\/1\.1 408 /);
  expect(body.text).toMatch(/^HTTP\/1\.1 408 /);
});
