// Connections that a requester keeps: whose bytes are whose, what is sent twice, and how far ahead of its reader it reads.
import type { Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HttpReply, HttpRequest, HttpRequester } from "../../src/http/client/http-caller.js";
import { nodeRequester, type NodeRequesterOptions } from "../../src/node/http-requester.js";
import { rawServer } from "./raw-server.js";

function made(options: NodeRequesterOptions = {}): HttpRequester {
  const requester = nodeRequester(options);
  onTestFinished(() => requester.close());
  return requester;
}

function get(requester: HttpRequester, url: string, more: Partial<HttpRequest> = {}): Promise<HttpReply> {
  return requester.request({ method: "GET", url, headers: {}, ...more });
}

async function textOf(reply: Promise<HttpReply>, most = 100): Promise<string> {
  return (await reply).text(most);
}

function ok(body: string, ...headers: string[]): string {
  return ["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...headers, "", body].join("\r\n");
}

/** Tells each request of each connection apart: `serve` gets the numbers of both, from 1. */
async function counted(serve: (socket: Socket, connection: number, request: number) => void) {
  const seen = new Map<Socket, { readonly number: number; requests: number }>();
  const { url } = await rawServer((socket) => {
    const known = seen.get(socket) ?? { number: seen.size + 1, requests: 0 };
    seen.set(socket, known);
    serve(socket, known.number, ++known.requests);
  });
  return { url, connections: () => seen.size, requests: () => [...seen.values()].map(({ requests }) => requests) };
}

describe("a connection is not used again", () => {
  it.each([
    ["after more came than was asked for", `${ok("one")}${ok("two")}`],
    ["after bytes that are nothing", `${ok("one")}\r\n`],
    ["where its server keeps none", ok("one", "Keep-Alive: timeout=0")],
    ["where its server ends it", ok("one", "Connection: close")],
    ["after a body where none may be", "HTTP/1.1 204 None\r\nContent-Length: 3\r\n\r\none"],
  ])("%s", async (_when, first) => {
    const { url, requests } = await counted((socket, connection) => {
      socket.write(connection === 1 ? first : ok("second"));
    });
    const requester = made();
    expect(["one", ""]).toContain(await textOf(get(requester, url)));
    expect(await textOf(get(requester, url))).toBe("second");
    expect(requests()).toEqual([1, 1]);
  });

  it("when something came that nobody asked for", async () => {
    let first: Socket | undefined;
    const { url, requests } = await counted((socket, connection) => {
      first ??= socket;
      socket.write(ok(String(connection)));
    });
    const requester = made();
    expect(await textOf(get(requester, url))).toBe("1");
    const ended = new Promise((resolve) => first?.once("close", resolve));
    first?.write(ok("forged"));
    await ended;
    expect(await textOf(get(requester, url))).toBe("2");
    expect(requests()).toEqual([1, 1]);
  });

  it("when its answer was not what HTTP says", async () => {
    const { url, requests } = await counted((socket, connection) => {
      socket.write(connection === 1 ? "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok" : ok("ok"));
    });
    const requester = made();
    await expect(get(requester, url)).rejects.toMatchObject({ code: "INVALID_RESPONSE" });
    expect(await textOf(get(requester, url))).toBe("ok");
    expect(requests()).toEqual([1, 1]);
  });
});

describe("a request is sent again", () => {
  const cut = async (answer: string) =>
    counted((socket, _connection, request) => {
      if (request === 1) return void socket.write(ok("ok"));
      if (answer === "") return void socket.resetAndDestroy();
      socket.write(answer, () => socket.destroy());
    });

  it("only if nothing of its answer came", async () => {
    const { url, requests } = await cut("HTTP/1.1 2");
    const requester = made();
    expect(await textOf(get(requester, url))).toBe("ok");
    await expect(get(requester, url, { repeatable: true })).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(requests()).toEqual([2]);
  });

  it("never when it is new", async () => {
    const { url, requests } = await counted((socket) => socket.resetAndDestroy());
    await expect(get(made(), url, { repeatable: true })).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(requests()).toEqual([1]);
  });

  it("never when it was ended", async () => {
    let second: (() => void) | undefined;
    const arrived = new Promise<void>((resolve) => (second = resolve));
    const { url, requests } = await counted((socket, _connection, request) => {
      if (request === 1) socket.write(ok("ok"));
      else second?.();
    });
    const requester = made();
    expect(await textOf(get(requester, url))).toBe("ok");
    const controller = new AbortController();
    const asked = get(requester, url, { repeatable: true, signal: controller.signal });
    await arrived;
    controller.abort();
    await expect(asked).rejects.toMatchObject({ code: "CANCELLED" });
    expect(requests()).toEqual([2]);
  });
});

describe("a request that waits for a connection", () => {
  it("is not sent once it was ended, and the next one is", async () => {
    const answers: (() => void)[] = [];
    let came: (() => void) | undefined;
    const arrived = new Promise<void>((resolve) => (came = resolve));
    const { url, requests } = await counted((socket, _connection, request) => {
      answers.push(() => socket.write(ok("ok")));
      if (request === 1) came?.();
      else answers.at(-1)?.();
    });
    const requester = made({ connections: 1 });
    const first = textOf(get(requester, url));
    await arrived;
    const controller = new AbortController();
    const ended = get(requester, url, { signal: controller.signal });
    const last = textOf(get(requester, url));
    controller.abort();
    await expect(ended).rejects.toMatchObject({ code: "CANCELLED" });
    answers[0]?.();
    expect(await Promise.all([first, last])).toEqual(["ok", "ok"]);
    expect(requests()).toEqual([2]);
  });
});

describe("a body", () => {
  it("is sent as UTF-8, with its length in bytes, and headers as they are", async () => {
    let sent = "";
    const { url } = await rawServer((socket, bytes) => {
      sent += bytes.toString("latin1");
      if (sent.includes("\xc3\xa9")) socket.write(ok("ok"));
    });
    const headers = { "x-latin": "\xe8" };
    expect(await textOf(made().request({ method: "POST", url, headers, body: "h\u00e9" }))).toBe("ok");
    const { host, pathname } = new URL(url);
    expect(sent).toBe(
      `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\nx-latin: \xe8\r\ncontent-length: 3\r\nConnection: keep-alive\r\n\r\nh\xc3\xa9`,
    );
  });

  const long = "0123456789abcdef".repeat(64 * 1024);

  it.each([
    ["with its length", ok(long)],
    [
      "in chunks",
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`,
    ],
    ["to the end", `HTTP/1.1 200 OK\r\n\r\n${long}`],
  ])("of a megabyte %s is read whole, and not over its limit", async (_how, answer) => {
    const { url } = await rawServer((socket) => socket.end(answer));
    expect((await textOf(get(made(), url), long.length)) === long).toBe(true);
    await expect(textOf(get(made(), url), long.length - 1)).rejects.toMatchObject({ code: "LIMIT" });
    let bytes = 0;
    await (await get(made(), url)).each((chunk) => void (bytes += chunk.length));
    expect(bytes).toBe(long.length);
  });

  it.each([
    ["with its length", ok(long).slice(0, -1)],
    ["in chunks", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`],
    ["in chunks that are none", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nx\r\n`],
  ])("%s that is cut is none", async (_how, answer) => {
    const { url } = await rawServer((socket) => socket.end(answer));
    await expect(textOf(get(made(), url), long.length)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    await expect((await get(made(), url)).each(() => undefined)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  });

  it("is read no faster than it is taken", async () => {
    const most = 64 * 1024 * 1024;
    let writer: Socket | undefined;
    const { url } = await rawServer((socket) => {
      writer = socket;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${most}\r\n\r\n`);
      const chunk = Buffer.alloc(1024 * 1024);
      for (let sent = 0; sent < most; sent += chunk.length) socket.write(chunk);
    });
    const requester = made();
    const reply = await get(requester, url);
    let goOn: (() => void) | undefined;
    let bytes = 0;
    const read = reply.each((chunk) => {
      bytes += chunk.length;
      if (goOn === undefined) return new Promise<void>((resolve) => (goOn = resolve));
    });
    // Another connection's answers come and go meanwhile.
    const { url: other } = await rawServer((socket) => socket.write(ok("ok")));
    for (let n = 0; n < 100; n++) await textOf(get(requester, other));
    expect(bytes).toBeLessThan(most / 64);
    expect(writer?.writableLength).toBeGreaterThan(most / 4);
    goOn?.();
    await read;
    expect(bytes).toBe(most);
  });
});
