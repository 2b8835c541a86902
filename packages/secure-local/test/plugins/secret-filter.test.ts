// The parts of secrets that need no process: values found in any pieces, hosts reached by https, two secrets of one name.
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repeated } from "../../../mcp/test/support/soak.js";
import { spellingsOf } from "../../src/audit/secret-spellings.js";
import { EgressProxy } from "../../src/capabilities/egress-proxy.js";
import { parseTarget } from "../../src/capabilities/egress-target.js";
import { SecretBroker, SecretError } from "../../src/capabilities/secret-broker.js";
import { SecretFilter } from "../../src/capabilities/secret-exchange.js";
import type { SecretPolicy } from "../../src/policy/policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

async function secretsOf(text: string): Promise<Iterable<SecretPolicy>> {
  const policy = await parsePolicy(`version: "1.0"\nsecrets: { ${text} }\n`, { file: "p.yaml", environment: {} });
  return policy.secrets.values();
}
const learn = (_name: string, value: string): readonly string[] => [value];

describe("a filter", () => {
  const filter = new SecretFilter([
    ["correct horse", "LONG"],
    ["correct", "SHORT"],
    ["häßlich", "UMLAUT"],
  ]);

  test("finds a value whatever the pieces it comes in, the longest first", async () => {
    const text = "a correct horse, a CORRECT hors, häßlich; correct horsecorrect horse häßlic correct";
    const wanted = "a LONG, a SHORT hors, UMLAUT; LONGLONG häßlic SHORT";
    const cuts = fc.array(fc.integer({ min: 0, max: Buffer.byteLength(text) }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const bytes = Buffer.from(text);
        const stream = filter.stream();
        const all = [0, ...places.toSorted((a, b) => a - b), bytes.length];
        for (const [index, at] of all.slice(1).entries()) stream.write(bytes.subarray(all[index], at));
        stream.end();
        const got = (await stream.toArray()) as Buffer[];
        expect(Buffer.concat(got).toString()).toBe(wanted);
      }),
      { numRuns: repeated(100, 300) },
    );
    expect(Buffer.from(filter.bytes(Buffer.from(text))).toString()).toBe(wanted);
  });

  test("finds a value that has what looks like an escape itself, beside characters that are escaped", () => {
    for (const value of ['s"ecret\\& 0+/%', "se%41cret-%2541", "\\u0041secret\\x42"]) {
      const found = new SecretFilter(
        [...spellingsOf(value)].map((text) => [text, "HIDDEN"] as const),
        [[value, "HIDDEN"]],
      );
      for (const every of [2, 3, 7])
        for (const [mark, digits] of [
          ["%", 2],
          ["\\u", 4],
          ["\\x", 2],
        ] as const) {
          const escape = (character: string): string =>
            mark + character.charCodeAt(0).toString(16).padStart(digits, "0");
          const text = [...value].map((each, at) => (at % every === 0 ? escape(each) : each)).join("");
          expect(found.text(`a ${text} b`), text).toBe("a HIDDEN b");
        }
    }
  });

  test("finds a value in Base64 at every place, in hexadecimal, and with any of its characters escaped", async () => {
    const value = "s3cr3t-Value/of+ours";
    const known = [...spellingsOf(value)].map((spelling) => [spelling, "HIDDEN"] as const);
    const found = new SecretFilter(known, [[value, "HIDDEN"]]);
    const code = (character: string, length: number): string =>
      character.charCodeAt(0).toString(16).padStart(length, "0");
    const ways: ((text: string, at: number) => string)[] = [
      (character) => `%${code(character, 2)}`,
      (character) => `%${code(character, 2).toUpperCase()}`,
      (character) => `\\u${code(character, 4)}`,
      (character) => `\\x${code(character, 2)}`,
      (character, at) => (at % 2 === 0 ? character : `%${code(character, 2)}`),
      (character, at) => (at % 3 === 0 ? `\\u${code(character, 4)}` : character),
      (character, at) => (at === 0 ? `%${code(character, 2)}` : character),
    ];
    const texts = ways.map((way) => [...value].map((character, at) => way(character, at)).join(""));
    for (const alphabet of ["base64", "base64url", "hex"] as const)
      for (let before = 0; before < 7; before += 1)
        for (let after = 0; after < 4; after += 1)
          texts.push(Buffer.from("x".repeat(before) + value + "y".repeat(after)).toString(alphabet));
    texts.push(
      Buffer.from(value)
        .toString("hex")
        .replace(/..(?=.)/g, "$&:"),
    );
    const pieces = ["3cr3t-Value/of+our", "Value", Buffer.from(value).toString("base64").slice(6, 18)];
    const through: string[] = [];
    for (const text of texts) {
      const stream = found.stream();
      for (const character of `before ${text} after`) stream.write(character);
      stream.end();
      const streamed = Buffer.concat((await stream.toArray()) as Buffer[]).toString();
      for (const got of [found.text(text), streamed, Object.keys(found.headers({ [`x-${text}`]: "1" })).join()])
        if (!got.includes("HIDDEN") || pieces.some((piece) => got.includes(piece))) through.push(`${text}: ${got}`);
    }
    expect(through).toEqual([]);
    expect(found.text("50% of \\u0041 and %41 is fine")).toBe("50% of \\u0041 and %41 is fine");
  });

  test("that looks for nothing leaves everything", async () => {
    const stream = new SecretFilter([]).stream();
    stream.end("text");
    expect(Buffer.concat((await stream.toArray()) as Buffer[]).toString()).toBe("text");
  });
});

