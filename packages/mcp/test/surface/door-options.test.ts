// Hosts, origins and keys that can never work are refused before anything listens, with what to write instead.
import { afterEach, describe, expect, it } from "vitest";
import { toFetch } from "../../src/http/server/to-fetch.js";
import { serveHttp, toNodeHandler } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const server = (): Server => new Server({ name: "door", version: "1", report: false });

type Start = (options: object) => unknown;
const STARTS: Record<string, Start> = {
  serveHttp: async (options) => {
    const serving = await serveHttp(server(), { signals: false, ...options });
    closing.push(() => serving.close());
  },
  toNodeHandler: (options) => void toNodeHandler(server(), options),
  toFetch: (options) => void toFetch(server(), options),
};

async function refusal(start: Start, options: object): Promise<unknown> {
  try {
    await start(options);
  } catch (error) {
    return error;
  }
  return undefined;
}

/** What people write for a host, and what they are told. */
const BAD_HOSTS: readonly (readonly [host: string, told: string])[] = [
  ["https://mcp.example.com", 'write "mcp.example.com"'],
  ["http://mcp.example.com:8443/mcp", 'write "mcp.example.com:8443"'],
  ["mcp.example.com/", 'write "mcp.example.com"'],
  ["mcp.example.com/mcp", 'write "mcp.example.com"'],
  ["mcp.example.com?x", 'write "mcp.example.com"'],
  [" mcp.example.com", 'write "mcp.example.com"'],
  ["mcp.example.com ", 'write "mcp.example.com"'],
  ["münchen.de", 'write "xn--mnchen-3ya.de"'],
  ["münchen.de:8443", 'write "xn--mnchen-3ya.de:8443"'],
  ["*", "no patterns"],
  ["*.example.com", "no patterns"],
  ["", "write the name"],
  ["a b", "write the name"],
];
const GOOD_HOSTS = [
  "mcp.example.com",
  "MCP.example.com:443",
  "localhost",
  "127.0.0.1:80",
  "[::1]:3000",
  "my_host",
  "a-b",
];

const BAD_ORIGINS: readonly (readonly [origin: string, told: string])[] = [
  ["https://app.example.com/", 'write "https://app.example.com"'],
  ["https://app.example.com/page?x#y", 'write "https://app.example.com"'],
  ["app.example.com", 'write "https://app.example.com"'],
  ["localhost:3000", 'write "https://localhost:3000"'],
  ["https://app.example.com:443", 'write "https://app.example.com"'],
  ["http://app.example.com:80", 'write "http://app.example.com"'],
  [" https://app.example.com", 'write "https://app.example.com"'],
  ["https://app.example.com\n", 'write "https://app.example.com"'],
  ["https://user@app.example.com", 'write "https://app.example.com"'],
  ["https://münchen.de", 'write "https://xn--mnchen-3ya.de"'],
  ["*", "no patterns"],
  ["https://*.example.com", "no patterns"],
  ["https://", "write the scheme"],
  ["", "write the scheme"],
];
const GOOD_ORIGINS = [
  "https://app.example.com",
  "https://APP.example.com:8443",
  "http://localhost:3000",
  "http://[::1]:3000",
  "chrome-extension://abcdefghijklmnop",
  "vscode-webview://1a2b",
  "capacitor://localhost",
  "null",
];

const LISTS = [
  ["allowedHosts", BAD_HOSTS, GOOD_HOSTS],
  ["publicHosts", BAD_HOSTS, GOOD_HOSTS],
  ["allowedOrigins", BAD_ORIGINS, GOOD_ORIGINS],
] as const;

