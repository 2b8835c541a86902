// A reply that a program of somebody's own gives and nobody could send: the request is answered all the same, and the log says what to mend.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Authenticator, scopeRules } from "@secure-local/mcp/auth";
import { toFetch, type HttpOptions } from "@secure-local/mcp/fetch";
import { toNodeHandler } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { FetchExchange } from "../../src/http/server/to-fetch.js";

const IDENTITY = { principal: "ada", scopes: [] };
const BODY = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } },
});
const INIT = { method: "POST", body: BODY, headers: { "content-type": "application/json" } };
const odd = (value: unknown): never => value as never;

/** Of a reply that can be: what is changed in it, and what the log has to name. */
interface Wrong {
  readonly status?: unknown;
  readonly headers?: unknown;
  readonly text?: unknown;
  readonly names: RegExp;
}

const CONTROLS = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).filter((sign) => sign !== "\t");
const WRONG: readonly Wrong[] = [
  ...[Number.NaN, 0, -1, 99, 100, 101, 103, 199, 600, 1_000, 1e9, 401.5, Infinity].map((status) => ({
    status,
    names: /"status" is .*: write a number from 200 to 599/,
  })),
  ...[204, 205, 304].map((status) => ({ status, names: /"text" has nowhere to go/ })),
  ...[() => "x", 7, true, {}, ["x"]].map((text) => ({ text, names: /"text" is .*: write a plain object/ })),
  ...[...CONTROLS, "\r\n", "\u007f", "\u0100", "\u20ac", "\ud83d\ude00"].map((sign) => ({
    headers: { "x-a": `a${sign}b` },
    names: /the header "x-a" is not one line of Latin letters/,
  })),
  ...[undefined, null, {}, [undefined]].map((value) => ({
    headers: { "x-a": value },
    names: /the header "x-a" is not one line/,
  })),
  ...["", "x y", "x:", "x\r\ny", "\u00e9"].map((name) => ({
    headers: { [name]: "a" },
    names: /has the name ".*none of a header/,
  })),
  ...[new Headers({ a: "b" }), new Map([["a", "b"]]), [["a", "b"]], "a: b", 7, null].map((headers) => ({
    headers,
    names: /"headers" is .*: write a plain object/,
  })),
];

/** What is answered, and logged, however the server is served. */
class Served {
  readonly #options: { current: HttpOptions } = { current: {} };
  readonly log: string[] = [];
  readonly #server = this.#reporting();
  readonly #web = createServer((request, response) => void this.#node()(request, response));
  #url = "";

