// What is forged, replayed, reordered or meant for another process gets nothing done, and nothing is told in clear on the way.
import { randomBytes } from "node:crypto";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { NodeRelay } from "../../src/cluster/relay.js";
import type { HttpExchange } from "../../src/http/server/exchange.js";
import { KEY } from "./cluster-fixture.js";

interface Started {
  readonly relay: NodeRelay;
  readonly address: string;
  readonly served: string[];
  readonly strangers: unknown[];
}

async function start(
  node: string,
  options: { key?: Buffer; addresses?: Record<string, string> } = {},
): Promise<Started> {
  const served: string[] = [];
  const strangers: unknown[] = [];
  const relay = new NodeRelay({
    node,
    keys: [options.key ?? KEY],
    listen: new URL("tcp://127.0.0.1:0"),
    find: async (other) => options.addresses?.[other],
    holds: () => true,
    serve: (exchange) => {
      exchange.readBody(1_000, {
        body: (_, text) => {
          served.push(text);
          exchange.reply(200, ["content-type", "text/plain"], "done");
        },
        bodyFault: () => undefined,
      });
    },
    answer: async (text) => text,
    onStranger: (error) => strangers.push(error),
  });
  const address = await relay.open();
  onTestFinished(() => relay.close());
  return { relay, address, served, strangers };
}

/** A request as the endpoint has it, and what it was answered with. */
function request(): HttpExchange & { readonly replies: unknown[] } {
  const replies: unknown[] = [];
  const exchange = {
    ...{
      method: "POST",
      path: "/mcp",
      query: "",
      over: false,
      principal: "ada",
      identity: undefined,
      extra: undefined,
    },
    ...{ address: undefined, connection: undefined, allHeaders: {}, onGone: undefined, onOver: undefined, replies },
    header: () => undefined,
    readBody: () => undefined,
    reply: (status: number, _headers: unknown, body: unknown) => void replies.push([status, body]),
    open: () => {
      throw new Error("not here");
    },
  };
  return exchange;
}

/** Stands between two processes: `change` makes other bytes of what the caller sends; all of it is kept. */
async function between(
  address: string,
  change: (chunk: Buffer, n: number) => Buffer = (chunk) => chunk,
): Promise<{ address: string; sent: Buffer[]; received: Buffer[] }> {
  const sent: Buffer[] = [];
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(new URL(address).port), "127.0.0.1");
    for (const each of [socket, onward]) sockets.add(each.on("error", () => undefined));
    socket.on("data", (chunk: Buffer) => onward.write(change(chunk, sent.push(chunk))));
    onward.on("data", (chunk: Buffer) => {
      received.push(chunk);
      socket.write(chunk);
    });
    onward.on("close", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { address: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, sent, received };
}

/** Sends bytes as a stranger does, and waits until it is hung up on. */
function say(address: string, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(address).port), "127.0.0.1", () => socket.write(bytes));
    socket.on("error", () => undefined);
    socket.on("data", () => undefined);
    socket.on("close", () => resolve());
  });
}

const BODY = "SECRET body";

describe("the relay", () => {
  it("serves a request of a process that holds the key, once, and shows nothing of it on the way", async () => {
    const owner = await start("owner");
    const wire = await between(owner.address);
    const { relay } = await start("front", { addresses: { owner: wire.address } });
    const exchange = request();
    expect(await relay.forward("owner", { exchange, body: BODY, session: "s" })).toBe("taken");
    expect(exchange.replies).toEqual([[200, "done"]]);
    expect(owner.served).toEqual([BODY]);
    const seen = Buffer.concat([...wire.sent, ...wire.received]).toString("latin1");
    expect(seen).not.toContain("SECRET");
    expect(seen).not.toContain("ada");
  });

  it("does nothing for who holds another key, or none", async () => {
    const owner = await start("owner");
    const { relay } = await start("front", { key: randomBytes(32), addresses: { owner: owner.address } });
    expect(await relay.forward("owner", { exchange: request(), body: BODY, session: "s" })).toBe("unreachable");
    await say(owner.address, Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n".padEnd(200, "x")));
    await say(owner.address, Buffer.concat([Buffer.from("mcp-relay-1\n"), randomBytes(200)]));
    expect(owner.served).toEqual([]);
    await expect.poll(() => owner.strangers.length, { timeout: 30_000 }).toBe(3);
  });

  it("does nothing for bytes that were recorded", async () => {
    const owner = await start("owner");
    const wire = await between(owner.address);
    const { relay } = await start("front", { addresses: { owner: wire.address } });
    await relay.forward("owner", { exchange: request(), body: BODY, session: "s" });
    expect(owner.served).toEqual([BODY]);
    await say(owner.address, Buffer.concat(wire.sent));
    expect(owner.served).toEqual([BODY]);
  });

  it.each([
    ["changed", (frame: Buffer) => Buffer.from(frame.map((byte, at) => (at === 10 ? byte ^ 1 : byte)))],
    ["sent twice", (frame: Buffer) => Buffer.concat([frame, frame])],
    ["put behind another", (frame: Buffer) => Buffer.concat([frame.subarray(frame.length / 2), frame])],
  ])("ends a connection on which a frame was %s", async (what, change) => {
    const owner = await start("owner");
    // The first two pieces are the greeting.
    const wire = await between(owner.address, (chunk, n) => (n < 3 ? chunk : change(chunk)));
    const { relay } = await start("front", { addresses: { owner: wire.address } });
    const outcome = await relay.forward("owner", { exchange: request(), body: BODY, session: "s" });
    const twice = what === "sent twice";
    expect(["broken", "taken"]).toContain(outcome);
    expect(owner.served.length).toBeLessThanOrEqual(twice ? 1 : 0);
    await expect.poll(() => relay.reaches("owner"), { timeout: 30_000 }).toBe(false);
  });

  it("does nothing for a process that looks for another one", async () => {
    const owner = await start("owner");
    const { relay } = await start("front", { addresses: { other: owner.address } });
    expect(await relay.forward("other", { exchange: request(), body: BODY, session: undefined })).toBe("unreachable");
    expect(owner.served).toEqual([]);
  });

  it("accepts both keys while they are changed", async () => {
    const owner = await start("owner");
    const both = new NodeRelay({
      ...{ node: "front", keys: [KEY, randomBytes(32)], listen: new URL("tcp://127.0.0.1:0") },
      ...{ find: async () => owner.address, holds: () => false, serve: () => undefined, answer: async () => "" },
      onStranger: () => undefined,
    });
    await both.open();
    onTestFinished(() => both.close());
    expect(await both.forward("owner", { exchange: request(), body: BODY, session: undefined })).toBe("taken");
  });

  it("tells a request that was cut off from one that was not sent", async () => {
    const { relay } = await start("front", { addresses: { closed: "tcp://127.0.0.1:1" } });
    expect(await relay.forward("nobody", { exchange: request(), body: "", session: undefined })).toBe("gone");
    expect(await relay.forward("closed", { exchange: request(), body: "", session: undefined })).toBe("unreachable");
  });
});
