// The built command over HTTP: its door, its pages, its reload, its record.
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { send, Served, toolCall } from "./served.js";

const SUM = toolCall("calculate", { expression: "6 * 7" });
const MODE = 0o777;

function withHeaders(headers: Readonly<Record<string, string>>): typeof SUM {
  return { ...SUM, headers: { ...SUM.headers, ...headers } };
}

function recordsOf(audit: string): Record<string, unknown>[] {
  const lines = readFileSync(audit, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** More than --rate says is held back. */
async function holdsBack(url: string, authorization: string): Promise<void> {
  const replies = await Promise.all(Array.from({ length: 30 }, () => send(url, withHeaders({ authorization }))));
  expect(replies[0]?.status).toBe(200);
  const held = replies.filter(({ status }) => status === 429);
  expect(held.length).toBeGreaterThan(0);
  for (const { headers } of held) expect(Number(headers["retry-after"])).toBeGreaterThan(0);
}

/** What --sse is for. */
async function hasOlderPaths(served: Served, url: string): Promise<void> {
  expect(served.stdout).toContain(`${new URL("/sse", url).href}\n`);
  expect((await send(new URL("/sse", url).href)).status).toBe(401);
  const controller = new AbortController();
  const { signal } = controller;
  const stream = await fetch(new URL("/sse", url), { headers: served.bearer, signal });
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  const { value } = await stream.body!.getReader().read();
  expect(new TextDecoder().decode(value)).toMatch(/^event: endpoint\ndata: \.\/messages\?sessionId=/);
  controller.abort();
}

/** At SIGHUP the policy is read again. */
async function readsAgain(served: Served, url: string, policy: string): Promise<void> {
  expect((await send(url, withHeaders(served.bearer))).text).toContain('"42"');
  writeFileSync(policy, 'version: "1.0"\ntools: { allowed: ["get_timestamp"] }\n');
  served.child.kill("SIGHUP");
  await served.complained("is in force");
  expect((await send(url, withHeaders(served.bearer))).text).toContain("Denied.");
}

describe("mcp-secure-local serve", () => {
  it("lets in whoever has the token, knows who that is, and records who had not", async () => {
    const home = temporaryFolder();
    const audit = join(home, "audit.log");
    const served = new Served(["--audit", audit], home);
    const url = await served.ready();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    expect(statSync(served.tokenFile).mode & MODE).toBe(0o600);
    const answered = await send(url, withHeaders(served.bearer));
    expect(answered.status).toBe(200);
    expect(JSON.parse(answered.text)).toMatchObject({ result: { content: [{ text: "42" }] } });
    for (const headers of [
      {},
      { authorization: "Bearer nope" },
      { authorization: `${served.bearer.authorization}x` },
    ]) {
      const refused = await send(url, withHeaders(headers));
      expect(refused).toMatchObject({
        status: 401,
        headers: { "www-authenticate": expect.stringContaining("Bearer") },
      });
    }
    const token = served.bearer.authorization.slice("Bearer ".length);
    expect((await send(`${url}?access_token=${token}`, SUM)).status).toBeGreaterThanOrEqual(400);
    expect((await send(url, withHeaders({ ...served.bearer, host: "evil.example" }))).status).toBe(403);
    expect((await send(url, withHeaders({ ...served.bearer, origin: "https://evil.example" }))).status).toBe(403);
    expect(await served.end()).toBe(0);
    expect(await verifyAudit(audit)).toMatchObject({ ok: true });
    const records = recordsOf(audit);
    expect(records.filter(({ kind }) => kind === "call.result")).toMatchObject([{ principal: "owner", outcome: "ok" }]);
    const unauthorized = records.filter(({ outcome }) => outcome === "unauthorized");
    expect(unauthorized).toHaveLength(4);
    expect(records.at(-1)).toMatchObject({ kind: "stop" });
    expect(served.stderr + readFileSync(audit, "utf8")).not.toContain(token);
  });

  it("prints what each client needs and the token to nobody, which the next start uses again; serves the paths of 2024-11-05 where asked to", async () => {
    const home = temporaryFolder();
    const first = new Served(["--sse"], home);
    const url = await first.ready();
    const { authorization } = first.bearer;
    const blocks = first.stdout.split(/\n\n|\)\n/).filter((part) => part.startsWith("{"));
    const entry = { type: "http", url, headers: { Authorization: "Bearer THE-TOKEN" } };
    expect(first.stdout + first.stderr).not.toContain(authorization.slice("Bearer ".length));
    // Claude Desktop starts programs only, so it gets a bridge, which reads the token from its file.
    const args = [expect.stringMatching(/mcp-secure-local\.cjs$/), "bridge", url, "--token-file", expect.any(String)];
    expect(blocks.slice(0, 3).map((block) => JSON.parse(block) as unknown)).toEqual([
      { mcpServers: { "secure-local": { command: process.execPath, args } } },
      { mcpServers: { "secure-local": entry } },
      { servers: { "secure-local": entry } },
    ]);
    expect(first.stdout).toContain('http_headers = { "Authorization" = "Bearer THE-TOKEN" }');
    expect(first.stdout).toContain(
      `claude mcp add --transport http secure-local ${url} --header "Authorization: Bearer $(cat ${first.tokenFile})"`,
    );
    await hasOlderPaths(first, url);
    expect(await first.end()).toBe(0);
    const second = new Served(["--quiet", "--rate", "1"], home);
    await holdsBack(await second.ready(), authorization);
    expect(second.stdout).toBe("");
    expect(await second.end()).toBe(0);
  });

  it("tells its health to everybody, its metrics to the owner of the token, and spans to an SDK that was loaded before it", async () => {
    const home = temporaryFolder();
    const policy = join(home, "policy.yaml");
    writeFileSync(policy, 'version: "1.0"\ntools: { allowed: ["calculate", "web_search"] }\n', { mode: 0o600 });
    const sdk = new URL("preloaded-sdk.mjs", import.meta.url).href;
    const served = new Served(["--policy", policy], home, { env: { NODE_OPTIONS: `--import=${sdk}` } });
    const url = await served.ready();
    const page = (path: string): string => new URL(path, url).href;
    expect(await send(page("/healthz"))).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect((await send(page("/metrics"))).status).toBe(401);
    await send(url, withHeaders(served.bearer));
    await send(url, { ...toolCall("web_search", {}, served.bearer) });
    const { status, text, headers } = await send(page("/metrics"), { headers: served.bearer });
    expect({ status, type: headers["content-type"] }).toEqual({
      status: 200,
      type: "text/plain; version=0.0.4; charset=utf-8",
    });
    expect(text).toContain('mcp_secure_local_calls_total{method="tools/call",name="calculate",outcome="ok"} 1\n');
    expect(text).toContain("mcp_secure_local_unauthorized_total 1\n");
    expect(text).toMatch(/^mcp_secure_local_received_bytes_total [1-9]\d+$/m);
    expect(text).not.toContain(served.bearer.authorization.slice("Bearer ".length));
    expect((await send(page("/elsewhere"), { headers: served.bearer })).status).toBe(404);
    await served.complained("span: tools/call calculate");
    if (process.platform !== "win32") await readsAgain(served, url, policy);
    expect(await served.end()).toBe(0);
  });

  it.skipIf(process.platform === "win32")(
    "says in status and doctor that its log is gone, and calls are refused",
    async () => {
      const home = temporaryFolder();
      const served = new Served([], home);
      await served.ready();
      const log = join(home, "state", "mcp-secure-local", "audit.log");
      await vi.waitFor(
        async () => expect((await runQuickly(["status"], { home })).stdout).toMatch(/running +process/),
        {
          timeout: 10_000,
        },
      );
      expect((await runQuickly(["status"], { home })).stdout).not.toContain("moved or removed");
      renameSync(log, `${log}.old`);
      const words = `It refuses every call: its audit log ${log} was moved or removed`;
      for (const command of ["status", "doctor"]) {
        const { code, stdout } = await runQuickly([command], { home });
        expect([command, code, stdout.replace(/\s+/g, " ")]).toEqual([command, 1, expect.stringContaining(words)]);
      }
      renameSync(`${log}.old`, log);
      await served.end();
    },
  );

  it("names at its start the servers that are withheld, and what to do", async () => {
    const home = temporaryFolder();
    const policy = join(home, "policy.yaml");
    writeFileSync(
      policy,
      'version: "1.0"\ntools: { allowed: ["memory__*"] }\nservers: { memory: { command: [node] } }\n',
    );
    const served = new Served(["--policy", policy, "--quiet"], home);
    await served.complained(
      "the server memory is withheld: nothing of it is approved yet; look at it: mcp-secure-local servers review memory",
    );
    await served.end();
  });

  it("without a token says so loudly, and only on this machine", async () => {
    const served = new Served(["--no-auth"], temporaryFolder());
    const url = await served.ready();
    await served.complained("WARNING: --no-auth: every program on this machine may call");
    expect((await send(url, SUM)).text).toContain('"42"');
    expect((await send(url, withHeaders({ host: "evil.example" }))).status).toBe(403);
    expect((await send(new URL("/metrics", url).href)).status).toBe(200);
    expect(served.stdout).not.toContain("Bearer");
    await served.end();
    const open = await runQuickly(["serve", "--no-auth", "--host", "0.0.0.0"], { home: temporaryFolder() });
    expect(open).toMatchObject({ code: 2, stdout: "" });
    expect(open.stderr).toMatch(/^mcp-secure-local: --no-auth is for this machine alone: .+\n$/);
  });
});
