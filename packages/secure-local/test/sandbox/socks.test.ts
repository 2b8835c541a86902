// SOCKS 5 at the way out of a sandbox: the same decisions as over HTTP, and a handshake that no client can stretch or twist.
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { repeated } from "../../../mcp/test/support/soak.js";
import type { DecideEgress } from "../../src/capabilities/egress-target.js";
import { EgressProxy } from "../../src/capabilities/egress-proxy.js";
import { openSocksDoor, readGreeting, readRequest, SocksFault } from "../../src/capabilities/socks-door.js";
import { hasWall, runWalled } from "./walls.js";

const GREETING = [5, 1, 0];
const received: Buffer[] = [];
const refusals: string[] = [];
let proxy: EgressProxy;
let port = 0;
let closedPort = 0;

const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.once("data", (bytes) => {
    received.push(bytes);
    socket.end("answered");
  });
});

const decide: DecideEgress = ({ host, port: asked }, address) => {
  if (host === "rebound.test") return { allowed: true, rule: "rebound" };
  const allowed =
    (asked === port || asked === closedPort) && ["allowed.test", "127.0.0.1", "absent.test"].includes(host);
  return { allowed, rule: allowed ? "allowed" : "default deny", allowPrivate: address !== undefined };
};

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  port = (server.address() as { port: number }).port;
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  closedPort = (other.address() as { port: number }).port;
  other.close();
  proxy = await EgressProxy.open({
    decide,
    resolve: async (host) => {
      if (host === "absent.test") throw Object.assign(new Error("none"), { code: "ENOTFOUND" });
      return ["127.0.0.1"];
    },
    refused: (endpoint, rule) => refusals.push(`${endpoint}: ${rule}`),
  });
});
afterAll(async () => {
  await proxy.close();
  server.close();
});
beforeEach(() => (received.length = 0));

/** A request: `host` is a name, or the bytes of an address. */
function request(host: string | readonly number[], to = port, command = 1): Buffer {
  const address =
    typeof host === "string" ? [3, host.length, ...Buffer.from(host, "latin1")] : [...kindOf(host), ...host];
  return Buffer.from([5, command, 0, ...address, to >> 8, to & 255]);
}

function kindOf(host: readonly number[]): number[] {
  return [host.length === 4 ? 1 : 4];
}

/** Everything that comes back for what is sent, piece by piece; each piece waits for an answer to the one before when it is told to. */
async function ask(...pieces: readonly (Buffer | readonly number[])[]): Promise<Buffer> {
  const socket: Socket = connect(proxy.socket);
  const got: Buffer[] = [];
  socket.on("error", () => undefined).on("data", (bytes) => got.push(bytes));
  for (const [index, piece] of pieces.entries()) {
    const before = got.length;
    socket.write(Buffer.from(piece));
    while (index < pieces.length - 1 && got.length === before && !socket.destroyed) await once(socket, "data");
  }
  await Promise.race([once(socket, "close"), once(socket, "end")]);
  socket.destroy();
  return Buffer.concat(got);
}

/** The code of the reply. */
async function codeFor(asked: Buffer): Promise<number | undefined> {
  const answer = await ask(GREETING, asked);
  expect([...answer.subarray(0, 2)]).toEqual([5, 0]);
  return answer[3];
}

async function helloFor(servername: string): Promise<Buffer> {
  const one = createServer().listen(0, "127.0.0.1");
  await once(one, "listening");
  const client = connectTls({ port: (one.address() as { port: number }).port, host: "127.0.0.1", servername });
  client.on("error", () => undefined);
  const [socket] = (await once(one, "connection")) as [Socket];
  const [bytes] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  one.close();
  return bytes;
}

