// Bodies with secrets on the wire, by the proxy and by `fetch`: what arrives, what is said back, and what attacks come to.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DecideEgress } from "../../src/capabilities/egress-target.js";
import { EgressProxy } from "../../src/capabilities/egress-proxy.js";
import { createFetch, type PolicyFetch } from "../../src/capabilities/fetch.js";
import { SecretBroker } from "../../src/capabilities/secret-broker.js";
import { MAX_BODY_BYTES } from "../../src/capabilities/secret-exchange.js";
import { spellingsOf } from "../../src/audit/secret-spellings.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

const VALUE = 'va"lue & more/+\nend';
const OTHER_VALUE = "another-long-value";
/** What reached each host: `own` has the secret `key`, `twin` is its host as well, `other` is the one of `foreign`. */
const seen: { host: string; url: string; headers: Record<string, unknown>; body: string }[] = [];
const servers: Server[] = [];
const ports = { own: 0, twin: 0, other: 0 };
let broker: SecretBroker;
let proxy: EgressProxy;
let fetch: PolicyFetch;
let mark = "";

async function listen(host: string): Promise<number> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("latin1").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { url = "", headers } = request;
      seen.push({ host, url, headers, body });
      const to = /^\/to\/(\w+)$/.exec(url)?.[1] as keyof typeof ports | undefined;
      if (to !== undefined) response.writeHead(307, { location: `http://127.0.0.1:${ports[to]}/` });
      response.end(body);
    });
  });
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  for (const host of ["own", "twin", "other"] as const) ports[host] = await listen(host);
  const at = (...names: (keyof typeof ports)[]): string =>
    `[${names.map((name) => `{ host: 127.0.0.1, ports: [${ports[name]}] }`).join(", ")}, { host: api.test }]`;
  const text = `version: "1.0"
secrets:
  key: { from: "env:KEY", hosts: ${at("own", "twin")}, body: "*" }
  foreign: { from: "env:FOREIGN", hosts: ${at("other").replace(", { host: api.test }", "")}, body: "*" }
`;
  const policy = await parsePolicy(text, { file: "p.yaml", environment: {} });
  broker = new SecretBroker(policy.secrets.values(), {
    learn: (_name, value) => [...spellingsOf(value)],
    environment: { KEY: VALUE, FOREIGN: OTHER_VALUE },
  });
  mark = broker.placeholders()["key"] ?? "";
  const decide: DecideEgress = () => ({ allowed: true, rule: "test", allowPrivate: true });
  const toOwn = async (): Promise<ReturnType<typeof connect>> => {
    const socket = connect(ports.own, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  proxy = await EgressProxy.open({
    decide,
    resolve: async () => ["127.0.0.1"],
    secrets: broker,
    // Names are reached by https, which these servers do not speak.
    connect: async (target) => {
      if (target.scheme === "https") return await toOwn();
      const socket = connect(target.port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    },
  });
  fetch = createFetch(decide, { secrets: broker });
});
beforeEach(() => void (seen.length = 0));
afterAll(async () => {
  await proxy.close();
  for (const server of servers) server.close();
});

const urlOf = (host: keyof typeof ports, path = "/"): string => `http://127.0.0.1:${ports[host]}${path}`;

/** One request through the proxy; each piece is written once the one before has left. */
async function ask(url: string, headers: readonly string[], pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(proxy.socket);
  const { host } = new URL(url);
  socket.write([`POST ${url} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...headers, "", ""].join("\r\n"));
  let text = "";
  // Who is refused is not listened to any more, and may still be writing.
  socket.on("error", () => undefined);
  socket.setEncoding("latin1").on("data", (more: string) => (text += more));
  const over = new Promise((done) => socket.once("close", done));
  for (const piece of pieces) await new Promise((done) => socket.write(piece, done));
  await over;
  return text;
}

function sized(type: string, body: string): [readonly string[], readonly string[]] {
  return [[`Content-Type: ${type}`, `Content-Length: ${body.length}`], [body]];
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const hides = (text: string): void => {
  for (const spelling of spellingsOf(VALUE)) expect(text).not.toContain(spelling);
};

describe("a body through the proxy", () => {
  it.each([
    ["http", (): string => urlOf("own")],
    ["http that leaves by https", (): string => "http://api.test/"],
  ])("gets its secret and its new length by %s, and comes back without", async (_how, url) => {
    const answer = await ask(url(), ...sized("application/json", JSON.stringify({ client_secret: mark, n: 1 })));
    const [got] = seen;
    expect(JSON.parse(got?.body ?? "")).toEqual({ client_secret: VALUE, n: 1 });
    expect(got?.headers["content-length"]).toBe(String(got?.body.length));
    expect(answer).toContain(mark);
    hides(answer);
  });

  it("gets a secret that comes in pieces, and is sent whole", async () => {
    const body = `client_secret=${mark}&x=1`;
    const pieces = [...body].map(chunk);
    const headers = ["Content-Type: application/x-www-form-urlencoded", "Transfer-Encoding: chunked"];
    const answer = await ask(urlOf("own"), headers, [...pieces, "0\r\n\r\n"]);
    const [got] = seen;
    expect([...new URLSearchParams(got?.body)]).toEqual([
      ["client_secret", VALUE],
      ["x", "1"],
    ]);
    expect(got?.headers).toMatchObject({ "content-length": String(got?.body.length) });
    expect(got?.headers["transfer-encoding"]).toBeUndefined();
    hides(answer);
  });

  it("keeps the placeholder of a secret of another host", async () => {
    await ask(urlOf("other"), ...sized("text/plain", mark));
    const foreign = broker.placeholders()["foreign"] ?? "";
    await ask(urlOf("own"), ...sized("text/plain", `${foreign} ${mark}`));
    expect(seen.map(({ host, body }) => [host, body])).toEqual([
      ["other", mark],
      ["own", `${foreign} ${VALUE}`],
    ]);
  });

  it.each(["multipart/form-data; boundary=b", "application/octet-stream", "image/png"])(
    "keeps its placeholder as %s",
    async (type) => {
      const body = `--b\r\n\r\n${mark}\r\n--b--`;
      await ask(urlOf("own"), ...sized(type, body));
      expect(seen[0]?.body).toBe(body);
    },
  );

  it("that is huge passes as it is, a piece at a time, and is refused when it begins with a placeholder", async () => {
    const piece = "x".repeat(65_536);
    const pieces = Array.from({ length: (4 * MAX_BODY_BYTES) / piece.length }, () => piece);
    const length = `Content-Length: ${pieces.length * piece.length + mark.length}`;
    await ask(urlOf("own"), ["Content-Type: text/plain", length], [...pieces, mark]);
    expect(seen[0]?.body).toBe(pieces.join("") + mark);
    const refused = await ask(urlOf("own"), ["Content-Type: text/plain", length], [mark, ...pieces]);
    expect(refused).toMatch(/^HTTP\/1\.1 403 [^]*The secret "key" is not sent: the body is larger than 262144 bytes/);
    expect(seen).toHaveLength(1);
  });

  it("that is no JSON is refused, and nothing of it is sent", async () => {
    const answer = await ask(urlOf("own"), ...sized("application/json", `{"a":"${mark}`));
    expect(answer).toMatch(/^HTTP\/1\.1 403 [^]*the body is no JSON/);
    expect(seen).toEqual([]);
  });

  it("that breaks off is not sent", async () => {
    const socket = connect(proxy.socket);
    const head = ["Host: x", "Content-Type: text/plain", "Content-Length: 500", "", mark];
    await new Promise((done) => socket.write([`POST ${urlOf("own")} HTTP/1.1`, ...head].join("\r\n"), done));
    socket.end();
    await once(socket.resume(), "close");
    expect(seen).toEqual([]);
  });
});

describe("a body of fetch", () => {
  const type = { "content-type": "application/json" };

  it("gets its secret and its new length, and comes back without", async () => {
    const body = JSON.stringify({ client_secret: mark });
    const answer = await fetch(urlOf("own"), { method: "POST", headers: type, body });
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({ client_secret: VALUE });
    expect(seen[0]?.headers["content-length"]).toBe(String(seen[0]?.body.length));
    expect(answer.text()).toBe(body);
  });

  it("keeps the placeholder after a redirect to another origin, also to one the secret belongs to", async () => {
    const body = JSON.stringify([mark]);
    for (const to of ["own", "twin", "other"] as const)
      await fetch(urlOf("own", `/to/${to}`), { method: "POST", headers: type, body });
    const got = seen.map(({ host, body: text }) => `${host} ${text === body ? "placeholder" : "value"}`);
    expect(got).toEqual(["own value", "own value", "own value", "twin placeholder", "own value", "other placeholder"]);
  });

  it("keeps it on the way back from another origin", async () => {
    await fetch(urlOf("other", "/to/own"), { method: "POST", headers: type, body: JSON.stringify([mark]) });
    expect(seen.map(({ host, body }) => [host, body])).toEqual([
      ["other", JSON.stringify([mark])],
      ["own", JSON.stringify([mark])],
    ]);
  });

  it("that is too large is refused with a placeholder in it", async () => {
    const sent = { method: "POST", headers: type } as const;
    const body = JSON.stringify(["x".repeat(MAX_BODY_BYTES), mark]);
    await expect(fetch(urlOf("own"), { ...sent, body })).rejects.toThrow(/larger than 262144 bytes/);
    expect(seen).toEqual([]);
  });
});
