// T05: SSRF: every address, spelling, name that flips and redirect chain, at each way out there is.
import { Resolver } from "node:dns/promises";
import { createServer } from "node:http";
import net from "node:net";
import { clothesOf } from "../support/clothes.mjs";
import { corpus } from "../support/corpora.mjs";
import { hostileUrls, spellingsOf } from "../support/hostile-urls.mjs";
import { session, wasDenied } from "../support/session.mjs";
import { listen, nameServer, watchSockets } from "../support/sockets.mjs";
import { refusal } from "../report/own-faults.mjs";

export const goal = { id: "T05", title: "SSRF: addresses, spellings, rebinding, redirects", atLeast: 1_700 };

const GOOD = "api.example.com";
const PUBLIC = "93.184.216.34";
const REBINDINGS = 200;

/** Own rows, also where the corpus is absent: borders of ranges, and each private address inside others. */
const OWN_DENIED = [
  ...["0.255.255.255", "10.0.0.0", "100.64.0.0", "127.1.2.3", "169.254.0.0", "169.254.255.255", "172.31.255.255"],
  ...["192.0.0.1", "192.0.0.255", "192.0.2.255", "192.88.99.1", "192.168.255.255", "198.18.0.0", "198.51.100.255"],
  ...["203.0.113.0", "224.0.0.1", "239.255.255.255", "255.255.255.254", "168.63.129.16", "100.100.100.200"],
  ...["::", "::1", "fc00::", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1"],
  ...["fd00:ec2::254", "64:ff9b:1::1", "2001::1", "3fff::1", "5f00::1", "4000::1", "::ffff:0:127.0.0.1"],
].concat(
  [
    [127, 0, 0, 1],
    [10, 1, 2, 3],
    [169, 254, 169, 254],
    [192, 168, 0, 1],
  ]
    .flatMap(spellingsOf)
    .filter((text) => text.startsWith("["))
    .map((text) => text.slice(1, -1)),
);
const OWN_ALLOWED = [
  ...["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"],
  ...["128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0"],
  ...["198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::8a", "2620:fe::fe"],
];

export async function run(report, parts) {
  const watch = watchSockets();
  const rows = corpus("ip-verdicts.json", []);
  const of = (verdict) => rows.filter((row) => row.verdict === verdict).map(({ addr }) => addr);
  const denied = [...new Set([...of("deny"), ...OWN_DENIED])];
  const allowed = [...new Set([...of("allow"), ...OWN_ALLOWED])];
  await addresses(report, parts, { denied, allowed, watch });
  await urls(report, parts, watch);
  await throughTheProduct(report, parts, { denied, watch });
  await rebinding(report, parts, watch);
  await redirects(report, parts);
  await ownAddresses(report, parts);
  watch.stop();
}

export const defences = [
  {
    name: "addresses of this machine are looked for inside of others",
    file: "secure-local/src/capabilities/resolve.ts",
    find: "own.has(address) || addressForms(address)",
    replace: "own.has(address) || addressForms('')",
  },
];

/** A public address of this machine leads to its own services, in whatever clothes an answer brings it. */
async function ownAddresses(report, { resolveAllowed }) {
  report.kind("a public address of this machine inside of another", { found: "reader" });
  const target = { scheme: "https", host: GOOD, port: 443, literal: false, url: new URL(`https://${GOOD}/`) };
  for (const four of [
    [93, 184, 216, 34],
    [8, 8, 4, 4],
    [1, 255, 0, 7],
  ])
    for (const mine of [four.join("."), `::ffff:${four.join(".")}`])
      for (const address of [four.join("."), ...clothesOf(four)])
        for (const answers of [[address], [PUBLIC, address]])
          await report.attack(`${answers.join(" and ")}, mine is ${mine}`, () =>
            resolveAllowed(
              target,
              () => ({ allowed: true, rule: "test" }),
              async () => answers,
              async () => ({ wan: [{ address: mine }] }),
            ).then(
              (found) => `dialled ${found.join()}`,
              ({ code }) => code === "not-public",
            ),
          );
}

const literal = (address) => (address.includes(":") ? `[${address}]` : address);

/** Everything is allowed by name: only the address can tell. */
function entryPoints({ createFetch, guardedFetch }) {
  const decide = () => ({ allowed: true, rule: "test" });
  const trusted = ["https://mcp.example/mcp"];
  const family = (address) => (address.includes(":") ? 6 : 4);
  return {
    "a tool's fetch, address in the URL": (address) => createFetch(decide)(`https://${literal(address)}/`),
    "a tool's fetch, address of a name": (address) =>
      createFetch(decide, { resolve: async () => [address] })(`https://${GOOD}/`),
    "a tool's fetch, among good addresses": (address) =>
      createFetch(decide, { resolve: async () => [PUBLIC, address] })(`https://${GOOD}/`),
    "authorization, address in the URL": (address) => guardedFetch({ trusted })(`https://${literal(address)}/`, {}),
    "authorization, address of a name": (address) =>
      guardedFetch({ trusted, lookup: async () => [{ address, family: family(address) }] })(`https://${GOOD}/`, {}),
  };
}

async function addresses(report, parts, { denied, allowed, watch }) {
  const codes = ["not-public", "unresolvable", "AUTH_DISCOVERY"];
  report.kind("addresses that are not public, in every spelling");
  for (const [way, ask] of Object.entries(entryPoints(parts))) {
    for (const address of denied) {
      watch.take();
      await report.attack(`${way}: ${address}`, async () => {
        const error = await ask(address).catch(refusal);
        if (watch.take().length > 0) report.sideEffect(`${way}: dialled for ${address}`);
        if (!codes.includes(error.code)) return `${error.code ?? "served"}: ${error.message}`;
        return way.startsWith("a tool") && error.message.includes(address) ? "the address is told" : true;
      });
    }
    // An address of the internet is dialled, and nothing else; authorization takes no transition forms, by its own rule.
    const honest = way.startsWith("authorization") ? allowed.filter((one) => parts.isPublicAddress(one)) : allowed;
    for (const address of honest) {
      await report.benign(`${way}: ${address}`, async () => {
        watch.take();
        const error = await ask(address).catch(refusal);
        return watch.take().length > 0 || `not dialled: ${error.message}`;
      });
    }
  }
}

/** The policy names one host; its addresses are good, those of all other names are this machine's. */
async function urls(report, { createFetch, policyEgress, parsePolicy, FetchError }, watch) {
  const text = `version: "1.0"\nnetwork: { allowed_endpoints: [{ host: ${GOOD} }, { host: "*.${GOOD}" }] }\n`;
  const policy = await parsePolicy(text, { file: "p.yaml" });
  const resolve = async (host) => (host === GOOD || host.endsWith(`.${GOOD}`) ? [PUBLIC] : ["127.0.0.1"]);
  const fetch = createFetch(
    policyEgress(() => policy),
    { resolve },
  );
  report.kind("URLs that are read in two ways");
  for (const url of hostileUrls(GOOD)) {
    watch.take();
    await report.attack(`the URL ${JSON.stringify(url)}`, async () => {
      const error = await fetch(url).catch(refusal);
      // What the platform reads as the good host after all may go there and nowhere else.
      if (watch.take().some((address) => address !== PUBLIC)) report.sideEffect(`${url} was dialled`);
      return error instanceof FetchError || String(error);
    });
  }
  for (const path of ["", "a", "?q=127.0.0.1", "#localhost", "@127.0.0.1", "%2e%2e/", "http://10.0.0.1/"])
    for (const host of [GOOD, `v2.${GOOD}`, GOOD.toUpperCase(), `${GOOD}:443`, `a.b.${GOOD}`])
      await report.benign(`https://${host}/${path}`, async () => {
        watch.take();
        const error = await fetch(`https://${host}/${path}`).catch(refusal);
        return watch.take()[0] === PUBLIC || String(error);
      });
}

/** The same through the server: what the client is told, and what is on record. */
async function throughTheProduct(report, parts, { denied, watch }) {
  const fetchTool = {
    name: "fetch_url",
    title: "Fetch",
    description: "Fetches a URL.",
    input: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: ({ url }, { fetch }) =>
      fetch(url).then(
        (answer) => answer.text(),
        (error) => ({ failed: error.message, rule: error.rule ?? error.code }),
      ),
  };
  const policy = `version: "1.0"\nnetwork: { allowed_endpoints: [{ host: ${GOOD} }] }\ntools:\n  allowed: [fetch_url]`;
  const { call, close } = await session(parts, { policy, tools: [fetchTool], revision: "2025-11-25" });
  report.kind("addresses and URLs in a call");
  for (const url of [...denied.map((address) => `https://${literal(address)}/`), ...hostileUrls(GOOD)]) {
    if (URL.parse?.(url)?.hostname === GOOD || (URL.canParse(url) && new URL(url).hostname === GOOD)) continue;
    watch.take();
    await report.attack(`a call with ${JSON.stringify(url)}`, async () => {
      const told = wasDenied(await call("fetch_url", { url }));
      if (watch.take().length > 0) report.sideEffect(`a call dialled ${url}`);
      return told;
    });
  }
  await close();
}

/** A real name server whose answer changes with every question. A canary listens where the bad answers point. */
async function rebinding(report, { createFetch, guardedFetch, FetchError }, watch) {
  const canary = createServer((_request, response) => response.end("canary"));
  const { port, connections } = await listen(canary);
  const six = net.createServer((socket) => socket.destroy());
  const other = await listen(six, "::1", port).catch(() => undefined);
  const bad = ["127.0.0.1", "127.0.0.2", "10.0.0.1", "169.254.169.254"];
  const names = await nameServer(
    (_name, asked) =>
      [[PUBLIC], [bad[(asked >> 2) % bad.length]], [PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC]][asked % 4],
  );
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${names.port}`]);
  const decide = () => ({ allowed: true, rule: "test" });
  const fetch = createFetch(decide, { resolve: (host) => resolver.resolve4(host) });
  const lookup = async (host) => (await resolver.resolve4(host)).map((address) => ({ address, family: 4 }));
  const guarded = guardedFetch({ trusted: ["https://mcp.example/"], lookup });
  report.kind("a name that leads elsewhere the second time");
  for (let turn = 0; turn < REBINDINGS; turn += 1) {
    const before = names.asked();
    watch.take();
    const [way, ask] = turn % 2 === 0 ? ["fetch", fetch] : ["authorization", guarded];
    await report.attack(`rebinding ${turn} of ${way}`, async () => {
      const error = await ask(`http://flip${turn}.example:${port}/`, {}).catch(refusal);
      if (watch.take().some((address) => address !== PUBLIC)) return "another address was dialled";
      if (names.asked() !== before + 1) return `${names.asked() - before} questions were asked`;
      return error instanceof FetchError || error.code !== undefined || String(error);
    });
  }
  const reached = connections() + (other?.connections() ?? 0);
  if (reached > 0) report.sideEffect(`${reached} connections to the canary`);
  report.demand(`${REBINDINGS} rebindings against a name server that flips: 0 connections`, reached === 0);
  names.close();
  canary.close();
  six.close();
}

