// The guarded fetch dials no address that foreign metadata may not lead to, whatever a name resolves to and when.
import type { LookupAddress } from "node:dns";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { headlessRedirect, oauth } from "../../src/auth/client/authorization-code.js";
import { guardedFetch, isPublicAddress } from "../../src/node/guarded-fetch.js";
import { call } from "./support/call.js";
import { rawServer } from "../http-client/raw-server.js";
import { mockAuthorization } from "./support/mock-authorization.js";

const CORPUS = new URL("../../../../../shared/corpora/ip-verdicts.json", import.meta.url);
const TRUSTED = ["https://mcp.example/mcp"];

let reached: string[];
let port: number;

beforeEach(async () => {
  reached = [];
  const server = createServer((request, response) => {
    reached.push(`${request.method} ${request.headers.host} ${request.url}`);
    if (request.url === "/moved") response.writeHead(302, { location: "/other" }).end();
    else if (request.url === "/empty") response.writeHead(204).end();
    else
      response
        .writeHead(
          200,
          [
            ["set-cookie", "a"],
            ["set-cookie", "b"],
          ].flat(),
        )
        .end('{"ok":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
});

const to = (...addresses: string[]): ((host: string) => Promise<LookupAddress[]>) => {
  return () => Promise.resolve(addresses.map((address) => ({ address, family: isIP(address) })));
};

describe("an address", () => {
  it("is judged as the corpus judges it, transition forms more strictly", (test) => {
    if (!existsSync(CORPUS)) {
      if (process.env["CI"]) throw new Error(`${CORPUS.pathname} is missing`);
      return test.skip("the corpus of addresses is not at hand");
    }
    const verdicts = JSON.parse(readFileSync(CORPUS, "utf8")) as { addr: string; verdict: string }[];
    const isTransition = (address: string): boolean => /^(?:2002:|64:ff9b:|::ffff:)/.test(address);
    for (const { addr, verdict } of verdicts) {
      expect(isPublicAddress(addr), addr).toBe(verdict === "allow" && !isTransition(addr));
    }
  });

  it.each([
    ["2a00:1450::5efe:127.0.0.1", false],
    ["2a00:1450::200:5efe:a00:1", false],
    ["2a00:1450:1:2:0:5efe::", false],
    ["2a00:1450::5efe:8.8.8.8", true],
    ["2a00:1450::1%eth0", false],
  ])("that tunnels to another is judged by both ends: %s", (address, isPublic) => {
    expect(isPublicAddress(address)).toBe(isPublic);
  });

  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "169.254.169.254",
    "192.168.0.1",
    "0.0.0.0",
    "::1",
    "fe80::1",
    "fd00:ec2::254",
    "::ffff:10.0.0.1",
  ])("in a private network is not dialled by any name: %s", async (address) => {
    const fetch = guardedFetch({ trusted: TRUSTED, lookup: to(address) });
    await expect(fetch(`http://as.example:${port}/`, {})).rejects.toMatchObject({ code: "AUTH_DISCOVERY" });
    expect(reached).toEqual([]);
  });

  it.each(["http://127.0.0.1", "http://[::1]", "http://[::ffff:7f00:1]", "http://2130706433", "http://0x7f.1"])(
    "written out is judged too: %s",
    async (origin) => {
      const fetch = guardedFetch({ trusted: TRUSTED });
      await expect(fetch(`${origin}:${port}/`, {})).rejects.toMatchObject({ code: "AUTH_DISCOVERY" });
      expect(reached).toEqual([]);
    },
  );

  it("is judged once and dialled as judged, when the name says another thing the next time", async () => {
    const answers = [to("127.0.0.1"), to("10.0.0.1")];
    const seen: string[] = [];
    const fetch = guardedFetch({
      trusted: ["http://localhost/mcp"],
      lookup: (host) => (seen.push(host), (answers.shift() ?? to("10.0.0.1"))(host)),
    });
    expect((await fetch(`http://as.example:${port}/`, {})).status).toBe(200);
    expect(seen).toEqual(["as.example"]);
  });

  it("beside private ones is the only one dialled", async () => {
    const fetch = guardedFetch({ trusted: ["http://127.0.0.1/mcp"], lookup: to("10.0.0.1", "127.0.0.1", "fd00::1") });
    expect((await fetch(`http://as.example:${port}/`, {})).status).toBe(200);
  });
});

describe("what the user named", () => {
  it("may be anywhere: the host of the server's own URL", async () => {
    const fetch = guardedFetch({ trusted: [`http://mcp.example:${port}/mcp`], lookup: to("127.0.0.1") });
    expect((await fetch(`http://mcp.example:${port}/`, {})).status).toBe(200);
  });

  it("may be anywhere: a host allowed", async () => {
    const fetch = guardedFetch({ trusted: TRUSTED, allowHosts: ["as.example"], lookup: to("127.0.0.1") });
    expect((await fetch(`http://as.example:${port}/`, {})).status).toBe(200);
  });

  it("is the same host with the dot of the root that may end its name, and is asked by the name without it", async () => {
    for (const [trusted, allowed, url] of [
      [`http://mcp.example:${port}/mcp`, [], `http://mcp.example.:${port}/`],
      [`http://mcp.example.:${port}/mcp`, [], `http://mcp.example:${port}/`],
      ["https://x.example/", ["mcp.example."], `http://mcp.example:${port}/`],
      ["https://x.example/", ["mcp.example"], `http://mcp.example.:${port}/`],
    ] as const) {
      const seen: string[] = [];
      const lookup = (host: string): Promise<LookupAddress[]> => (seen.push(host), to("127.0.0.1")(host));
      const fetch = guardedFetch({ trusted: [trusted], allowHosts: allowed, lookup });
      expect((await fetch(url, {})).status).toBe(200);
      expect(seen).toEqual(["mcp.example"]);
    }
    expect(new Set(reached)).toEqual(new Set([`GET mcp.example:${port} /`]));
  });

  it("on this machine does not open the private network", async () => {
    const fetch = guardedFetch({ trusted: ["http://localhost:3000/mcp"], lookup: to("192.168.0.1") });
    await expect(fetch("http://as.example/", {})).rejects.toMatchObject({ code: "AUTH_DISCOVERY" });
  });
});

describe("as a fetch", () => {
  const fetch = guardedFetch({ trusted: ["http://localhost/"] });

  it("sends what it is given and gives what comes back, redirects too", async () => {
    const init = { method: "POST", headers: { "x-a": "b" }, body: "text" };
    const response = await fetch(`http://127.0.0.1:${port}/path?q=1`, init);
    expect(await response.json()).toEqual({ ok: true });
    expect(response.headers.getSetCookie()).toEqual(["a", "b"]);
    expect((await fetch(`http://127.0.0.1:${port}/moved`, {})).status).toBe(302);
    expect((await fetch(`http://127.0.0.1:${port}/empty`, {})).status).toBe(204);
    expect(reached[0]).toBe(`POST 127.0.0.1:${port} /path?q=1`);
    expect(reached).toHaveLength(3);
  });

  it("ends when it is answered by a change of protocol", async () => {
    const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n";
    const { url } = await rawServer((socket) => socket.write(head));
    await expect(fetch(url, {})).rejects.toThrow("without an answer");
  });

  it("ends when it is told to", async () => {
    const signal = AbortSignal.abort();
    await expect(fetch(`http://127.0.0.1:${port}/`, { signal })).rejects.toMatchObject({ name: "AbortError" });
  });

  it("authorizes a server on this machine with all of its metadata there", async () => {
    const mock = await mockAuthorization();
    const guarded = guardedFetch({ trusted: [mock.serverUrl] });
    const options = { serverUrl: mock.serverUrl, clientName: "test", redirect: headlessRedirect(), fetch: guarded };
    expect((await call(oauth(options), mock.serverUrl)).status).toBe(200);
  });
});
