// The way out of a sandbox: what the proxy lets pass, and what it refuses without touching it.
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EgressProxy, serverNameOf } from "../../src/capabilities/egress-proxy.js";
import type { DecideEgress } from "../../src/capabilities/egress-target.js";
import { hasWall, runWalled } from "./walls.js";

const received: string[] = [];
const refusals: string[] = [];
let proxy: EgressProxy;
let port = 0;
let plainPort = 0;

/** Answers whatever it gets, so that it shows what got through. */
const raw = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.once("data", (bytes) => {
    received.push(bytes.toString("latin1"));
    socket.end("answered");
  });
});
const plain = createHttpServer((request, response) => {
  received.push(`${request.method} ${request.headers.host} ${request.url} ${request.headers["proxy-authorization"]}`);
  response.setHeader("connection", "close").end("plain answer");
});

/** As a policy: `allowed.test` and `127.0.0.1` at the ports of this test, and a name that leads to a private address. */
const decide: DecideEgress = ({ host, port: asked }, address) => {
  const known = asked === port || asked === plainPort;
  if (host === "rebound.test") return { allowed: known, rule: "rebound" };
  const allowed = known && (host === "allowed.test" || host === "127.0.0.1");
  return { allowed, rule: allowed ? "allowed" : "default deny", allowPrivate: address !== undefined };
};

async function ask(head: string, then?: Buffer): Promise<string> {
  const socket: Socket = connect(proxy.socket);
  let got = "";
  socket.setEncoding("latin1").on("data", (text: string) => (got += text));
  socket.on("error", () => undefined);
  socket.write(head);
  if (then !== undefined) {
    while (!got.includes("\r\n\r\n")) await once(socket, "data");
    socket.write(then);
  }
  await once(socket, "close");
  return got;
}

function tunnelTo(authority: string, then?: Buffer): Promise<string> {
  return ask(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, then);
}

/** The first bytes a TLS client sends for a name. */
async function helloFor(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const client = connectTls({
    port: typeof address === "object" && address !== null ? address.port : 0,
    host: "127.0.0.1",
    ...(servername === "" ? {} : { servername }),
  }).on("error", () => undefined);
  const [socket] = (await once(server, "connection")) as [Socket];
  const [bytes] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

beforeAll(async () => {
  await Promise.all([raw, plain].map((server) => once(server.listen(0, "127.0.0.1"), "listening")));
  port = (raw.address() as { port: number }).port;
  plainPort = (plain.address() as { port: number }).port;
  const resolve = async (): Promise<string[]> => ["127.0.0.1"];
  proxy = await EgressProxy.open({
    decide,
    resolve,
    refused: (endpoint, rule) => refusals.push(`${endpoint}: ${rule}`),
  });
});

afterAll(async () => {
  await proxy.close();
  raw.close();
  plain.close();
});

/** Where a ClientHello says how long its extensions are (RFC 8446, 4.1.2): which of them comes first is its maker's choice. */
function extensionsOf(hello: Buffer): number {
  // Headers of record and handshake, version and random; then three lists, each after its own length.
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  return at + 1 + hello.readUInt8(at);
}

describe("a tunnel", () => {
  test("carries TLS for the host it was asked for", async () => {
    const answer = await tunnelTo(`allowed.test:${port}`, await helloFor("allowed.test"));
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*answered$/);
    expect(serverNameOf(Buffer.from(received.pop() ?? "", "latin1"))).toBe("allowed.test");
  });

  test("of which the hello says that it has more than it has is read as none, its name too", async () => {
    const hello = await helloFor("allowed.test");
    const extensions = extensionsOf(hello);
    expect(serverNameOf(hello)).toBe("allowed.test");
    for (const more of [1, 500]) {
      const longer = Buffer.from(hello);
      longer.writeUInt16BE(hello.readUInt16BE(extensions) + more, extensions);
      expect(serverNameOf(longer)).toBeUndefined();
    }
  });

  test("of which the hello ends before its extensions is read as one without a name, and one that is cut as none", async () => {
    const hello = await helloFor("allowed.test");
    const end = extensionsOf(hello);
    const short = Buffer.from(hello.subarray(0, end));
    short.writeUInt16BE(end - 5, 3);
    expect(serverNameOf(short)).toBe("");
    for (let length = 0; length < end - 1; length += 7) expect(serverNameOf(hello.subarray(0, length))).toBeUndefined();
  });

  test("leads to the same host when the dot of the root ends its name", async () => {
    expect(await tunnelTo(`allowed.test.:${port}`, await helloFor("allowed.test"))).toContain("answered");
    received.length = 0;
  });

  test("carries TLS without a name to an address", async () => {
    expect(await tunnelTo(`127.0.0.1:${port}`, await helloFor(""))).toContain("answered");
    received.length = 0;
  });

  test.each([
    ["another server name", () => helloFor("other.test")],
    ["no server name", () => helloFor("")],
    ["no TLS", async () => Buffer.from("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n")],
  ])("with %s is closed before a byte of it gets out", async (_what, hello) => {
    expect(await tunnelTo(`allowed.test:${port}`, await hello())).toContain("another one than the host");
    expect(received).toEqual([]);
  });

  test.each([
    ["a host that is not allowed", () => `denied.test:${port}`, 403],
    ["port 25", () => "allowed.test:25", 403],
    ["a metadata address", () => "169.254.169.254:80", 403],
    ["an address in another spelling", () => `2130706433:${port + 1}`, 403],
    ["a name with NUL", () => `allowed.test%00.evil.test:${port}`, 502],
    ["a user name", () => `allowed.test@evil.test:${port}`, 502],
    ["two trailing dots", () => `allowed.test..:${port}`, 502],
    ["a path", () => `evil.test/allowed.test:${port}`, 403],
    ["nothing", () => "*", 502],
  ])("to %s is refused", async (_what, authority, status) => {
    expect(await tunnelTo(authority())).toContain(`HTTP/1.1 ${status} `);
    expect(received).toEqual([]);
  });

  test("to a name that leads to a private address nobody named is refused", async () => {
    const decideName: DecideEgress = () => ({ allowed: true, rule: "name" });
    const other = await EgressProxy.open({ decide: decideName, resolve: async () => ["127.0.0.1"] });
    const socket = connect(other.socket);
    socket.write(`CONNECT rebound.test:${port} HTTP/1.1\r\n\r\n`);
    const [bytes] = (await once(socket, "data")) as [Buffer];
    expect(bytes.toString()).toContain("HTTP/1.1 403 ");
    await other.close();
    expect(received).toEqual([]);
  });
});

