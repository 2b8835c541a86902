// Large request bodies share a bounded room: who finds none is told to come again, and nothing is read of the body.
import { type IncomingMessage, request as httpRequest } from "node:http";
import { expect, it, onTestFinished } from "vitest";
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
