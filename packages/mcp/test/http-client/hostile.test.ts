// What servers get wrong or do on purpose: each ends in an error that names it, soon and with little memory.
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { nodeRequester } from "../../src/node/http-requester.js";
import { fetchRequester } from "../../src/http/client/fetch-requester.js";
import type { HttpRequester } from "../../src/http/client/http-caller.js";
import { gate } from "../http/http-fixture.js";
import { refusingPort } from "../support/refusing-port.js";
import { answer, byHand, linkTo, notification, replyJson, type Seen, type TestLink } from "./transport-fixture.js";
import { rawServer } from "./raw-server.js";

const kinds: readonly (readonly [string, () => HttpRequester])[] = [
  ["node:http", () => nodeRequester()],
  ["fetch", () => fetchRequester()],
];

describe.each(kinds)("with %s", (kind, requester) => {
  const isFetch = kind === "fetch";
  const to = (url: string, limits = {}): Promise<TestLink> => linkTo(url, { requester: requester(), limits });

  it.each([
    ["text/html", "<!doctype html><p>hi", "text/html"],
    ["text/plain", "hello", "text/plain"],
    [undefined, "<html>", "HTML, without a content type"],
    [undefined, "hello", "something that is not JSON"],
    ["application/json", "", "no body"],
    ["application/json", '{"jsonrpc":"2.0","id":99,"result":{}}', "not the response"],
    ["application/json", '{"jsonrpc":"2.0","id":1,"method":"x"}', "not the response"],
  ])("names an answer of type %s with %j", async (type, body, named) => {
    const { url } = await byHand(({ response }) =>
      response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(body),
    );
    const { error } = await (await to(url)).ask("ping");
    expect(error).toMatchObject({ code: "INVALID_RESPONSE" });
    expect(error?.message).toContain(named);
    expect(error?.message).toContain(url);
  });

  it("ends a call that is answered by a change of protocol", async () => {
    const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n";
    const { url } = await rawServer((socket) => socket.write(head));
    const { error } = await (await to(url)).ask("ping");
    expect(error?.code).toMatch(isFetch ? /^(?:UNREACHABLE|OUTCOME_UNKNOWN)$/ : /^INVALID_RESPONSE$/);
  });

  it.each([
    ["application/json; charset=utf-8", (one: Seen) => answer(one)],
    ["Application/JSON", (one: Seen) => answer(one)],
    [undefined, (one: Seen) => ` ${answer(one)}`],
    ["application/json", (one: Seen) => `{"result":{},"jsonrpc":"2.0","id":${String(one.message["id"])}}`],
    ["application/json", (one: Seen) => `[${answer(one)}]`],
    ["application/json", (one: Seen) => `{"id" : ${String(one.message["id"])}, "result" : {}, "jsonrpc":"2.0"}`],
    ["text/event-stream;charset=utf-8", (one: Seen) => `data: ${answer(one)}\r\r`],
    ["text/event-stream", (one: Seen) => `event: message\r\ndata: ${answer(one)}\r\n\r\n`],
    ["text/event-stream", (one: Seen) => `event: other\ndata: nonsense\n\ndata: ${answer(one)}\n\n`],
  ])("reads an answer of type %s", async (type, body) => {
    const { url } = await byHand((one) =>
      one.response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(body(one)),
    );
    const { ask, sink } = await to(url);
    void ask("ping");
    await sink.until(({ arrivals, losses }) => arrivals.length + losses.length > 0);
    expect(sink.losses).toEqual([]);
    expect(sink.arrivals).toHaveLength(1);
  });

  it("gives an error the server wrote to the receiver, whatever its status", async () => {
    const { url } = await byHand(({ message, response }) => {
      const text = JSON.stringify({ jsonrpc: "2.0", id: message["id"], error: { code: -32022, message: "no" } });
      response.writeHead(400, { "content-type": "application/json" }).end(text);
    });
    const { ask, sink } = await to(url);
    expect((await ask("server/discover")).message).toMatchObject({ error: { code: -32022 } });
    expect(sink.arrivals[0]?.info).toEqual({ status: 400, forRequest: 1 });
    expect(sink.losses).toEqual([]);
  });

  it.each([400, 404, 405, 429, 500, 502, 503])(
    "tells of the status %i, what was said, and what to do",
    async (status) => {
      const { url } = await byHand(({ response }) => response.writeHead(status).end("\u001b[31mred\u0000\nline"));
      const { error } = await (await to(`${url}?token=secret&b=2`)).ask("ping");
      expect(error).toMatchObject({ code: "HTTP_STATUS", status });
      expect(error?.message).toContain(`HTTP ${status}`);
      expect(error?.message).toContain("red");
      expect(error?.message).not.toContain("secret");
      // oxlint-disable-next-line no-control-regex
      expect(error?.message).not.toMatch(/[\u0000-\u001f]/);
    },
  );

  it.each([
    [401, "UNAUTHORIZED"],
    [403, "FORBIDDEN"],
  ])("has a code of its own for the status %i", async (status, code) => {
    const { url } = await byHand(({ response }) => response.writeHead(status).end());
    expect((await (await to(url)).ask("ping")).error).toMatchObject({ code, status });
  });

  it.each([301, 302, 303, 307, 308])("follows no redirect %i to another origin", async (status) => {
    const other = await byHand((one) => replyJson(one));
    const { url } = await byHand(({ response }) => response.writeHead(status, { location: other.url }).end());
    const { error } = await (
      await linkTo(url, { requester: requester(), headers: { authorization: "Bearer x" } })
    ).ask("ping");
    expect(error).toMatchObject({ code: "REDIRECTED" });
    expect(error?.message).toContain(other.url);
    expect(other.seen).toEqual([]);
  });

  it("follows 307 and 308 within the origin, and not for ever", async () => {
    const { url, seen } = await byHand((one) => {
      const step = Number(new URL(one.path, "http://x").searchParams.get("n") ?? 0);
      if (one.path.startsWith("/end")) replyJson(one);
      else if (step === 2 && one.message["method"] === "ping") one.response.writeHead(308, { location: "/end" }).end();
      else one.response.writeHead(307, { location: `/mcp?n=${step + 1}` }).end();
    });
    const { ask } = await to(url);
    expect((await ask("ping")).message).toBeDefined();
    expect(seen.at(-1)).toMatchObject({ method: "POST", path: "/end" });
    expect((await ask("loop")).error).toMatchObject({ code: "REDIRECTED" });
    expect(seen).toHaveLength(8);
  });

  it.each([301, 302, 303])("loses no message by a redirect %i", async (status) => {
    const { url, seen } = await byHand(({ response }) => response.writeHead(status, { location: "/other" }).end());
    const { error } = await (await to(url)).ask("ping");
    expect(error?.message).toContain("/other");
    expect(seen).toHaveLength(1);
  });

  it("stops reading a body that is too long, JSON or event", async () => {
    const { url } = await byHand(({ message, response }) => {
      const isEvent = message["method"] === "event";
      response.writeHead(200, { "content-type": isEvent ? "text/event-stream" : "application/json" });
      response.write(isEvent ? 'data: {"' : '{"');
      const fill = (): void => {
        while (!response.destroyed) if (!response.write("x".repeat(10_000))) return void response.once("drain", fill);
      };
      response.on("error", () => undefined);
      fill();
    });
    const { ask, sink } = await to(url, { messageBytes: 50_000 });
    expect((await ask("json")).error).toMatchObject({ code: "LIMIT" });
    expect((await ask("event")).error).toMatchObject({ code: "LIMIT" });
    expect(sink.unread).toHaveLength(1);
  });

  it("answers for a request whose event was too long", async () => {
    const { url } = await byHand(({ response }) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`id: 1\ndata: "${"x".repeat(2_000)}"\n\n`),
    );
    expect((await (await to(url, { messageBytes: 1_000 })).ask("ping")).error).toMatchObject({ code: "LIMIT" });
  });

  it("does not unpack what it did not ask for, or only up to the limit", async () => {
    const { url, seen } = await byHand(({ response }) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end(gzipSync(Buffer.alloc(3_000_000, 32))),
    );
    const { error } = await (await to(url, { messageBytes: 100_000 })).ask("ping");
    expect(error).toMatchObject({ code: isFetch ? "LIMIT" : "INVALID_RESPONSE" });
    expect(seen[0]?.headers["accept-encoding"]).toBe("identity");
  });

  it("says that a body is not UTF-8, and that it was cut", async () => {
    const { url } = await byHand(({ message, response }) => {
      response.writeHead(200, { "content-type": "application/json" });
      if (message["method"] === "latin") response.end(Buffer.of(0x7b, 0xe9, 0x7d));
      else response.write("{", () => response.destroy());
    });
    const { ask } = await to(url);
    expect((await ask("latin")).error).toMatchObject({ code: "INVALID_RESPONSE" });
    expect((await ask("cut")).error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  });

  it("tells what surely did not arrive from what may have", async () => {
    const silent = await rawServer((socket) => socket.destroy());
    const unknown = (await (await to(silent.url)).ask("tools/call")).error;
    expect(unknown).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(unknown?.message).toContain("may have been served");
    const { error } = await (await to(`http://127.0.0.1:${await refusingPort()}/mcp`)).ask("tools/call");
    expect(error).toMatchObject({ code: "UNREACHABLE" });
    expect(error?.message).toContain("ECONNREFUSED");
  });

  it("ends with what is no HTTP", async () => {
    const texts = [
      "SSH-2.0-x\r\n",
      "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
      `HTTP/1.1 200 OK\r\nx: ${"a".repeat(100_000)}\r\n\r\n`,
    ];
    for (const text of texts) {
      const server = await rawServer((socket) => socket.end(text));
      const { error } = await (await to(server.url)).ask("tools/call");
      expect(["INVALID_RESPONSE", "OUTCOME_UNKNOWN"]).toContain(error?.code);
    }
    const chunked = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}";
    const server = await rawServer((socket) => socket.end(chunked));
    expect((await (await to(server.url)).ask("tools/call")).error).toBeDefined();
  });

  it("accepts whatever a notification is accepted with, and notes when it is not", async () => {
    const replies: [number, string][] = [
      [202, ""],
      [202, "Accepted"],
      [200, "{}"],
      [204, ""],
      [500, "boom"],
    ];
    const { url } = await byHand(({ response }) => {
      const [status, text] = replies.shift() as [number, string];
      response.writeHead(status).end(status === 204 ? undefined : text);
    });
    const { link } = await to(url);
    for (let n = 0; n < 4; n++) await link.send(notification("n"));
    expect(link.troubles?.()).toBe("");
    await link.send(notification("n"));
    expect(link.troubles?.()).toContain("boom");
  });

  it("ends a request nobody waits for, before and within the answer", async () => {
    const closed = [gate(), gate()];
    const arrived = [gate(), gate()];
    const { url, seen } = await byHand(({ response, message }) => {
      const at = message["method"] === "before" ? 0 : 1;
      response.on("close", () => closed[at]?.open());
      if (at === 1) response.writeHead(200, { "content-type": "application/json" }).write("{");
      arrived[at]?.open();
    });
    const { ask, link, sink } = await to(url);
    void ask("before");
    await arrived[0]?.opened;
    link.forget?.(1);
    await closed[0]?.opened;
    void ask("within");
    await arrived[1]?.opened;
    link.forget?.(2);
    await closed[1]?.opened;
    expect(seen).toHaveLength(2);
    expect(sink.losses).toEqual([]);
  });
});
