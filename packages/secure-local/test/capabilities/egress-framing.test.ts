// Requests through the way out of a sandbox: whatever is sent as a body, the server outside reads one request and no second.
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EgressProxy } from "../../src/capabilities/egress-proxy.js";

const SECOND = "GET /admin HTTP/1.1\r\nHost: other.internal\r\n\r\n";
const CHUNKED = `${SECOND.length.toString(16)}\r\n${SECOND}\r\n0\r\n\r\n`;
let proxy: EgressProxy;
let port = 0;
let received = "";
let closed = 0;
let reply = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
    if (!isWhole(received)) return;
    socket.write(reply);
    socket.once("close", () => (closed += 1));
    if (!reply.startsWith("HTTP/1.1 101")) socket.end();
  });
});

/** As a server reads it: a head, and as much as the head says. */
function isWhole(text: string): boolean {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  if (rest.length === 0) return false;
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  if (/^transfer-encoding:.*chunked/im.test(head)) return text.endsWith("0\r\n\r\n");
  return text.length >= head.length + 4 + length;
}

/** What follows the one request that a server has read. */
function beyond(text: string): string {
  const at = text.indexOf("\r\n\r\n") + 4;
  const head = text.slice(0, at);
  if (/^transfer-encoding:.*chunked/im.test(head)) return text.slice(text.indexOf("0\r\n\r\n", at) + 5);
  return text.slice(at + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0));
}

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  port = (server.address() as AddressInfo).port;
  proxy = await EgressProxy.open({ decide: () => ({ allowed: true, rule: "test", allowPrivate: true }) });
});
afterAll(async () => {
  await proxy.close();
  server.close();
});

async function sent(method: string, headers: string, body: string): Promise<string> {
  received = "";
  const socket = connect(proxy.socket).setEncoding("latin1");
  socket.on("error", () => undefined);
  let answer = "";
  socket.on("data", (text: string) => {
    answer += text;
    if (/^HTTP\/1\.1 \d+ .*\r\n\r\n.+/s.test(answer)) socket.end();
  });
  socket.write(`${method} http://127.0.0.1:${port}/x HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`);
  await once(socket, "close");
  return answer;
}

describe("a request that leaves", () => {
  const framings: Record<string, [headers: string, body: string]> = {
    "in chunks": ["Transfer-Encoding: chunked\r\n", CHUNKED],
    "in chunks that Connection names": ["Transfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n", CHUNKED],
    "of a length": [`Content-Length: ${SECOND.length}\r\n`, SECOND],
    "of a length that Connection names": [
      `Content-Length: ${SECOND.length}\r\nConnection: close, Content-Length\r\n`,
      SECOND,
    ],
    "of no length": ["", ""],
  };
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "QUERY", "PROPFIND"])
    for (const [what, [headers, body]] of Object.entries(framings))
      it(`by ${method} with a body ${what} is one request`, async () => {
        const answer = await sent(method, headers, body);
        const refused = /^HTTP\/1\.1 (?:4|5)\d\d/.test(answer);
        expect(refused || received.length > 0).toBe(true);
        expect(refused ? received : beyond(received)).toBe("");
        const bodiless = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"].includes(method);
        expect(refused).toBe((bodiless && headers.includes("Transfer")) || answer.startsWith("HTTP/1.1 400"));
        if (!refused && body !== "") expect(received).toContain(SECOND);
      });
});

describe("an answer that changes the protocol", () => {
  it.each(["websocket", "h2c"])(
    "to %s, which nobody asked for, is refused, and both connections end",
    async (protocol) => {
      const before = { reply, closed };
      reply = `HTTP/1.1 101 Switching Protocols\r\nupgrade: ${protocol}\r\nconnection: upgrade\r\n\r\nEVIL`;
      const answer = await sent("GET", `Upgrade: ${protocol}\r\nConnection: upgrade\r\n`, "");
      expect(answer).toMatch(/^HTTP\/1\.1 502 .*HTTP 101.*CONNECT/s);
      expect(answer).not.toContain("EVIL");
      await expect.poll(() => closed).toBe(before.closed + 1);
      expect(received).not.toMatch(/^upgrade:/im);
      reply = before.reply;
    },
  );
});
