// Secrets of plugins: the value goes to its own hosts and nowhere else, and comes back from nowhere.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { hasWall } from "../sandbox/walls.js";
import { type ServedPlugins, servePlugins } from "./plugin-server.js";
import { MODULE, PYTHON, PYTHON_MANIFEST, SHELL, SHELL_MANIFEST, TUNNEL } from "./secret-plugins.js";

const VALUE = "Tr0ub4dor+kestrel/9";
const VARIABLE = "PLUGIN_TEST_SECRET";
const PLACEHOLDER = /placeholder_[0-9a-f]{40}/;
const folder = pluginFolder();
folder.write("mod", { "plugin.mjs": MODULE });
folder.write("py", { "manifest.yaml": PYTHON_MANIFEST, "main.py": PYTHON });
folder.write("sh", { "manifest.yaml": SHELL_MANIFEST, "main.sh": SHELL });
folder.write("tun", { "plugin.mjs": TUNNEL });
/** What reached the secret's host, and what another one. */
const got = { own: [] as string[], other: [] as string[] };
const servers: Server[] = [];
let served: ServedPlugins | undefined;
let own = 0;
let other = 0;

function told(request: IncomingMessage, body: string): string {
  return JSON.stringify({ url: request.url, headers: request.headers, body });
}

async function listen(seen: string[]): Promise<number> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      seen.push(told(request, body));
      response.setHeader("x-echo", request.headers.authorization ?? "");
      if (request.url?.startsWith("/away") === true)
        return response.writeHead(302, { location: `http://127.0.0.1:${other}/` }).end();
      // In two pieces, cut in the middle of the value.
      const text = told(request, body);
      const middle = text.indexOf("kestrel");
      response.write(text.slice(0, middle + 3));
      return setImmediate(() => response.end(text.slice(middle + 3)));
    });
  });
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

function policy(load: string, secret = ""): string {
  return `
version: "1.0"
tools: { allowed: ["mod_*", "py_*", "sh_*", "tun_*"], rate_limits: { default: 1000 } }
output: { mark_untrusted: false, redact_secrets: false }
secrets: { api_key: { from: "env:${VARIABLE}", hosts: [{ host: 127.0.0.1, ports: [${own}] }]${secret} } }
plugins: { folder: ${folder.path}, load: [${load}] }
`;
}

function granted(name: string, more = ""): string {
  return `{ name: ${name}, secrets: [api_key], network: { allowed_endpoints: [{ host: 127.0.0.1, ports: [${own}, ${other}] }] }${more} }`;
}

beforeAll(async () => {
  own = await listen(got.own);
  other = await listen(got.other);
});
beforeEach(() => {
  process.env[VARIABLE] = VALUE;
  got.own.length = 0;
  got.other.length = 0;
});
afterAll(() => {
  delete process.env[VARIABLE];
  for (const server of servers) server.close();
  folder.remove();
});

/** The value in no text that a client, the log or the plugin gets, nor its other spellings. */
function expectNowhere(...texts: readonly unknown[]): void {
  const all = JSON.stringify([texts, served?.peer.messages, served?.audit.lines, served?.secure.pluginHealth()]);
  for (const spelling of [VALUE, encodeURIComponent(VALUE), Buffer.from(`ada:${VALUE}`).toString("base64"), "kestrel"])
    expect(all).not.toContain(spelling);
}

async function goesIntoBodies({ call }: ServedPlugins, tool: string): Promise<void> {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const sent = { headers: form, body: "grant_type=x&client_secret=KEY" };
  const answer = await call(tool, { url: `http://127.0.0.1:${own}/`, ...sent });
  const first = JSON.parse(got.own[0] ?? "") as { readonly body: string };
  expect(first.body).toBe(`grant_type=x&client_secret=${encodeURIComponent(VALUE)}`);
  const json = { headers: { "content-type": "application/json" }, body: '{"client_secret":"KEY"}' };
  const second = await call(tool, { url: `http://127.0.0.1:${own}/`, ...json });
  expect((JSON.parse(got.own[1] ?? "") as { readonly body: string }).body).toBe(`{"client_secret":"${VALUE}"}`);
  const elsewhere = await call(tool, { url: `http://127.0.0.1:${other}/`, ...sent });
  expect(got.other[0]).toContain("client_secret=placeholder_");
  // In a header it belongs only where the policy says so.
  await call(tool, { url: `http://127.0.0.1:${own}/`, headers: { authorization: "KEY" } });
  expect(got.own[2]).not.toContain("kestrel");
  expectNowhere(answer, second, elsewhere);
}

