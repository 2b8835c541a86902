// The requester of node:http: sockets and TLS, proxies, connections kept and lost, and what surely never left.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { nodeRequester, type NodeRequesterOptions } from "../../src/node/http-requester.js";
import { fetchRequester } from "../../src/http/client/fetch-requester.js";
import type { HttpReply, HttpRequest, HttpRequester } from "../../src/http/client/http-caller.js";
import { start, testServer } from "../http/http-fixture.js";
import { selfMadeCertificate } from "../support/self-made-certificate.js";
import { byHand, linkTo } from "./transport-fixture.js";
import { refusingPort } from "../support/refusing-port.js";
import { rawServer } from "./raw-server.js";

function made(options: NodeRequesterOptions = {}): HttpRequester {
  const requester = nodeRequester(options);
  onTestFinished(() => requester.close());
  return requester;
}

function get(requester: HttpRequester, url: string, more: Partial<HttpRequest> = {}): Promise<HttpReply> {
  return requester.request({ method: "GET", url, headers: {}, ...more });
}

const pair = selfMadeCertificate();

describe("where it reaches", () => {
  it.each(["http+unix", "unix"])("a server on a socket file, by a %s: URL", async (scheme) => {
    const folder = mkdtempSync(join(tmpdir(), "mcp-http-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const socketPath = join(folder, "s.sock");
    const serving = await start(testServer(), { socketPath });
    const { ask, handshake, link } = await linkTo(scheme === "unix" ? `unix://${socketPath}#/mcp` : serving.url);
    await handshake();
    expect(JSON.stringify((await ask("tools/call", { name: "who" })).message)).toContain("nobody");
    expect(link.describe?.()).toContain(scheme === "unix" ? `${socketPath}#/mcp` : "/mcp");
    await serving.close();
    expect((await ask("tools/list")).error).toMatchObject({ code: "UNREACHABLE" });
  });

  it.skipIf(pair === undefined)("a TLS server whose certificate it is given, and no other", async () => {
    const { url } = await start(testServer(), { tls: pair ?? {} });
    const { ask } = await linkTo(url, { node: { ca: pair?.cert } });
    expect((await ask("ping")).message).toBeDefined();
    const stranger = await (await linkTo(url)).ask("tools/call");
    expect(stranger.error).toMatchObject({ code: "UNREACHABLE" });
    expect(stranger.error?.message).toContain("certificate is not trusted");
    await expect(get(fetchRequester(), url)).rejects.toMatchObject({ code: "UNREACHABLE" });
  });

  it("nothing that does not answer in time", async () => {
    // TLS waits for a greeting that never comes.
    const { url } = await rawServer(() => undefined);
    const slow = made({ connectMs: 30 });
    await expect(get(slow, url.replace("http:", "https:"))).rejects.toMatchObject({ code: "UNREACHABLE" });
  });

  it("no other scheme", async () => {
    await expect(get(made(), "ftp://host/")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await expect(get(made(), "unix://relative#/")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await expect(get(fetchRequester(), "unix:///s.sock")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await expect(get(made(), "http://127.0.0.1:1/", { headers: { x: "a\nb" } })).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
    });
  });
});

interface ProxySeen {
  readonly method: string | undefined;
  readonly target: string | undefined;
  readonly authorization: string | undefined;
}

/** A proxy that tunnels and answers absolute URLs itself; `status` other than 200 refuses tunnels. */
async function proxyServer(status = 200): Promise<{ readonly url: string; readonly seen: ProxySeen[] }> {
  const seen: ProxySeen[] = [];
  const note = ({ method, url: target, headers }: IncomingMessage): void =>
    void seen.push({ method, target, authorization: headers["proxy-authorization"] });
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    note(request);
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
    });
  });
  server.on("connection", (socket) => sockets.add(socket));
  server.on("connect", (request, client: Socket) => {
    note(request);
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const target = connect(Number(request.url?.split(":").at(-1)), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(client).pipe(target);
    });
    sockets.add(target);
    target.on("error", () => client.destroy());
    client.on("error", () => target.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  return { url: `http://us%20er:pa%3Ass@127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const authorization = `Basic ${Buffer.from("us er:pa:ss").toString("base64")}`;

describe("through a proxy", () => {
  it("sends plain HTTP as absolute URLs", async () => {
    const proxy = await proxyServer();
    const { ask } = await linkTo("http://server.invalid/mcp?a=1", { node: { proxy: proxy.url } });
    expect((await ask("ping")).message).toBeDefined();
    expect(proxy.seen).toEqual([{ method: "POST", target: "http://server.invalid/mcp?a=1", authorization }]);
  });

  it.skipIf(pair === undefined)("speaks TLS with the server itself, in one tunnel for many requests", async () => {
    const { url } = await start(testServer(), { tls: pair ?? {} });
    const proxy = await proxyServer();
    const { ask } = await linkTo(url, { node: { proxy: proxy.url, ca: pair?.cert } });
    expect((await ask("ping")).message).toBeDefined();
    expect((await ask("ping")).message).toBeDefined();
    expect(proxy.seen).toEqual([{ method: "CONNECT", target: new URL(url).host, authorization }]);
  });

  it.each([403, 407, 502])("says that the proxy refused with %i", async (status) => {
    const proxy = await proxyServer(status);
    const { error } = await (await linkTo("https://server.invalid/", { node: { proxy: proxy.url } })).ask("tools/call");
    expect(error).toMatchObject({ code: "UNREACHABLE" });
    expect(error?.message).toContain(`HTTP ${status}`);
    expect(error?.message).not.toContain("pa:ss");
    expect(error?.message).not.toContain("us%20er");
  });

  it("says that the proxy is not there, and takes none that makes no sense", async () => {
    const requester = made({ proxy: `http://127.0.0.1:${await refusingPort()}` });
    await expect(get(requester, "https://server.invalid/")).rejects.toMatchObject({ code: "UNREACHABLE" });
    await expect(get(requester, "http://server.invalid/")).rejects.toMatchObject({ code: "UNREACHABLE" });
    expect(() => nodeRequester({ proxy: "socks5://host" })).toThrow("http: or https:");
    expect(() => nodeRequester({ proxy: "nonsense" })).toThrow("not a URL");
  });
});

