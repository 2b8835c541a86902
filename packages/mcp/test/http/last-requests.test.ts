// What arrives in the moment in which a process ends: whoever was let in is answered, and told whether its request was served.
import { once } from "node:events";
import { connect as dial, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { JSON_TYPES, modern, modernHeaders, start } from "./http-fixture.js";

const LIST = modern("tools/list");
const BODY = JSON.stringify(LIST);

function dialled(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = dial(Number(port), hostname);
  // Whoever is reset has no answer: that is what the tests look at.
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

function headOf(url: string): string {
  const headers = { ...JSON_TYPES, ...modernHeaders(LIST), host: new URL(url).host, "content-length": BODY.length };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n`;
}

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += String(chunk)));
  await once(socket, "close");
  return text;
}

function refused(url: string): Promise<boolean> {
  return once(dialled(url), "connect").then(
    () => false,
    () => true,
  );
}

it("is answered on connections that were made but not let in yet", async () => {
  const { url, close } = await start();
  const sockets = Array.from({ length: 20 }, () => dialled(url));
  const texts = sockets.map(textOf);
  const closed = close();
  for (const socket of sockets) socket.write(headOf(url) + BODY);
  for (const text of await Promise.all(texts)) expect(text).toMatch(/^HTTP\/1.1 503 [^]*has not served this: send it/);
  await closed;
});

it("is answered on a connection on which nothing has come yet, as the last of it", async () => {
  const { url, close, stats } = await start();
  const socket = dialled(url);
  const text = textOf(socket);
  await expect.poll(() => stats().connections).toBe(1);
  const closed = close();
  await expect.poll(() => refused(url)).toBe(true);
  socket.write(headOf(url) + BODY);
  expect(await text).toMatch(/^HTTP\/1.1 503 [^]*connection: close/i);
  await closed;
});

it("is told that it was not served where half of it has come", async () => {
  const { url, close, stats } = await start();
  const socket = dialled(url);
  const text = textOf(socket);
  const half = headOf(url) + BODY.slice(0, 10);
  socket.write(half);
  await expect.poll(() => stats().bytesIn).toBe(half.length);
  await close();
  expect(await text).toMatch(/^HTTP\/1.1 503 [^]*was not served: send it again/);
});
