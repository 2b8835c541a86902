// What a plugin does in a call that may do it: each request and each change of what it keeps is on record before it is done.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { PluginGrant } from "../../src/policy/policy.js";
import { grantedPolicy } from "../../src/policy/granted-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecretBroker } from "../../src/capabilities/secret-broker.js";
import { type RecordedAction, PluginPowers } from "../../src/plugins/plugin-powers.js";

/** What reached the server, with how many records there were by then. */
const reached: { readonly line: string; readonly records: number }[] = [];
const deeds: RecordedAction[] = [];
const storage = mkdtempSync(join(tmpdir(), "recorded-actions-"));
const server = createServer((request, response) => {
  reached.push({ line: `${request.method} ${request.url}`, records: deeds.length });
  if (request.url === "/away") return void response.writeHead(307, { location: "/there?x=1" }).end();
  response.end("ok");
});
let port = 0;
let fails: Error | undefined;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.close();
  rmSync(storage, { recursive: true });
});
beforeEach(() => {
  fails = undefined;
  for (const list of [reached, deeds]) list.length = 0;
});

const BY = { id: 7, connection: 1 };

async function asking(): Promise<(asked: Record<string, unknown>) => Promise<unknown>> {
  const allowed = `network: { allowed_endpoints: [{ host: 127.0.0.1, ports: [${port}] }] }`;
  const text = `version: "1.0"\nnetwork: { allowed_endpoints: [{ host: 127.0.0.1, ports: [${port}] }] }
plugins: { load: [{ name: mod, path: /x, ${allowed}, storage_kb: 4 }] }\n`;
  const policy = await parsePolicy(text, { file: "policy.yaml", environment: {} });
  const grant = [...policy.plugins.load.values()][0] as PluginGrant;
  const powers = new PluginPowers({
    granted: grantedPolicy(policy, grant),
    grant,
    own: [],
    storage,
    secrets: new SecretBroker([], { learn: () => [] }),
    refused: () => undefined,
    records: (action) => (fails === undefined ? Promise.resolve(void deeds.push(action)) : Promise.reject(fails)),
  });
  const { signal } = new AbortController();
  return (asked) => powers.answer(asked, { signal, leave: () => Promise.resolve(BY) });
}

const BODIES = [undefined, "", "x", "päss", "y".repeat(100_000)];
const told = (text: string | undefined): object =>
  text === undefined ? {} : { bytes: Buffer.byteLength(text), sha256: hash("sha256", text, "hex") };

test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])(
  "a request %s, and where it is redirected to",
  async (method) => {
    const ask = await asking();
    for (const [index, body] of BODIES.entries()) {
      if (method === "GET" || method === "HEAD") if (body !== undefined) continue;
      for (const path of [`/plain?n=${index}`, "/away"]) {
        for (const list of [reached, deeds]) list.length = 0;
        const url = `http://127.0.0.1:${port}${path}`;
        await ask({ fetch: { url, method, ...(body === undefined ? {} : { body }) } });
        const urls = path === "/away" ? [url, `http://127.0.0.1:${port}/there?x=1`] : [url];
        expect(deeds).toEqual(
          urls.map((each) => ({
            kind: "plugin.fetches",
            by: BY,
            plugin: "mod",
            arguments: { url: each, method, ...told(body) },
          })),
        );
        // Each was on record when it arrived.
        expect(reached.map(({ records }) => records)).toEqual(urls.map((_, index) => index + 1));
      }
    }
  },
);

test("a change of what it keeps, and no reading of it", async () => {
  const ask = await asking();
  for (const value of [1, "text", { deep: ["ä"] }, null]) {
    await ask({ storage: { set: "key", value } });
    expect(deeds.at(-1)).toEqual({
      kind: "plugin.keeps",
      by: BY,
      plugin: "mod",
      arguments: { do: "set", key: "key", ...told(JSON.stringify(value)) },
    });
  }
  await ask({ storage: { get: "key" } });
  await ask({ storage: { keys: true } });
  expect(deeds).toHaveLength(4);
  await ask({ storage: { delete: "key" } });
  expect(deeds.at(-1)).toMatchObject({ kind: "plugin.keeps", arguments: { do: "delete", key: "key" } });
});

test("what cannot be recorded is not done", async () => {
  const ask = await asking();
  fails = new Error("disk full");
  const url = `http://127.0.0.1:${port}/never`;
  await expect(ask({ fetch: { url } })).rejects.toThrow(/^The audit log is unavailable, so nothing is sent/);
  await expect(ask({ storage: { set: "never", value: 1 } })).rejects.toThrow(/so nothing is changed/);
  expect(reached).toEqual([]);
  expect(readdirSync(join(storage, "mod"))).toEqual(["plugin-folder"]);
});
