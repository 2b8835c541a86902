// The one way out: what is refused before a connection, what is pinned during one, and how much is read.
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusingPort } from "../../../mcp/test/support/refusing-port.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import type { DecideEgress } from "../../src/capabilities/egress-target.js";
import { createFetch, type FetchOptions } from "../../src/capabilities/fetch.js";
import type { FetchError } from "../../src/capabilities/refusals.js";

/** An answer in chunks of one byte. */
const PIECES = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(110_000)}`;

/** Bytes of an answer that comes packed into a thousandth of them. */
const BOMB = repeated(5_000_000, 50_000_000);

const seen: IncomingMessage[] = [];
let server: Server;
let port = 0;
let base = "";

function answer(request: IncomingMessage, response: ServerResponse): void {
  seen.push(request);
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://local");
  const send = (status: number, headers: Record<string, string>, body: string | Uint8Array = "") =>
    response.writeHead(status, headers).end(body);
  if (pathname === "/plain") return void send(200, { "content-type": "text/plain" }, "hello");
  if (pathname === "/echo") return void request.pipe(response.writeHead(200));
  if (pathname === "/to")
    return void send(Number(searchParams.get("status") ?? 302), { location: searchParams.get("url") ?? "" });
  if (pathname === "/loop") return void send(302, { location: "/loop" });
  if (pathname === "/gzip") return void send(200, { "content-encoding": "gzip" }, gzipSync("packed"));
  if (pathname === "/br") return void send(200, { "content-encoding": "br" }, brotliCompressSync("packed"));
  if (pathname === "/bomb") return void send(200, { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(BOMB)));
  if (pathname === "/ratio") return void send(200, { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(300_000)));
  if (pathname === "/pieces") return void response.socket?.write(PIECES);
  if (pathname === "/twice") return void send(200, { "content-encoding": "gzip, gzip" }, gzipSync(gzipSync("x")));
  if (pathname === "/broken") return void send(200, { "content-encoding": "gzip" }, "no gzip at all");
  if (pathname === "/cut")
    return void response.writeHead(200, { "content-length": "100" }).write("x", () => response.destroy());
  if (pathname === "/endless") {
    const more = (): void => void (response.writable && response.write("x".repeat(10_000), more));
    response.on("error", () => {}).writeHead(200);
    return more();
  }
  if (pathname === "/silent") return;
  send(404, {});
}

beforeAll(async () => {
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
  base = `http://127.0.0.1:${port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const named: DecideEgress = (endpoint) => ({ allowed: endpoint.port === port, rule: "test", allowPrivate: true });
const open: DecideEgress = () => ({ allowed: true, rule: "test" });

async function failure(
  decide: DecideEgress,
  url: string,
  options: FetchOptions = {},
  signal?: AbortSignal,
): Promise<FetchError> {
  const request = signal === undefined ? {} : { signal };
  return await createFetch(decide, options)(url, request).then(
    () => expect.fail(`${url} was fetched`),
    (error: unknown) => error as FetchError,
  );
}