describe("a broker", () => {
  test.each([
    ["http://api.test/x?y=1", "https://api.test/x?y=1"],
    ["http://api.test:443/", "https://api.test/"],
    ["http://api.test:8443/", "https://api.test:8443/"],
    ["http://api.test:8080/", undefined],
    ["http://other.test/", undefined],
    ["https://api.test/", undefined],
    ["http://127.0.0.1:9000/", undefined],
  ])("has %s leave as %s", async (url, wanted) => {
    const hosts = "[api.test, { host: api.test, ports: [8443] }, { host: 127.0.0.1, ports: [9000] }]";
    const broker = new SecretBroker(await secretsOf(`key: { from: "env:X", hosts: ${hosts} }`), { learn });
    expect(broker.secured(parseTarget(url))?.url.href).toBe(wanted);
  });

  test("sends nothing in plain text to another machine", async () => {
    const secrets = await secretsOf('key: { from: "env:X", hosts: [{ host: lan.test, ports: [8080] }] }');
    const broker = new SecretBroker(secrets, { learn, environment: { X: "a-long-value" } });
    const exchange = await broker.at(parseTarget("http://lan.test:8080/"));
    expect(() => exchange?.headers({ "x-key": broker.placeholders()["key"] ?? "" })).toThrow(/only goes over https/);
  });

  test("refuses two secrets that would be one variable", async () => {
    const secrets = await secretsOf('a-b: { from: "env:X", hosts: [] }, a_b: { from: "env:Y", hosts: [] }');
    expect(() => new SecretBroker(secrets, { learn }).variables()).toThrow(SecretError);
  });
});

describe("a plain request through the proxy", () => {
  const seen: string[] = [];
  const dialled: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.headers.host} ${String(request.headers["x-key"])} ${request.headers.range}`);
    if (request.url === "/packed") return response.setHeader("content-encoding", "gzip").end("?");
    return response.setHeader("x-echo", "a-long-value").end("it was a-long-value");
  });
  let proxy: EgressProxy;
  let placeholder = "";

  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const secrets = new SecretBroker(await secretsOf('key: { from: "env:X", hosts: [api.test] }'), {
      learn,
      environment: { X: "a-long-value" },
    });
    placeholder = secrets.placeholders()["key"] ?? "";
    proxy = await EgressProxy.open({
      decide: ({ scheme, port: asked }) => ({
        allowed: scheme === "https" && asked === 443,
        rule: "test",
        allowPrivate: true,
      }),
      resolve: async () => ["127.0.0.1"],
      secrets,
      connect: async ({ scheme, host, port: asked }) => {
        dialled.push(`${scheme} ${host} ${asked}`);
        const socket = connect(port, "127.0.0.1");
        await once(socket, "connect");
        return socket;
      },
    });
  });
  afterAll(async () => {
    await proxy.close();
    server.close();
  });

  async function ask(path: string): Promise<string> {
    const socket = connect(proxy.socket);
    socket.write(
      `GET http://api.test${path} HTTP/1.1\r\nHost: api.test\r\nX-Key: ${placeholder}\r\nRange: bytes=0-3\r\nConnection: close\r\n\r\n`,
    );
    let text = "";
    for await (const chunk of socket.setEncoding("latin1")) text += String(chunk);
    return text;
  }

  test("to the host of a secret leaves by https, and its answer comes back without the value", async () => {
    const answer = await ask("/");
    expect(dialled).toEqual(["https api.test 443"]);
    // A part of an answer could hold a part of the value.
    expect(seen).toEqual(["api.test a-long-value undefined"]);
    expect(answer).not.toContain("a-long-value");
    expect(answer).toContain(`x-echo: ${placeholder}`);
    expect(answer).toContain(`it was ${placeholder}`);
  });

  test.each([
    ["CONNECT", Buffer.from("CONNECT api.test:443 HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 403 [^]*ask for http:\/\/HOST/],
    // Greeting, and a request for a name; the answers: no authentication, not allowed (RFC 1928 6).
    ["SOCKS", Buffer.from([5, 1, 0, 5, 1, 0, 3, 8, ...Buffer.from("api.test"), 1, 187]), /^\x05\x00\x05\x02/],
  ])("is the only way to the host of a secret: %s is refused", async (_how, bytes, wanted) => {
    const socket = connect(proxy.socket).setEncoding("latin1");
    socket.write(bytes);
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    expect(text).toMatch(wanted);
    expect(dialled).toHaveLength(1);
  });

  test("gets no answer that nobody can look into", async () => {
    expect(await ask("/packed")).toMatch(/^HTTP\/1\.1 502 [^]*compressed although that was not asked for/);
  });
});
