// The client and real processes: silent ones, ones that end at the question, crash, print noise; none is left behind.
import { createHook } from "node:async_hooks";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ConnectError } from "../../src/client/conversation.js";
import { connect } from "../../src/serve/connect-node.js";

/** A server of 2025-06-18 in a few lines. `quirk` is run for each message before it is served; true: not served. */
function program(quirk: string): { command: string; args: string[] } {
  const source = `
    let rest = "";
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const quirk = (message) => { ${quirk} };
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      rest += chunk;
      const lines = rest.split("\\n");
      rest = lines.pop();
      for (const line of lines) serve(JSON.parse(line));
    });
    function serve(message) {
      if (quirk(message) || message.id === undefined) return;
      const { id, method, params } = message;
      if (method === "initialize") {
        const serverInfo = { name: "few-lines", version: "1.0.0" };
        say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } });
      } else if (method === "tools/call") {
        say({ id, result: { content: [{ type: "text", text: process.pid + " " + params.name }] } });
      } else say({ id, error: { code: -32601, message: "no " + method } });
    }`;
  return { command: process.execPath, args: ["-e", source] };
}

const options = { verdicts: false, probeTimeoutMs: 300 } as const;

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The processes and pipes of this test that are there: tests before it may have left some that are still closing. */
function keptHandles(): Map<number, string> {
  const kept = new Map<number, string>();
  const hook = createHook({
    init: (id, type) => void (/^(?:PROCESS|PIPE)WRAP$/.test(type) && kept.set(id, type)),
    destroy: (id) => void kept.delete(id),
  }).enable();
  onTestFinished(() => void hook.disable());
  return kept;
}

const pidIn = (result: { content: readonly object[] }): number =>
  Number.parseInt((result.content[0] as { text: string }).text);

describe("a process", () => {
  it.each([
    ["that refuses the question", ""],
    ["that is silent to the question", 'return message.method === "server/discover"'],
    ["that ends at the question", 'if (message.method === "server/discover") process.exit(1)'],
    ["that prints noise", 'console.log("serving", message.method); console.log(JSON.stringify({ level: 30 }))'],
  ])("%s is served in its own revision", async (_what, quirk) => {
    const client = await connect(program(quirk), options);
    expect(client).toMatchObject({ revision: "2025-06-18", transport: "stdio", server: { name: "few-lines" } });
    const pid = pidIn(await client.call("x"));
    expect(alive(pid)).toBe(true);
    await client.close();
    expect(alive(pid)).toBe(false);
  });

  it("that ends at once is reported with its last words", async () => {
    const dying = { command: process.execPath, args: ["-e", 'console.error("no license"); process.exit(3)'] };
    const error = (await connect(dying, options).catch((reason: unknown) => reason)) as ConnectError;
    expect(error).toBeInstanceOf(ConnectError);
    expect(error.code).toBe("EXITED");
    expect(error.message).toMatch(/no license/);
  });

  it("that does not exist is reported as such", async () => {
    await expect(connect({ command: "/no/such/program" }, options)).rejects.toMatchObject({ code: "SPAWN_FAILED" });
  });

  it("that crashes is started again; the call it crashed on is not repeated", async () => {
    const warnings: string[] = [];
    const crash = 'if (message.params?.name === "crash") process.exit(9)';
    const reconnect = { delayMs: 1 };
    await using client = await connect(program(crash), {
      ...options,
      reconnect,
      onWarning: (text) => warnings.push(text),
    });
    const first = pidIn(await client.call("x"));
    await expect(client.call("crash")).rejects.toMatchObject({ code: "EXITED" });
    const second = pidIn(await client.call("x"));
    expect(second).not.toBe(first);
    expect(warnings.join()).toMatch(/Connecting again/);
  });

  it("that always crashes is given up", async () => {
    const crash =
      'if (message.method === "tools/call") process.exit(9); if (message.method === "initialize" && process.argv.includes("x")) process.exit(8)';
    const client = await connect(program(crash), { ...options, reconnect: false });
    await expect(client.call("crash")).rejects.toMatchObject({ code: "EXITED" });
    expect(await client.closed).toMatchObject({ code: "EXITED" });
    await expect(client.call("x")).rejects.toThrow(/tools\/call was not sent/);
    await client.close();
  });

  it("is closed by the end of a block, with nothing left of the client", async () => {
    const kept = keptHandles();
    for (let round = 0; round < 3; round++) {
      await using client = await connect(program(""), { ...options, ping: { intervalMs: 5_000 } });
      await client.call("x");
      expect(kept.size).toBeGreaterThan(0);
    }
    await vi.waitFor(() => expect(kept).toEqual(new Map()), { timeout: 10_000 });
  });
});