describe("a plain request", () => {
  test("gets out with the host that was judged, and without what was meant for the proxy", async () => {
    const url = `http://allowed.test:${plainPort}/path?q=1`;
    const answer = await ask(
      `GET ${url} HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: x\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toContain("plain answer");
    expect(received.splice(0)).toEqual([`GET allowed.test:${plainPort} /path?q=1 undefined`]);
  });

  test.each([
    ["to another host", () => `http://denied.test:${plainPort}/`, 403],
    ["over https", () => `https://allowed.test:${port}/`, 502],
    ["in origin form", () => "/path", 502],
    ["by another scheme", () => "file:///etc/passwd", 502],
  ])("%s is refused", async (_what, url, status) => {
    expect(await ask(`GET ${url()} HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n`)).toContain(
      `HTTP/1.1 ${status} `,
    );
    expect(received).toEqual([]);
  });
});

test("every refusal of a rule is told", () => {
  expect(refusals).toContain(`denied.test:${port}: default deny`);
  expect(refusals).toContain("allowed.test:25: default deny");
});

describe.skipIf(!hasWall())("behind the wall", () => {
  test("a program finds the proxy in its environment, and nothing else", async () => {
    const script = `
      const http = require("node:http");
      const { hostname, port } = new URL(process.env.HTTP_PROXY);
      const agent = new http.Agent(); // asks whom it is told to, whatever a Node makes of the environment
      const ask = (path) => new Promise((resolve) => http.get({ hostname, port, path, agent }, (got) => {
        let text = ""; got.on("data", (more) => (text += more)).on("end", () => resolve(got.statusCode + " " + text.trim()));
      }).on("error", (error) => resolve(error.code)));
      (async () => console.log(JSON.stringify([
        await ask("http://allowed.test:${plainPort}/"),
        (await ask("http://denied.test:${plainPort}/")).slice(0, 3),
        await new Promise((resolve) => http.get("http://127.0.0.1:${plainPort}/", { agent }, () => resolve("reached")).on("error", (e) => resolve(e.code))),
      ])))();`;
    const reach = [{ path: process.execPath, access: "read" }] as const;
    // Newer Nodes say on stderr that looking for a proxy is an experiment.
    const args = ["--no-warnings", "-e", script];
    const ended = await runWalled({ executable: process.execPath, args, egress: proxy.socket, reach });
    expect(ended.stderr).toBe("");
    expect(JSON.parse(ended.stdout)).toEqual(["200 plain answer", "403", "ECONNREFUSED"]);
    received.length = 0;
  });

  // Such a Node asks for a tunnel for what is in the clear too, and through a tunnel nothing passes but TLS.
  const heedsProxy = process.allowedNodeEnvironmentFlags.has("--use-env-proxy");
  if (heedsProxy) console.log("skipped: fetch of a Node that knows no proxy; this one heeds the variables by itself");
  test.skipIf(heedsProxy)(
    "fetch of a Node that knows no proxy goes there, in the clear and through a tunnel, with what the program asked for",
    async () => {
      const script = `
      const ask = (url, more) => fetch(url, more).then(async (got) => got.status + " " + (await got.text()), (e) => e.message);
      (async () => console.log(JSON.stringify([
        await ask("http://allowed.test:${plainPort}/a?b=c", { method: "POST", body: "text", headers: { "x-own": "1" } }),
        (await ask("http://denied.test:${plainPort}/")).slice(0, 3),
        await ask("https://allowed.test:${port}/"),
        await ask("https://denied.test:${port}/"),
      ])))();`;
      const reach = [{ path: process.execPath, access: "read" }] as const;
      const args = ["--no-warnings", "-e", script];
      const env = { NODE_OPTIONS: "--max-old-space-size=512" };
      received.length = 0;
      const ended = await runWalled({ executable: process.execPath, args, env, egress: proxy.socket, reach });
      expect(ended.stderr).toBe("");
      expect(JSON.parse(ended.stdout)).toEqual(["200 plain answer", "403", "fetch failed", "fetch failed"]);
      expect(received[0]).toBe(`POST allowed.test:${plainPort} /a?b=c undefined`);
      // The first message of TLS, which names the host: what answers here speaks none.
      expect(received.slice(1).map((bytes) => [bytes.charCodeAt(0), bytes.includes("allowed.test")])).toEqual([
        [22, true],
      ]);
      received.length = 0;
    },
  );
});