  #reporting(): Server {
    const server = new Server({
      name: "s",
      version: "1",
      report: (_level, text, details) =>
        void this.log.push(`${text} ${details?.["error"] instanceof Error ? details["error"].message : ""}`),
    });
    server.tool("t", { run: () => "x" });
    return server;
  }

  #node(): ReturnType<typeof toNodeHandler> {
    return toNodeHandler(this.#server, this.#options.current);
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#web.listen(0, "127.0.0.1", resolve));
    this.#url = `http://127.0.0.1:${(this.#web.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#web.closeAllConnections();
    this.#web.close();
  }

  async status(options: HttpOptions, path = "/mcp"): Promise<{ status: number[]; log: string }> {
    this.#options.current = options;
    this.log.length = 0;
    const init = path === "/mcp" ? INIT : {};
    const replies = [
      await toFetch(this.#server, options)(new Request(`http://localhost${path}`, init)),
      await fetch(this.#url + path, init),
    ];
    await Promise.all(replies.map((reply) => reply.text()));
    return { status: replies.map(({ status }) => status), log: this.log.join("\n") };
  }
}

const served = new Served();
beforeAll(() => served.start());
afterAll(() => served.stop());

const show = (wrong: Wrong): string =>
  JSON.stringify(wrong, (_key, value: unknown) =>
    typeof value === "number" || typeof value === "function" ? String(value) : value,
  );

describe("a reply that nobody could send ends as 500 and a line in the log", () => {
  it("of authenticate: refusals, at once and later", async () => {
    for (const { names, ...wrong } of WRONG) {
      const refusal = odd({ status: 403, text: "no", ...wrong });
      for (const given of [refusal, odd(Promise.resolve(refusal))]) {
        const { status, log } = await served.status({ authenticate: () => given });
        expect(status, show({ names, ...wrong })).toEqual([500, 500]);
        expect(log.match(new RegExp(names, "g")), show({ names, ...wrong })).toHaveLength(2);
        expect(log).toMatch(/What says who is asking \(authenticate, /);
      }
    }
  });

  it("of authenticate: headers for somebody who is let in, and a whole Response", async () => {
    for (const { names, headers } of WRONG.filter((wrong) => "headers" in wrong)) {
      const { status, log } = await served.status({ authenticate: () => odd({ identity: IDENTITY, headers }) });
      expect(status).toEqual([500, 500]);
      expect(log).toMatch(names);
    }
    const { status, log } = await served.status({ authenticate: () => odd(new Response("no", { status: 401 })) });
    expect(status).toEqual([500, 500]);
    expect(log).toContain('"text" is a function: write a plain object');
  });

  it("of an authenticator and of scopes", async () => {
    for (const { names, headers } of WRONG.filter((wrong) => "headers" in wrong)) {
      const refusal = { ok: false, status: 403, error: "e", message: "m", challenge: "", headers };
      const authenticator: Authenticator = { authenticate: () => odd(refusal) };
      const admitting: Authenticator = { authenticate: () => odd({ ok: true, identity: IDENTITY }) };
      const scopes = { ...scopeRules({}), check: () => odd(refusal) };
      for (const authorization of [{ authenticator }, { authenticator: admitting, scopes }]) {
        const { status, log } = await served.status({ authorization });
        expect(status).toEqual([500, 500]);
        expect(log).toMatch(names);
        expect(log).toMatch(/"authorization" refused with what cannot be sent/);
      }
    }
    const challenge = { ok: false, status: 401, error: "e", message: "m", challenge: "Bearer\r\nx: y" };
    const { status, log } = await served.status({
      authorization: { authenticator: { authenticate: () => odd(challenge) } },
    });
    expect(status).toEqual([500, 500]);
    expect(log).toContain('the header "www-authenticate" is not one line');
  });

  it("of a page, at once and later", async () => {
    for (const { names: _names, text, ...wrong } of WRONG) {
      const reply = odd({ status: 200, body: text ?? "x", ...wrong });
      for (const given of [reply, odd(Promise.resolve(reply))]) {
        const { status, log } = await served.status({ pages: { "/x": { respond: () => given } } }, "/x");
        expect(status).toEqual([500, 500]);
        expect(log).toMatch(/A page of "pages" gave a reply that cannot be sent: /);
      }
    }
  });

  it("and every reply that can be sent is", async () => {
    for (const status of [200, 204, 205, 302, 304, 400, 401, 403, 404, 429, 503, 599])
      for (const text of [undefined, "", "no"]) {
        if (text === "no" && [204, 205, 304].includes(status)) continue;
        const headers = { "x-a": "a\tb \u00e9", "retry-after": 5 };
        const { status: got, log } = await served.status({ authenticate: () => odd({ status, text, headers }) });
        expect({ got, log }).toEqual({ got: [status, status], log: "" });
      }
  });

  it("whatever else cannot be made a reply is answered before it is thrown", async () => {
    for (const make of [
      (exchange: FetchExchange) => exchange.reply(1_000, []),
      (exchange: FetchExchange) => exchange.reply(204, [], "x"),
      (exchange: FetchExchange) => exchange.reply(200, ["a", "b\nc"], "x"),
      (exchange: FetchExchange) => exchange.open(200, ["a b", "c"]),
    ]) {
      const exchange = new FetchExchange(new Request("http://localhost/mcp"), undefined);
      expect(() => make(exchange)).toThrow();
      expect((await exchange.response).status).toBe(500);
      expect(exchange.over).toBe(true);
    }
  });
});

describe("what is an identity and a refusal at once lets nobody in", () => {
  const NO: readonly object[] = [
    ...[403, 401, 200, 0, "403", null].map((status) => ({ status })),
    ...["suspended", "", null].map((text) => ({ text })),
    { status: 403, text: "suspended" },
    ...[undefined, null, false, 0, 1, "true", "", {}].flatMap((ok) => [{ ok }, { ok, status: 401 }, { ok, text: "x" }]),
    { ok: true, status: 403 },
  ];
  it.each(NO)("with %j", async (more) => {
    for (const given of [odd({ identity: IDENTITY, ...more }), odd(Promise.resolve({ ...more, identity: IDENTITY }))]) {
      const { status, log } = await served.status({ authenticate: () => given });
      expect(status).toEqual([401, 401]);
      expect(log.match(/What says who is asking returned an identity (?:that is a refusal|whose "ok")/g)).toHaveLength(
        2,
      );
      if ("text" in more) continue;
      const verdict = await served.status({ authorization: { authenticator: { authenticate: () => given } } });
      expect(verdict.status).toEqual("ok" in more && more.ok === true && !("status" in more) ? [200, 200] : [401, 401]);
    }
  });

  it("and an identity alone lets in", async () => {
    for (const more of [{}, { ok: true }, { status: undefined }, { text: undefined }, { headers: { "x-a": "b" } }])
      expect(await served.status({ authenticate: () => odd({ identity: IDENTITY, ...more }) })).toEqual({
        status: [200, 200],
        log: "",
      });
  });
});
