// How the built command begins and ends over HTTP: sockets, places that are taken, signals.
import { once } from "node:events";
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { repeated } from "../../../mcp/test/support/soak.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { run } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { send, Served, toolCall } from "./served.js";

const SUM = toolCall("calculate", { expression: "6 * 7" });
const CALLS = repeated(100, 500);
const MODE = 0o777;

/** A search service that answers when it is told to. */
async function heldSearch(
  expected = 1,
): Promise<{ readonly port: number; readonly asked: Promise<void>; answer(): void }> {
  const waiting: ServerResponse[] = [];
  let arrive = (): void => undefined;
  const asked = new Promise<void>((resolve) => (arrive = resolve));
  const service = createServer((_request, response) => {
    waiting.push(response);
    if (waiting.length === expected) arrive();
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  onTestFinished(() => void service.close());
  const body = JSON.stringify({ results: [{ title: "Found late", url: "https://example.com/", content: "text" }] });
  const answer = (): void => {
    for (const response of waiting) response.writeHead(200, { "content-type": "application/json" }).end(body);
  };
  return { port: (service.address() as AddressInfo).port, asked, answer };
}

function searchPolicy(home: string, port: number): string {
  const policy = join(home, "policy.yaml");
  const text = `version: "1.0"
network: { allowed_endpoints: [{ host: "127.0.0.1", ports: [${port}] }], allowed_ranges: ["127.0.0.1/32"] }
tools: { allowed: ["web_search"], rate_limits: { default: 1000 }, web_search: { provider: "searxng", endpoint: "http://127.0.0.1:${port}/search" } }
`;
  writeFileSync(policy, text, { mode: 0o600 });
  return policy;
}

describe("SIGTERM", () => {
  it(`takes nothing new, delivers ${CALLS} calls in flight, and ends with 0`, async () => {
    const home = temporaryFolder();
    const search = await heldSearch(CALLS);
    const served = new Served(["--policy", searchPolicy(home, search.port)], home);
    const url = await served.ready();
    const calls = Array.from({ length: CALLS }, (_, index) =>
      send(url, toolCall("web_search", { query: `late ${index}` }, served.bearer)),
    );
    await search.asked;
    const open = connect(Number(new URL(url).port), "127.0.0.1");
    await once(open, "connect");
    served.child.kill("SIGTERM");
    await served.complained("SIGTERM: shutting down, what runs may finish");
    const sum = toolCall("calculate", { expression: "6 * 7" }, served.bearer);
    expect(await send(url, sum)).toMatchObject({ status: 503 });
    open.destroy();
    search.answer();
    const replies = await Promise.all(calls);
    expect(replies.filter(({ text }) => text.includes("Found late"))).toHaveLength(CALLS);
    for (const [index, { text }] of replies.entries()) expect(text).toContain(`Search results for: late ${index}\\n`);
    expect(await served.exited()).toBe(0);
  });

  it("once more ends at once", async () => {
    const home = temporaryFolder();
    const search = await heldSearch();
    const served = new Served(["--policy", searchPolicy(home, search.port)], home);
    const url = await served.ready();
    const running = send(url, toolCall("web_search", { query: "never" }, served.bearer)).catch(() => "cut");
    await search.asked;
    served.child.kill("SIGTERM");
    await served.complained("once more ends at once");
    served.child.kill("SIGTERM");
    expect(await served.exited()).toBe(143);
    expect(await running).toBe("cut");
    search.answer();
  });
});

describe("a place to listen", () => {
  it("that is taken is told in one line", async () => {
    const taking = createServer().listen(0, "127.0.0.1");
    await once(taking, "listening");
    onTestFinished(() => void taking.close());
    const { port } = taking.address() as AddressInfo;
    const { code, stdout, stderr } = await run(["serve", "--port", String(port)], { home: temporaryFolder() });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      `mcp-secure-local: port ${port} of 127.0.0.1 is taken: stop the program that listens there, or choose another with --port\n`,
    );
  });

  it("that is not this machine's is told in one line", async () => {
    const { code, stderr } = await run(["serve", "--port", "0", "--host", "192.0.2.1"], { home: temporaryFolder() });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^mcp-secure-local: this machine has no address 192\.0\.2\.1: .+\n$/);
  });

  it.each([
    [["--port", "x"], '"x" is not a port'],
    [["--port", "65536"], '"65536" is not a port'],
    [["--port"], "--port needs a number, as in --port 3333"],
    [["--socket", "a", "--port", "1"], "--socket takes the place of --host and --port"],
    [["here"], 'serve takes no "here"'],
    [["--prot", "1"], 'there is no option --prot; did you mean "--port"?'],
  ])("%j is refused: %s", async (args, text) => {
    const { code, stdout, stderr } = await runQuickly(["serve", ...args], {
      home: temporaryFolder(),
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(text);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  it("belongs to serve alone", async () => {
    const { code, stderr } = await runQuickly(["tools", "--port", "1"], { home: temporaryFolder() });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "mcp-secure-local: --port belongs to serve, as in mcp-secure-local serve --port\n",
    });
  });
});

describe.skipIf(process.platform === "win32")("a socket file", () => {
  it("is for its owner only, is removed at the end, and replaced after a kill", async () => {
    const home = temporaryFolder();
    chmodSync(home, 0o755);
    const socketPath = join(home, "server.sock");
    const first = new Served(["--socket", socketPath], home);
    expect(await first.ready()).toBe(socketPath);
    expect(statSync(socketPath).mode & MODE).toBe(0o600);
    const answered = await send("http://localhost/mcp", {
      ...toolCall("calculate", { expression: "6 * 7" }, first.bearer),
      socketPath,
    });
    expect(answered.text).toContain('"42"');
    expect((await send("http://localhost/mcp", { ...SUM, socketPath })).status).toBe(401);
    expect(first.stdout).toContain(`"url": "unix://${socketPath}#/mcp"`);
    const other = await run(["serve", "--socket", socketPath], { home });
    expect(other.code).toBe(1);
    expect(other.stderr).toContain(`${socketPath} is taken`);
    first.child.kill("SIGKILL");
    await first.exited();
    expect(statSync(socketPath).isSocket()).toBe(true);
    const second = new Served(["--socket", socketPath], home);
    await second.ready();
    expect((await send("http://localhost/healthz", { socketPath })).status).toBe(200);
    expect(await second.end()).toBe(0);
    expect(statSync(socketPath, { throwIfNoEntry: false })).toBeUndefined();
  });
});
