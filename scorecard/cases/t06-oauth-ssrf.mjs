// T06: hostile OAuth metadata: no request to the inside, no credential to anybody but the issuer.
import { authorize, flowAttacks, ISSUER, SERVER, virtualWeb } from "../support/virtual-web.mjs";

export const goal = { id: "T06", title: "SSRF by authorization metadata, keys and challenges", atLeast: 350 };

const WELL_KNOWN = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
const AS_WELL_KNOWN = `${ISSUER}/.well-known/oauth-authorization-server`;

/** Places metadata may not lead to, from a server on the internet. */
const BAD_URLS = [
  ...["http://127.0.0.1/", "https://127.0.0.1/", "https://localhost/", "http://localhost:8080/", "https://[::1]/"],
  ...[
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "https://10.0.0.7/",
    "https://192.168.1.1/",
  ],
  ...[
    "https://[fd00::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://0xa9fea9fe/",
    "https://2130706433/",
    "https://017700000001/",
  ],
  ...[
    "https://127.1/",
    "https://0/",
    "http://as.example/",
    "ftp://as.example/",
    "file:///etc/passwd",
    "gopher://as.example/",
  ],
  ...[
    "javascript:alert(1)",
    "data:application/json,{}",
    "https://user:pass@as.example/",
    "https://x.localhost/",
    "about:blank",
  ],
  ...[
    "//169.254.169.254/",
    "/relative",
    "",
    "nonsense",
    `https://as.example/${"x".repeat(3_000)}`,
    "https://as.example/#frag",
  ],
];
/** Good as URLs, of somebody else. */
const FOREIGN_URLS = [
  "https://evil.example/",
  "https://as.example.evil.example/",
  "https://mcp.example.evil.example/x",
];
const ENDPOINTS = ["authorization_endpoint", "token_endpoint", "registration_endpoint"];
const STOPS = new Set([
  "AUTH_DISCOVERY",
  "AUTH_ISSUER",
  "AUTH_RESOURCE",
  "AUTH_PKCE",
  "AUTH_REGISTRATION",
  "AUTH_TOKEN",
]);

export async function run(report, parts) {
  const attack = flowAttacks(report, parts, ({ name, web, error }) => {
    for (const url of web.strays()) report.sideEffect(`${name}: ${url} was asked`);
    if (web.requests.some(({ redirect }) => redirect !== "manual")) return "a request follows redirects by itself";
    return STOPS.has(error?.code) || String(error);
  });
  for (const url of [...BAD_URLS, ...FOREIGN_URLS]) {
    const shown = url.slice(0, 60);
    report.kind("a challenge that names a place inside");
    if (url !== "") await attack(`a challenge to ${shown}`, {}, { challenge: `Bearer resource_metadata="${url}"` });
    report.kind("metadata that names a place inside");
    await attack(`the resource ${shown}`, { prm: { resource: url } });
    await attack(`the issuer ${shown}`, { prm: { authorization_servers: [url] } });
    await attack(`metadata of the issuer ${shown}`, { metadata: { issuer: url } });
    for (const name of ENDPOINTS) await attack(`${name} ${shown}`, { metadata: { [name]: url } });
    report.kind("a redirect to a place inside");
    for (const from of [WELL_KNOWN, AS_WELL_KNOWN, `${ISSUER}/register`, `${ISSUER}/token`])
      await attack(`${from} redirects to ${shown}`, {
        answers: {
          [from]: () => new Response(null, { status: 307, headers: url === "" ? {} : { location: encodeURI(url) } }),
        },
      });
  }
  await documents(report, attack);
  await addresses(report, parts);
  await honest(report, parts);
}

/** Documents that are too long, no JSON, say things twice, or are not what they should be. */
async function documents(report, attack) {
  report.kind("documents that are too long, say things twice, or are none");
  const bodies = {
    "a megabyte": `{"issuer":"${"x".repeat(1_000_000)}"}`,
    "no JSON": "<html>",
    "a list": "[]",
    "a number": "7",
    "a key twice": `{"issuer":"${ISSUER}","issuer":"https://evil.example","resource":"${SERVER}","resource":"x"}`,
    __proto__: `{"__proto__":{"issuer":"${ISSUER}","authorization_servers":["${ISSUER}"],"resource":"${SERVER}"}}`,
    deep: `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`,
    "not UTF-8": new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
  };
  for (const [name, body] of Object.entries(bodies))
    for (const at of [WELL_KNOWN, AS_WELL_KNOWN])
      await attack(`${name} at ${at}`, {
        // A server without a document of its own is its own authorization server: that must lead nowhere here.
        answers: {
          [at]: () => new Response(body, { headers: { "content-type": "application/json" } }),
          "https://mcp.example/register": () => new Response(null, { status: 404 }),
        },
      });
}

/** What the names of metadata resolve to is judged where it is dialled: see T05 for every address. */
async function addresses(report, { guardedFetch, ...parts }) {
  report.kind("names of metadata that resolve to a place inside");
  for (const address of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.100.100.200", "192.168.0.1", "172.20.0.1"])
    await report.attack(`all names resolve to ${address}`, async () => {
      const fetch = guardedFetch({ trusted: ["https://other.example/"], lookup: async () => [{ address, family: 4 }] });
      const web = virtualWeb();
      const { error } = await authorize(parts, { ...web, fetch });
      return error?.code === "AUTH_DISCOVERY" || `${error?.code}: ${error?.message}`;
    });
}

async function honest(report, parts) {
  const uses = {
    plain: [{}, {}],
    "a challenge of its own origin": [{}, { challenge: `Bearer resource_metadata="${WELL_KNOWN}"` }],
    "more members than known": [{ metadata: { future: { a: [1] } }, prm: { x: null } }, {}],
    "a host the user allows": [
      { metadata: { authorization_endpoint: "https://login.example/a" } },
      { allowHosts: ["login.example"] },
    ],
    "the parent of the path": [{ prm: { resource: "https://mcp.example/" } }, {}],
    "a registered client": [
      { metadata: { registration_endpoint: undefined } },
      { preRegistered: { issuer: ISSUER, clientId: "c" } },
    ],
  };
  for (const [name, [world, options]] of Object.entries(uses))
    await report.benign(name, async () => {
      const { error, headers } = await authorize(parts, virtualWeb(world), options);
      return (
        headers?.authorization === "Bearer the-token" ||
        headers?.Authorization === "Bearer the-token" ||
        String(error ?? JSON.stringify(headers))
      );
    });
}