/** Each hop is decided again: chains of one to five hops that end where nobody may go. */
async function redirects(report, { createFetch, FetchError }) {
  const canary = net.createServer((socket) => socket.destroy());
  const trap = await listen(canary);
  const targets = [
    ...[`http://127.0.0.1:${trap.port}/`, `http://localhost:${trap.port}/`, `http://[::1]:${trap.port}/`],
    ...["http://169.254.169.254/latest/", "https://10.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/"],
    ...[`http://2130706433:${trap.port}/`, `//127.0.0.1:${trap.port}/`, `http://user:x@127.0.0.1:${trap.port}/`],
  ];
  const server = createServer((request, response) => {
    const [, hops, target] = /^\/(\d+)\/(.*)$/.exec(request.url) ?? [];
    if (target === undefined) return response.end("home");
    const next = hops === "0" ? decodeURIComponent(target) : `/${hops - 1}/${target}`;
    return response.writeHead([301, 302, 303, 307, 308][hops % 5], { location: next }).end();
  });
  const { port } = await listen(server);
  const decide = (endpoint) => ({
    allowed: endpoint.port === port,
    rule: "test",
    allowPrivate: endpoint.port === port,
  });
  const fetch = createFetch(decide);
  report.kind("redirects that lead inside");
  for (const target of targets)
    for (const hops of [0, 1, 3, 4])
      await report.attack(`${hops + 1} redirects to ${target}`, async () => {
        const url = `http://127.0.0.1:${port}/${hops}/${encodeURIComponent(target)}`;
        const error = await fetch(url).catch(refusal);
        return error instanceof FetchError || `served ${error.url}`;
      });
  report.kind("redirects without end");
  await report.attack("redirects without end", async () => {
    const url = `http://127.0.0.1:${port}/6/${encodeURIComponent("/home")}`;
    const error = await fetch(url).catch(refusal);
    return error.code === "redirect" || String(error);
  });
  for (const hops of [0, 1, 2, 3, 4])
    await report.benign(`${hops + 1} redirects home`, async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/${hops}/${encodeURIComponent("/home")}`);
      return answer.text() === "home";
    });
  if (trap.connections() > 0) report.sideEffect(`${trap.connections()} connections to the trap behind redirects`);
  server.close();
  canary.close();
}