describe("before anything is sent", () => {
  it.each([
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:text/plain,x",
    "https://user:secret@example.com/",
    "https://example.com../",
    "https://localhost../",
    "https://exa_mple.com/",
    "https://-a.com/",
    "https://a..com/",
    "//example.com",
    "example",
    `https://example.com/${"x".repeat(9_000)}`,
  ])("%.60s is refused", async (url) => {
    const error = await failure(open, url, { resolve: () => expect.fail("resolved") });
    expect(error.code).toBe("bad-url");
    expect(error.message).not.toContain("secret");
  });

  it("takes the dot of the root off a name: it is judged, looked up and asked for without", async () => {
    const asked: string[] = [];
    const decide: DecideEgress = ({ host }) => (asked.push(host), { allowed: true, rule: "test", allowPrivate: true });
    const resolve = async (host: string): Promise<string[]> => (asked.push(host), ["127.0.0.1"]);
    seen.length = 0;
    const { url } = await createFetch(decide, { resolve })(`http://example.com.:${port}/plain`);
    expect(url).toBe(`http://example.com:${port}/plain`);
    expect(new Set(asked)).toEqual(new Set(["example.com"]));
    expect(seen.map(({ headers }) => headers.host)).toEqual([`example.com:${port}`]);
  });

  it("asks the policy for host, port and scheme and names the rule that refused", async () => {
    const asked: unknown[] = [];
    const decide: DecideEgress = ({ host, port: number, scheme }) => {
      asked.push([host, number, scheme]);
      return { allowed: false, rule: "default deny" };
    };
    const error = await failure(decide, "https://EXAMPLE.com/a?b");
    expect(asked).toEqual([["example.com", 443, "https"]]);
    expect(error.message).toBe(
      "The policy does not allow requests to https://example.com (default deny); add the host to network.allowed_endpoints to allow them.",
    );
  });

  it.each([
    ["http://127.0.0.1/", "a loopback address"],
    ["http://2130706433/", "a loopback address"],
    ["http://0x7f.1/", "a loopback address"],
    ["http://[::ffff:127.0.0.1]/", "a loopback address"],
    ["http://169.254.169.254/latest", "a cloud metadata address"],
    ["http://[fe80::1]/", "a link-local address"],
  ])("%s is refused by class, not by address", async (url, found) => {
    const error = await failure(open, url);
    expect(error.message).toMatch(
      new RegExp(`^The host is ${found}, which the policy does not allow; name .* in network\\.allowed_endpoints, or `),
    );
  });

  it("refuses a name of which one address is not public", async () => {
    const error = await failure(open, "https://mixed.example/", { resolve: async () => ["8.8.8.8", "10.0.0.7"] });
    expect(error.message).toBe(
      "mixed.example resolved to a private address, which the policy does not allow; name the address itself with port 443 in network.allowed_endpoints, or its range in network.allowed_ranges, to allow it.",
    );
  });

  it("says that a name cannot be resolved", async () => {
    const resolve = () => Promise.reject(Object.assign(new Error("x 10.0.0.1"), { code: "ENOTFOUND" }));
    expect((await failure(open, "https://gone.example/", { resolve })).message).toBe(
      "The name gone.example could not be resolved (ENOTFOUND).",
    );
    expect((await failure(open, "https://gone.example/", { resolve: async () => [] })).code).toBe("unresolvable");
  });

  it("judges the address that it dials: a second answer is never asked for", async () => {
    let asked = 0;
    const resolve = async () => (asked++ === 0 ? ["127.0.0.1"] : ["10.0.0.1"]);
    const byAddress: DecideEgress = (_endpoint, address) => ({
      allowed: true,
      rule: "test",
      allowPrivate: address === "127.0.0.1",
    });
    const answered = await createFetch(byAddress, { resolve })(`http://named.example:${port}/plain`);
    expect(answered.text()).toBe("hello");
    expect(seen.at(-1)?.headers.host).toBe(`named.example:${port}`);
    expect(asked).toBe(1);
  });

  it("tries the next address of a name when one does not answer", async () => {
    const free = await refusingPort();
    const fetch = createFetch(named, { resolve: async () => ["::1", "127.0.0.1"] });
    expect((await fetch(`http://named.example:${port}/plain`)).status).toBe(200);
    const error = await failure(() => ({ allowed: true, rule: "", allowPrivate: true }), `http://127.0.0.1:${free}/`);
    expect(error.message).toBe(`Could not connect to 127.0.0.1 on port ${free} (ECONNREFUSED).`);
  });
});

