// T07: the network of what runs in the sandbox: probes from inside, and everything that can be asked of its only way out.
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { corpus } from "../support/corpora.mjs";
import { canProbe, escapes, isOfNetwork } from "../support/escapes.mjs";
import { hostileUrls } from "../support/hostile-urls.mjs";
import { listen, watchSockets } from "../support/sockets.mjs";

export const goal = { id: "T07", title: "Egress of sandboxed processes", atLeast: 250 };

const GOOD = "allowed.test";
const PROBES = fileURLToPath(new URL("../../packages/secure-local/test/sandbox/egress-probes.py", import.meta.url));

export async function run(report, parts) {
  if (!canProbe(parts)) return report.demand("bubblewrap and python3 are there to be tried", false);
  const { held, reached } = await escapes(parts);
  report.kind("escapes to a network, by a list");
  for (const [name, why] of Object.entries(held))
    if (isOfNetwork(name)) await report.attack(name, () => why !== null || "it got out");
  if (reached > 0) report.sideEffect(`${reached} connections to the canaries`);
  await connected(report, parts);
  await proxied(report, parts);
  await framed(report, parts);
}

export const defences = [
  {
    name: "Connection takes no length away",
    file: "secure-local/src/capabilities/egress-proxy.ts",
    find: "(FRAMING.has(name) || !named.includes(name))",
    replace: "!named.includes(name)",
  },
];

/** A body that is a request of its own: what reads on behind the first must find nothing. */
async function framed(report, { EgressProxy }) {
  report.kind("a second request as the body of the first", { found: "reader" });
  let got = "";
  const raw = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      got += bytes.toString("latin1");
      if (endOf(got) !== undefined) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
  });
  const { port } = await listen(raw);
  const proxy = await EgressProxy.open({ decide: () => ({ allowed: true, rule: "test", allowPrivate: true }) });
  const second = "GET /admin HTTP/1.1\r\nHost: other.internal\r\n\r\n";
  const size = second.length;
  const chunked = `${size.toString(16)}\r\n${second}\r\n0\r\n\r\n`;
  const bodies = {
    chunks: ["Transfer-Encoding: chunked", chunked],
    "chunks with a tail": ["Transfer-Encoding: chunked", chunked.replace(/\r\n$/, "X-Tail: a\r\n\r\n")],
    "chunks, in capitals": ["TRANSFER-ENCODING: Chunked", chunked],
    length: [`Content-Length: ${size}`, second],
    "length in capitals": [`CONTENT-LENGTH: ${size}`, second],
    "no length": ["X-None: 1", second],
    both: [`Content-Length: ${size}\r\nTransfer-Encoding: chunked`, chunked],
    "two lengths": [`Content-Length: 0\r\nContent-Length: ${size}`, second],
  };
  const connections = [
    "",
    "Connection: content-length",
    "Connection: close, Content-Length",
    "Connection: transfer-encoding",
    "Connection: Content-Length, keep-alive, host",
  ];
  for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "PROPFIND"])
    for (const [name, [headers, body]] of Object.entries(bodies))
      for (const connection of connections)
        await report.attack(
          `${method}, ${name}, ${connection}`,
          async () => {
            got = "";
            const extra = connection === "" ? "" : `${connection}\r\n`;
            await ask(
              proxy.socket,
              `${method} http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: a\r\n${headers}\r\n${extra}\r\n${body}`,
            );
            const end = got === "" ? 0 : (endOf(got) ?? got.length);
            return got.slice(end) === "" && !/\r\nhost: other/i.test(got.slice(0, got.indexOf("\r\n\r\n")))
              ? true
              : got;
          },
          { again: true, slowMs: 100 },
        );
  for (const method of ["POST", "PUT", "DELETE", "PATCH"])
    await report.benign(`${method} with a body of a length`, async () => {
      got = "";
      await ask(
        proxy.socket,
        `${method} http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n${second}`,
      );
      return got.endsWith(second);
    });
  await proxy.close();
  raw.close();
}

/** Where the first request ends, as its own head says; undefined as long as it is not there. */
function endOf(text) {
  const body = text.indexOf("\r\n\r\n") + 4;
  if (body < 4) return undefined;
  const head = text.slice(0, body);
  if (/^transfer-encoding:.*chunked/im.test(head)) {
    const last = text.indexOf("\r\n0\r\n\r\n", body - 2);
    return last < 0 ? undefined : last + 7;
  }
  const end = body + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  return end <= text.length ? end : undefined;
}

/** From inside a sandbox that may use the network: past its proxy, and more out of it than the policy allows. */
async function connected(report, { probeEgress }) {
  const { attacks, uses, reached, lookedUp } = await probeEgress(PROBES);
  report.kind("connections from inside past the proxy");
  for (const [name, why] of Object.entries(attacks))
    await report.attack(`inside: ${name}`, () => why !== null || "it got through");
  for (const [name, worked] of Object.entries(uses)) await report.benign(`inside: ${name}`, () => worked);
  if (reached > 0) report.sideEffect(`${reached} connections to the canary`);
  const others = lookedUp.filter((name) => name !== GOOD && name !== "rebound.test");
  if (others.length > 0) report.sideEffect(`looked up ${others.join(", ")}`);
  report.demand(
    "40 attacks and 20 honest uses from inside",
    Object.keys(attacks).length >= 40 && Object.keys(uses).length >= 20,
  );
}