describe("a client of SOCKS 5", () => {
  test("gets a tunnel to a host that is allowed", async () => {
    const hello = await helloFor("allowed.test");
    const answer = await ask(GREETING, request("allowed.test"), hello);
    expect(answer.toString("latin1")).toBe(`\x05\x00\x05\x00\x00\x01${"\0".repeat(6)}answered`);
    expect(received[0]?.equals(hello)).toBe(true);
  });

  test.each([[[5]], [[5, 1]], [[5, 1, 0, 5, 1]]])(
    "that leaves with its last byte, after %j, holds nothing open",
    async (bytes) => {
      const socket = connect({ path: proxy.socket, allowHalfOpen: true });
      const ended = once(socket.resume(), "end");
      socket.end(Buffer.from(bytes));
      await ended;
      socket.destroy();
    },
  );

  test("whose end has come with its bytes is not waited for", async () => {
    const door = createHttpServer();
    openSocksDoor(door, () => undefined);
    const socket = new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() });
    socket.push(Buffer.from([5, 1]));
    socket.push(null);
    door.emit("connection", socket);
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    expect(socket.destroyed).toBe(true);
  });

  test("need not wait for answers", async () => {
    const hello = await helloFor("allowed.test");
    const answer = await ask(Buffer.concat([Buffer.from(GREETING), request("allowed.test"), hello]));
    expect(answer.toString("latin1")).toContain("answered");
  });

  test("may send byte by byte", async () => {
    const socket = connect(proxy.socket);
    const got: Buffer[] = [];
    socket.on("data", (bytes) => got.push(bytes));
    for (const byte of [...GREETING, ...request("allowed.test")]) {
      socket.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    while (Buffer.concat(got).length < 12) await once(socket, "data");
    expect(Buffer.concat(got)[3]).toBe(0);
    socket.destroy();
  });

  test("that is half told gets nothing, and nothing is dialled", async () => {
    const socket = connect(proxy.socket);
    socket.write(Buffer.from([...GREETING, 5, 1, 0, 3, 12]));
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect([...answer]).toEqual([5, 0]);
    socket.end();
    await once(socket, "close");
    expect(received).toEqual([]);
  });

  test("that names another server in its TLS is closed before a byte of it gets out", async () => {
    const answer = await ask(GREETING, request("allowed.test"), await helloFor("other.test"));
    expect(answer.toString("latin1")).not.toContain("answered");
    expect(received).toEqual([]);
    expect(refusals.at(-1)).toContain("a tunnel carries TLS for the host it was asked for");
  });

  test("that speaks no TLS is closed before a byte of it gets out", async () => {
    await ask(GREETING, request("allowed.test"), Buffer.from("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n"));
    expect(received).toEqual([]);
  });
});

const METADATA = [169, 254, 169, 254];
const MAPPED = [...new Array<number>(10).fill(0), 255, 255];

describe("is refused with the code of its kind:", () => {
  test.each<[string, number, () => Buffer]>([
    ["a host that is not allowed", 2, () => request("denied.test")],
    ["port 25", 2, () => request("allowed.test", 25)],
    ["port 0", 2, () => request("allowed.test", 0)],
    ["the metadata address", 2, () => request(METADATA, 80)],
    ["the metadata address mapped into IPv6", 2, () => request([...MAPPED, ...METADATA], 80)],
    ["loopback mapped into IPv6", 2, () => request([...MAPPED, 127, 0, 0, 1])],
    ["loopback of IPv6", 2, () => request([...new Array<number>(15).fill(0), 1])],
    ["a name that leads to a private address", 2, () => request("rebound.test")],
    ["a name with NUL", 2, () => request("allowed.test\0.evil.test")],
    ["a name with a port", 2, () => request("allowed.test:443")],
    ["a name with a slash", 2, () => request("evil.test/allowed.test")],
    ["a name with a user", 2, () => request("allowed.test@evil.test")],
    ["a name with a line break", 2, () => request("allowed.test\r\nx")],
    ["two trailing dots", 2, () => request("allowed.test..")],
    ["an empty name", 2, () => request("")],
    ["a number for a name", 2, () => request("2130706433", 9)],
    ["a name of 255 bytes", 2, () => request("a".repeat(255))],
    ["a name nobody knows", 4, () => request("absent.test")],
    ["a port where nobody listens", 5, () => request("allowed.test", closedPort)],
    ["BIND", 7, () => request("allowed.test", port, 2)],
    ["UDP ASSOCIATE", 7, () => request("allowed.test", port, 3)],
    ["an unknown command", 7, () => request("allowed.test", port, 0xf0)],
    ["an unknown kind of address", 8, () => Buffer.from([5, 1, 0, 2, 1, 2, 3, 4, 0, 80])],
    ["a reserved byte that is used", 1, () => Buffer.from([5, 1, 1, 1, 127, 0, 0, 1, 0, 80])],
  ])("%s", async (_what, code, asked) => {
    expect(await codeFor(asked())).toBe(code);
    expect(received).toEqual([]);
  });

  test("a client that offers only passwords", async () => {
    expect([...(await ask([5, 1, 2]))]).toEqual([5, 255]);
    expect([...(await ask([5, 0]))]).toEqual([5, 255]);
  });

  test.each([
    ["SOCKS 4", [4, 1, 0, 80, 127, 0, 0, 1, 0]],
    ["another version in the request", [...GREETING, 4, 1, 0, 1, 127, 0, 0, 1, 0, 80]],
  ])("%s", async (_what, bytes) => {
    expect((await ask(bytes)).length).toBeLessThanOrEqual(2);
    expect(received).toEqual([]);
  });

  test("and the policy's refusals are told", () => {
    expect(refusals).toContain("denied.test:" + port + ": default deny");
    expect(refusals).toContain("169.254.169.254:80: default deny");
  });
});