describe("redirects", () => {
  it("are followed five times and decided each time", async () => {
    const asked: string[] = [];
    const decide: DecideEgress = (endpoint, address) => {
      if (address === undefined) asked.push(endpoint.host);
      return named(endpoint, address);
    };
    const target = encodeURIComponent("/to?url=%2Fplain");
    expect((await createFetch(decide)(`${base}/to?url=${target}`)).url).toBe(`${base}/plain`);
    expect(asked).toHaveLength(3);
    seen.length = 0;
    expect((await failure(named, `${base}/loop`)).message).toBe("More than 5 redirects.");
    expect(seen).toHaveLength(6);
  });

  it.each(["http://10.0.0.1/", "http://localhost:1/", "file:///etc/passwd", "http://u:p@127.0.0.1/"])(
    "to %s end there",
    async (url) => {
      const error = await failure(named, `${base}/to?url=${encodeURIComponent(url)}`);
      expect(["denied", "bad-url"]).toContain(error.code);
    },
  );

  it("take no secrets to another origin and no body where the status says so", async () => {
    const elsewhere = `http://named.example:${port}/echo`;
    const fetch = createFetch(named, { resolve: async () => ["127.0.0.1"] });
    const request = {
      method: "POST",
      body: "q=1",
      headers: { Authorization: "s", cookie: "s", "content-type": "text/x" },
    } as const;
    expect((await fetch(`${base}/to?status=307&url=${encodeURIComponent(elsewhere)}`, request)).text()).toBe("q=1");
    expect(seen.at(-1)?.headers).not.toHaveProperty("authorization");
    expect(seen.at(-1)?.headers).toMatchObject({ host: `named.example:${port}`, "content-type": "text/x" });
    expect((await fetch(`${base}/to?status=303&url=%2Fecho`, request)).text()).toBe("");
    expect(seen.at(-1)?.method).toBe("GET");
    expect(seen.at(-1)?.headers).toMatchObject({ authorization: "s", cookie: "s" });
    expect((await fetch(`${base}/to?url=%2Fplain`, { redirect: "manual" })).status).toBe(302);
  });
});

describe("the answer", () => {
  it("is decoded once", async () => {
    const fetch = createFetch(named);
    expect((await fetch(`${base}/gzip`)).text()).toBe("packed");
    expect((await fetch(`${base}/br`)).text()).toBe("packed");
    expect((await failure(named, `${base}/twice`)).code).toBe("encoding");
    expect((await failure(named, `${base}/broken`)).code).toBe("broken");
    expect((await failure(named, `${base}/cut`)).code).toBe("broken");
  });

  it("is limited in bytes, as sent and as decoded", async () => {
    expect((await failure(named, `${base}/endless`, { maxBytes: 100_000 })).message).toBe(
      "The answer is larger than 100000 bytes.",
    );
    expect((await failure(named, `${base}/bomb`, { maxBytes: 100_000 })).code).toBe("too-large");
    expect((await failure(named, `${base}/ratio`)).message).toContain("more than 100 times its size");
    expect((await failure(named, `${base}/pieces`)).message).toContain("too many pieces");
    await expect(createFetch(named)(`${base}/plain`, { maxBytes: 4 })).rejects.toMatchObject({ code: "too-large" });
  });

  it("is waited for no longer than allowed, and not at all once cancelled", async () => {
    expect((await failure(named, `${base}/silent`, { timeoutMs: 50 })).message).toBe(
      "No complete answer within 50 milliseconds.",
    );
    const hung: FetchOptions = { timeoutMs: 50, resolve: () => new Promise(() => {}) };
    expect((await failure(open, "https://slow.example/", hung)).code).toBe("timeout");
    const reason = new Error("cancelled by the caller");
    const controller = new AbortController();
    const pending = failure(named, `${base}/silent`, {}, controller.signal);
    controller.abort(reason);
    expect(await pending).toBe(reason);
    expect(await failure(named, `${base}/plain`, {}, AbortSignal.abort(reason))).toBe(reason);
  });
});

it("ignores proxies named by the environment", async () => {
  const proxies = ["http_proxy", "HTTP_PROXY", "all_proxy", "NODE_USE_ENV_PROXY"];
  const before = proxies.map((name) => process.env[name]);
  for (const name of proxies) process.env[name] = name.startsWith("NODE") ? "1" : "http://127.0.0.1:1";
  try {
    expect((await createFetch(named)(`${base}/plain`)).text()).toBe("hello");
  } finally {
    proxies.forEach((name, index) =>
      before[index] === undefined ? delete process.env[name] : (process.env[name] = before[index]),
    );
  }
});