describe.skipIf(!hasWall())("a secret", () => {
  /** Every kind of plugin with the secret as most policies grant it. */
  let all: ServedPlugins;

  beforeAll(async () => {
    const load = ["mod", "py", "sh", "tun"].map((name) => granted(name)).join(", ");
    all = await servePlugins(policy(load), ["mod_send", "py_send", "sh_send", "tun_send"]);
  });
  beforeEach(() => void (served = all));
  afterEach(async () => {
    if (served !== all) await served?.secure.stop();
  });
  afterAll(() => all.secure.stop());

  test.each([
    ["JavaScript, by its host", "mod_send", { headers: { authorization: "Bearer KEY" } }],
    ["JavaScript, by the proxy", "mod_proxied", { headers: { authorization: "Bearer KEY" } }],
    ["Python, by the proxy", "py_send", {}],
    ["shell, by its host", "sh_send", {}],
  ])("of a plugin in %s goes to its own host only", async (_how, tool, args) => {
    const { call } = all;
    const answer = await call(tool, { url: `http://127.0.0.1:${own}/a`, ...args });
    expect(got.own).toHaveLength(1);
    expect(JSON.parse(got.own[0] ?? "")).toMatchObject({ headers: { authorization: `Bearer ${VALUE}` } });
    // What the host said of it came back as the placeholder.
    expect(answer).toMatch(PLACEHOLDER);
    const elsewhere = await call(tool, { url: `http://127.0.0.1:${other}/b`, ...args });
    expect(got.other).toHaveLength(1);
    expect(got.other[0]).toMatch(/Bearer placeholder_/);
    expectNowhere(answer, elsewhere);
  });

  test("is a placeholder in all a plugin sees", async () => {
    const seen = await all.call("mod_seen");
    expect(seen).toMatch(/SECRET_API_KEY=placeholder_/);
    expectNowhere(seen, await all.call("mod_crash"));
  });

  test("is put in no body, no path, and after a redirect in nothing", async () => {
    await all.call("mod_send", { url: `http://127.0.0.1:${own}/KEY?q=KEY`, body: "KEY" });
    expect(got.own[0]).not.toContain("kestrel");
    expect(got.own[0]).toMatch(/"url":"\/placeholder_.*"body":"placeholder_/);
    await all.call("mod_send", { url: `http://127.0.0.1:${own}/away`, headers: { "x-key": "KEY" } });
    expect(got.own[1]).toContain(VALUE);
    expect(got.other[0]).not.toMatch(/kestrel|placeholder/);
  });

  test("goes into the field of a body the policy names, by its host and by the proxy", async () => {
    served = await servePlugins(policy(granted("mod"), ", body: client_secret"), ["mod_send", "mod_proxied"]);
    await goesIntoBodies(served, "mod_send");
    got.own.length = got.other.length = 0;
    await goesIntoBodies(served, "mod_proxied");
  });

  test("goes into the header or the parameter the policy names, and into nothing else", async () => {
    served = await servePlugins(policy(granted("mod"), ", header: X-Key"), ["mod_send"]);
    const headers = { authorization: "KEY", "x-key": "KEY" };
    await served.call("mod_send", { url: `http://127.0.0.1:${own}/?appid=KEY`, headers });
    const first = JSON.parse(got.own[0] ?? "") as IncomingMessage;
    expect(first.headers["x-key"]).toBe(VALUE);
    expect([first.headers.authorization, first.url].join(" ")).not.toContain("kestrel");
    await served.secure.stop();
    served = await servePlugins(policy(granted("mod"), ", query: appid"), ["mod_send"]);
    const answer = await served.call("mod_send", { url: `http://127.0.0.1:${own}/?q=KEY&appid=KEY`, headers });
    const second = JSON.parse(got.own[1] ?? "") as IncomingMessage;
    expect(second.url).toMatch(new RegExp(`appid=${encodeURIComponent(VALUE)}$`));
    expect(second.url?.match(/placeholder_/g)).toHaveLength(1);
    expect(JSON.stringify(second.headers)).not.toContain("kestrel");
    expectNowhere(answer);
  });

  test("is found in what Basic makes of it, on the way out and back", async () => {
    const answer = await all.call("mod_basic", { url: `http://127.0.0.1:${own}/` });
    expect(got.own[0]).toContain(`Basic ${Buffer.from(`ada:${VALUE}`).toString("base64")}`);
    expectNowhere(answer);
  });

  test("without a value is not sent, and the plugin learns why", async () => {
    delete process.env[VARIABLE];
    served = await servePlugins(policy(granted("mod")), ["mod_send"]);
    const { call } = served;
    const sent = { url: `http://127.0.0.1:${own}/`, headers: { authorization: "KEY" } };
    expect(await call("mod_send", sent)).toMatch(/refused: The secret "api_key" is not sent: it has no value/);
    process.env[VARIABLE] = "short";
    expect(await call("mod_send", sent)).toMatch(/too short/);
    process.env[VARIABLE] = `${VALUE}\nX-Evil: 1`;
    expect(await call("mod_send", sent)).toMatch(/no header can carry/);
    expect(got.own).toEqual([]);
    // It is read when it is needed.
    process.env[VARIABLE] = VALUE;
    expect(await call("mod_send", sent)).toMatch(/^200 /);
    // A placeholder is another one at each start.
    const [placeholder = ""] = PLACEHOLDER.exec(await call("mod_seen")) ?? [];
    expect(placeholder).not.toBe("");
    expect(await all.call("mod_seen")).not.toContain(placeholder);
  });

  test("that was not granted keeps the plugin that needs it from being started", async () => {
    const without = granted("mod").replace("secrets: [api_key], ", "");
    served = await servePlugins(policy(without), []);
    await vi.waitFor(() => expect(served?.secure.pluginHealth()[0]?.state).toBe("refused"), { timeout: 15_000 });
    expect(served.secure.pluginHealth()[0]?.note).toMatch(/It needs the secret api_key: add it to secrets of mod/);
  });

  test("keeps its host from being reached by a tunnel, in which nobody could put it in", async () => {
    expect(await all.call("tun_send", { to: `127.0.0.1:${own}` })).toMatch(/^403/);
    expect(await all.call("tun_send", { to: `127.0.0.1:${other}` })).toMatch(/^200/);
    expect(all.audit.lines.join("")).toContain("no tunnel to the host of a secret");
  });
});