/** A proxy under a decision that names one host, and a canary that sees what comes out of it. */
async function proxied(report, { EgressProxy }) {
  const watch = watchSockets();
  const got = [];
  const raw = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (bytes) => {
      got.push(bytes);
      socket.end("answered");
    });
  });
  const { port } = await listen(raw);
  const plain = createHttpServer((_request, response) => response.setHeader("connection", "close").end("plain answer"));
  const web = await listen(plain);
  const known = new Set([port, web.port]);
  const decide = ({ host, port: asked }) => ({
    allowed: host === GOOD && known.has(asked),
    rule: "test",
    allowPrivate: host === GOOD,
  });
  const proxy = await EgressProxy.open({ decide, resolve: async () => ["127.0.0.1"] });
  const open = await EgressProxy.open({
    decide: () => ({ allowed: true, rule: "any" }),
    resolve: async (host) => [host.replace(".test", "")],
  });
  const refuses = (name, ask) =>
    report.attack(name, async () => {
      got.length = 0;
      watch.take();
      const answer = await ask();
      if (got.length > 0) report.sideEffect(`${name}: bytes got out`);
      return !/answered|plain answer/.test(answer) || answer.slice(0, 100);
    });
  const tunnel = (to, authority, then) =>
    ask(to.socket, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, then);
  report.kind("tunnels to other names");
  const authorities = hostileUrls(GOOD).flatMap((url) =>
    URL.canParse(url) ? [new URL(url).host, url.replace(/^\w+:\/*/, "").replace(/\/.*$/s, "")] : [],
  );
  for (const authority of new Set(authorities.filter((one) => one !== GOOD && !/[\r\n]/.test(one) && isLatin(one))))
    await refuses(`CONNECT ${JSON.stringify(authority)}`, () => tunnel(proxy, `${authority}:${port}`));
  report.kind("tunnels to addresses");
  for (const { addr, verdict } of corpus("ip-verdicts.json", []))
    if (verdict === "deny")
      await refuses(`a tunnel to ${addr}`, () => tunnel(open, `${addr.includes(":") ? `[${addr}]` : addr}:${port}`));
  report.kind("tunnels that open otherwise than by TLS to their name");
  const hello = await helloFor(GOOD);
  const others = {
    "another server name": await helloFor("evil.test"),
    "no server name": await helloFor(""),
    "no TLS": Buffer.from("GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"),
    "half a hello": hello.subarray(0, 20),
    zeros: Buffer.alloc(2_000),
  };
  for (const [name, bytes] of Object.entries(others))
    await refuses(`a tunnel with ${name}`, () => tunnel(proxy, `${GOOD}:${port}`, bytes));
  report.kind("other ports");
  for (const asked of [22, 25, 53, 80, 443, 445, 3_306, 6_379, 65_535, 0, 65_536, -1, "ssh", ""])
    await refuses(`port ${asked}`, () => tunnel(proxy, `${GOOD}:${asked}`));
  report.kind("requests without a tunnel to another place");
  for (const url of [
    `http://evil.test:${web.port}/`,
    `https://${GOOD}:${port}/`,
    "/path",
    "file:///etc/passwd",
    `ftp://${GOOD}/`,
    `http://${GOOD}@evil.test/`,
    `http://evil.test/?${GOOD}`,
    `http://[::1]:${web.port}/`,
  ])
    await refuses(`GET ${url}`, () =>
      ask(proxy.socket, `GET ${url} HTTP/1.1\r\nHost: ${GOOD}\r\nConnection: close\r\n\r\n`),
    );
  for (let turn = 0; turn < 10; turn += 1) {
    await report.benign(`a tunnel, ${turn}`, async () =>
      /answered/.test(await tunnel(proxy, `${GOOD}:${port}`, hello)),
    );
    await report.benign(`a page, ${turn}`, async () =>
      /plain answer/.test(
        await ask(
          proxy.socket,
          `GET http://${GOOD}:${web.port}/${turn} HTTP/1.1\r\nHost: ${GOOD}\r\nConnection: close\r\n\r\n`,
        ),
      ),
    );
  }
  await Promise.all([proxy.close(), open.close()]);
  raw.close();
  plain.close();
  watch.stop();
}

const isLatin = (text) => Buffer.from(text, "latin1").toString("latin1") === text;

/** What the proxy says to a request, and after it. */
async function ask(path, head, then) {
  const socket = connect(path);
  let got = "";
  socket.setEncoding("latin1").on("data", (text) => {
    got += text;
    // A tunnel that is open waits for its first bytes.
    if (then === undefined && got.startsWith("HTTP/1.1 200 ")) socket.end();
  });
  socket.on("error", () => undefined);
  socket.write(head);
  if (then !== undefined) {
    while (!got.includes("\r\n\r\n")) await once(socket, "data");
    socket.write(then);
    setTimeout(() => socket.end(), 300).unref();
  }
  await once(socket, "close");
  return got;
}

/** The first bytes a TLS client sends for a name. */
async function helloFor(servername) {
  const server = createServer();
  const { port } = await listen(server);
  const client = connectTls({ port, host: "127.0.0.1", ...(servername === "" ? {} : { servername }) }).on(
    "error",
    () => undefined,
  );
  const [socket] = await once(server, "connection");
  const [bytes] = await once(socket, "data");
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}
