// Large request bodies share a bounded room: who finds none is told to come again, and nothing is read of the body.
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { Server } from "../../src/server/server.js";
import { gate, JSON_TYPES, modern, modernHeaders, postModern, start } from "./http-fixture.js";

const LARGE = "x".repeat(80_000);

/** Begins a POST and resolves with its reply, though the body is never finished. */
function begun(url: string, headers: Record<string, string>, bytes: string): Promise<IncomingMessage> {
  const request = httpRequest(url, { method: "POST", headers: { ...JSON_TYPES, ...headers }, agent: false });
  onTestFinished(() => void request.destroy());
  return new Promise((resolve, reject) => {
    request.on("response", resolve).on("error", reject);
    if (bytes === "") request.flushHeaders();
    else request.write(bytes);
  });
}

it("a body for which there is no room is refused for now, and served once there is", async () => {
  const server = new Server({ name: "t", version: "1" });
  const running = gate();
  const go = gate();
  server.tool("hold", {
    input: { type: "object", properties: { text: { type: "string" } } },
    async run() {
      running.open();
      await go.opened;
      return "held";
    },
  });
  const { url } = await start(server, { limits: { bodyBytes: 100_000 } });
  const large = modern("tools/call", { name: "hold", arguments: { text: LARGE } });
  const small = modern("tools/call", { name: "nothing" });
  const first = postModern(url, large);
  await running.opened;
  const second = await begun(url, { ...modernHeaders(large), "content-length": "80000" }, "");
  expect(second.statusCode).toBe(503);
  expect(second.headers).toMatchObject({ "retry-after": "1", connection: "close" });
  const unannounced = await begun(url, modernHeaders(large), LARGE);
  expect(unannounced.statusCode).toBe(503);
  expect((await postModern(url, small)).status).toBe(200);
  go.open();
  expect((await first).text).toContain("held");
  await expect.poll(async () => (await postModern(url, large)).status).toBe(200);
});

it("a client that goes away gives its room back", async () => {
  const { url } = await start(undefined, { limits: { bodyBytes: 100_000 } });
  const headers = { ...JSON_TYPES, "content-length": "80000" };
  const leaving = httpRequest(url, { method: "POST", headers, agent: false }).on("error", () => undefined);
  leaving.flushHeaders();
  const large = modern("tools/call", { name: "echo", arguments: { text: LARGE } });
  leaving.on("socket", (socket) => socket.on("connect", () => leaving.destroy()));
  await expect.poll(async () => (await postModern(url, large)).status).toBe(200);
});

/** The status of a POST whose sender sends all of it before it looks at the reply. */
function posted(url: string, body: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: "POST", headers: JSON_TYPES, agent: false });
    request.on("response", (reply: IncomingMessage) => resolve(reply.resume().statusCode)).on("error", reject);
    request.end(body);
  });
}

it("a refused sender gets its reply though it was still sending", async () => {
  const { url } = await start();
  const body = Buffer.alloc(5 * 1024 * 1024, "x");
  const statuses = await Promise.all(Array.from({ length: 8 }, () => posted(url, body)));
  expect(new Set(statuses)).toEqual(new Set([413]));
});

/** A connection that has had its refusal, and has sent no more than the head of a long request. */
async function refused(url: string): Promise<Socket> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }).on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n`,
  );
  const [reply] = (await once(socket, "data")) as [Buffer];
  expect(String(reply)).toMatch(
    /^HTTP\/1.1 413 [\s\S]*connection: close[\s\S]*Message refused: it is longer than 4194304 bytes$/i,
  );
  return socket;
}

it.each([
  ["announced", { "content-length": "5000" }],
  ["not announced", {}],
])("a body that is too long, and that is %s, is refused with the limit", async (_how, head) => {
  const { url } = await start(new Server({ name: "t", version: "1", limits: { messageBytes: 4_000 } }));
  const reply = await begun(url, { ...JSON_TYPES, ...head }, "x".repeat(5_000));
  expect(reply.statusCode).toBe(413);
  let text = "";
  for await (const chunk of reply.setEncoding("utf8")) text += chunk as string;
  expect(text).toBe("Message refused: it is longer than 4000 bytes");
});

it("a refused sender that neither ends nor stops is cut after a second, or when it has sent too much", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { url } = await start();
  const idle = await refused(url);
  const ended = once(idle, "end");
  vi.advanceTimersByTime(1_000);
  await ended;
  const busy = await refused(url);
  const piece = Buffer.alloc(1024 * 1024);
  const more = (error?: Error | null): boolean => !(error instanceof Error) && busy.write(piece, more);
  more();
  await new Promise((resolve) => busy.once("close", resolve)); // with or without an error
  expect(busy.bytesWritten).toBeGreaterThan(8 * 1024 * 1024);
  expect(busy.bytesWritten).toBeLessThan(64 * 1024 * 1024);
});