describe("a kept connection that was closed", () => {
  const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

  /** Answers the first request of a connection and drops the second unanswered. */
  async function forgetful() {
    let connections = 0;
    const counts = new WeakMap<Socket, number>();
    const server = await rawServer((socket) => {
      const count = (counts.get(socket) ?? 0) + 1;
      counts.set(socket, count);
      if (count === 1) connections++;
      if (count === 1) socket.write(OK);
      else socket.resetAndDestroy();
    });
    return { url: server.url, connections: () => connections };
  }

  it("is replaced for what may be repeated, once", async () => {
    const { url, connections } = await forgetful();
    const requester = made();
    expect(await (await get(requester, url)).text(10)).toBe("ok");
    expect(await (await get(requester, url, { repeatable: true })).text(10)).toBe("ok");
    expect(connections()).toBe(2);
  });

  it("leaves open what became of anything else", async () => {
    const { url, connections } = await forgetful();
    const requester = made();
    await (await get(requester, url)).text(10);
    await expect(get(requester, url)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(connections()).toBe(1);
  });
});

describe("a request", () => {
  it("ends by its signal, before and after it was sent", async () => {
    const { url } = await byHand(() => undefined);
    for (const requester of [made(), fetchRequester()]) {
      await expect(get(requester, url, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CANCELLED" });
      const controller = new AbortController();
      const asked = get(requester, url, { signal: controller.signal });
      setImmediate(() => controller.abort());
      await expect(asked).rejects.toMatchObject({ code: "CANCELLED" });
    }
  });

  it("ends by what it was given at its start, within the body too", async () => {
    const { url } = await byHand(({ response }) => void response.writeHead(200).write("x"));
    for (const requester of [made(), fetchRequester()]) {
      let cancel = (): void => undefined;
      const reply = await get(requester, url, { started: (how) => (cancel = how) });
      const text = reply.text(100);
      cancel();
      await expect(text).rejects.toMatchObject({ code: "CANCELLED" });
    }
  });

  it("shares its connection with the next one", async () => {
    const ports = new Set<unknown>();
    const { url } = await byHand(({ response }) => {
      ports.add(response.socket?.remotePort);
      response.end("ok");
    });
    const requester = made();
    for (let n = 0; n < 5; n++) await (await get(requester, url)).text(10);
    expect(ports.size).toBe(1);
  });

  it("waits for a connection when all that may be are in use", async () => {
    const ports = new Set<unknown>();
    const { url } = await byHand(({ response }) => {
      ports.add(response.socket?.remotePort);
      response.end("ok");
    });
    const requester = made({ connections: 1 });
    const texts = await Promise.all([1, 2, 3].map(async () => (await get(requester, url)).text(10)));
    expect(texts).toEqual(["ok", "ok", "ok"]);
    expect(ports.size).toBe(1);
  });

  it("goes on when the requester is closed meanwhile, by another link perhaps", async () => {
    const { url } = await byHand(({ response }) => response.end("ok"));
    const requester = made();
    const asked = get(requester, url);
    requester.close();
    expect(await (await asked).text(10)).toBe("ok");
    expect(await (await get(requester, url)).text(10)).toBe("ok");
  });

  it("does not stumble over informational responses", async () => {
    const { url } = await rawServer((socket) =>
      socket.end("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
    );
    expect(await (await get(made(), url)).text(10)).toBe("ok");
  });
});