test("a message is read the same at whatever place it is cut", () => {
  const whole = Buffer.concat([request("allowed.test", 443), Buffer.from("rest")]);
  const size = whole.length - 4;
  for (let cut = 0; cut < size; cut += 1) expect(readRequest(whole.subarray(0, cut))).toBeUndefined();
  expect(readRequest(whole)).toEqual({ value: "allowed.test:443", size });
  expect(readGreeting(Buffer.from([5]))).toBeUndefined();
  expect(readGreeting(Buffer.from([5, 2, 1]))).toBeUndefined();
  expect(readGreeting(Buffer.from([5, 2, 1, 0, 9]))).toEqual({ value: true, size: 4 });
});

const TURNS = repeated(1_000, 5_000);

test("no bytes make the reader fail otherwise than by a fault", () => {
  let seed = 7;
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647) & 255;
  for (let turn = 0; turn < TURNS; turn += 1) {
    const bytes = Buffer.from([5, turn % 3, 0, ...Array.from({ length: turn % 40 }, next)]);
    for (const read of [readGreeting, readRequest]) {
      try {
        read(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(SocksFault);
      }
    }
  }
});

describe.skipIf(!hasWall())("behind the wall", () => {
  test("the variables of the environment lead to it", async () => {
    const script = `
      const { hostname, port, protocol } = new URL(process.env.SOCKS_PROXY);
      const ask = (bytes) => new Promise((resolve) => {
        const socket = require("node:net").connect(port, hostname, () => socket.write(Buffer.from([5, 1, 0, ...bytes])));
        let got = []; socket.on("data", (more) => { got.push(...more); if (got.length >= 12) { socket.destroy(); resolve(got[3]); } });
      });
      const name = [..."allowed.test"].map((one) => one.charCodeAt(0));
      (async () => console.log(protocol, new URL(process.env.ALL_PROXY).port === port,
        await ask([5, 1, 0, 3, 12, ...name, ${port >> 8}, ${port & 255}]),
        await ask([5, 1, 0, 1, 169, 254, 169, 254, 0, 80])))();`;
    const reach = [{ path: process.execPath, access: "read" }] as const;
    const args = ["--no-warnings", "-e", script];
    const ended = await runWalled({ executable: process.execPath, args, egress: proxy.socket, reach });
    expect(ended).toEqual({ code: 0, stdout: "socks5h: true 0 2\n", stderr: "" });
  });

  test("Node from 24 on is told that its own fetch goes there too, past which nothing goes", async () => {
    const names = ["NODE_USE_ENV_PROXY", "NO_PROXY", "no_proxy"];
    const script = `console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name])))`;
    const reach = [{ path: process.execPath, access: "read" }] as const;
    const args = ["--no-warnings", "-e", script];
    const ended = await runWalled({ executable: process.execPath, args, egress: proxy.socket, reach });
    expect(ended).toEqual({ code: 0, stdout: '["1","",""]\n', stderr: "" });
  });
});