for (const [option, bad, good] of LISTS) {
  const starts = Object.entries(STARTS).filter(([name]) => option !== "publicHosts" || name === "serveHttp");
  describe.each(starts)(`${option} of %s`, (_name, start) => {
    it.each(bad)("is refused for %j: %s", async (value, told) => {
      for (const list of [[value], [good[0] as string, value]]) {
        const error = await refusal(start, { [option]: list });
        expect(error).toMatchObject({ code: "BAD_OPTIONS" });
        const { message } = error as Error;
        expect(message).toContain(`${option} has ${JSON.stringify(value)}`);
        expect(message).toContain(told);
        // Whoever writes what is said is let in.
        const meant = /write "([^"]+)"$/.exec(message)?.[1];
        if (meant !== undefined) expect(await refusal(start, { [option]: [meant] })).toBeUndefined();
      }
    });

    it("takes what can be sent", async () => {
      expect(await refusal(start, { [option]: good })).toBeUndefined();
    });
  });
}

const USELESS: readonly (readonly [options: object, told: string, only?: string])[] = [
  [{ allowedHosts: [] }, "nobody is served"],
  [{ cors: true }, "there are none"],
  [{ allowedHosts: ["a.com"], publicHosts: ["a.com"] }, "Give allowedHosts or publicHosts", "serveHttp"],
];

describe.each(Object.entries(STARTS))("%s", (name, start) => {
  const mine = USELESS.filter(([, , only]) => only === undefined || only === name);
  it.each(mine.map(([options, told]) => ({ options, told })))("refuses $options", async ({ options, told }) => {
    const error = await refusal(start, options);
    expect(error).toMatchObject({ code: "BAD_OPTIONS", message: expect.stringContaining(told) });
  });

  it("takes lists that a program fills", async () => {
    expect(await refusal(start, { allowedOrigins: [] })).toBeUndefined();
    expect(await refusal(start, { cors: true, allowedOrigins: ["https://a.com"] })).toBeUndefined();
  });
});

it("names an origin where the program has an option of its own for it", async () => {
  const error = await refusal(STARTS["toNodeHandler"] as Start, { allowedOrigins: ["*"], originOption: "--origin" });
  expect((error as Error).message).toContain('--origin has "*"');
});

const PEM = "-----BEGIN CERTIFICATE-----\nno certificate\n-----END CERTIFICATE-----\n";
const TLS: readonly (readonly [string, object, string])[] = [
  ["nothing", {}, "tls has no key and cert"],
  ["undefined members", { key: undefined, cert: undefined }, "tls has no key and cert"],
  ["a key alone", { key: PEM }, "tls has no cert"],
  ["a certificate alone", { cert: PEM }, "tls has no key"],
  ["a passphrase alone", { passphrase: "x" }, "tls has no key and cert"],
  ["promises", { key: Promise.resolve(PEM), cert: PEM }, "tls.key is a promise"],
  ["a path of a key", { key: "/etc/key.pem", cert: PEM }, "tls.key is a path"],
  ["a path of a certificate", { key: PEM, cert: "server.crt" }, "tls.cert is a path"],
  ["paths of Windows", { key: "C:\\keys\\a", cert: PEM }, "tls.key is a path"],
  ["a path within a list", { key: PEM, cert: [PEM, "ca.pem"] }, "tls.cert is a path"],
  ["a path within an object", { key: [{ pem: "key.pem", passphrase: "x" }], cert: PEM }, "tls.key is a path"],
  ["words", { key: "k", cert: "c" }, "tls.key is no PEM"],
  ["a number", { key: 7, cert: PEM }, "tls.key is neither"],
  ["what Node cannot read", { key: PEM, cert: PEM }, "tls cannot be used: "],
  ["bytes that are none", { key: new Uint8Array([1, 2]), cert: new Uint8Array([3]) }, "tls cannot be used: "],
  ...["keyFile", "certFile", "keyPath", "key_file", "crt", "certificate", "privateKey", "pfxFile", "caFile"].map(
    (name) => [name, { key: PEM, cert: PEM, [name]: "x" }, `tls has no member "${name}"`] as const,
  ),
];

it.each(TLS)("tls is refused with %s", async (_name, tls, told) => {
  const error = await refusal(STARTS["serveHttp"] as Start, { tls });
  expect(error).toMatchObject({ code: "BAD_OPTIONS" });
  expect((error as Error).message).toMatch(/readFileSync\(keyFile\)/);
  expect((error as Error).message).toContain(told);
});
