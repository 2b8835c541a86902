// What becomes of a server that fails in a row: left alone for a while, tried by one call at a time, and forgiven once it answers.
import { afterEach, expect, it } from "vitest";
import { UpstreamBreaker } from "../../src/gateway/told.js";
import { Gateway } from "../../src/gateway/gateway.js";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

it("refuses after three failures in a row, lets one through after the pause, and waits longer each time", () => {
  let now = 0;
  const breaker = new UpstreamBreaker(() => now);
  const pauses: number[] = [];
  for (let failure = 1; failure <= 5; failure++) {
    expect(breaker.refusal("notes")).toBeUndefined();
    // While one call looks, the others are refused.
    if (failure > 3) expect(breaker.refusal("notes")?.message).toContain("could not be reached");
    breaker.failed(new Error("no such program."));
    pauses.push(breaker.retryMs);
    if (breaker.broken) expect(breaker.refusal("notes")?.message).toContain("no such program. It is tried again in");
    now += breaker.retryMs;
  }
  expect(pauses.slice(0, 2)).toEqual([0, 0]);
  // Of each doubled pause half is left to chance.
  for (const [at, full] of [1_000, 2_000, 4_000].entries()) {
    expect(pauses[at + 2]).toBeGreaterThanOrEqual(full / 2);
    expect(pauses[at + 2]).toBeLessThanOrEqual(full);
  }
  expect(breaker.refusal("notes")).toBeUndefined();
  breaker.connected();
  expect(breaker.failures).toBe(5);
  breaker.succeeded();
  expect([breaker.failures, breaker.cause, breaker.retryMs]).toEqual([0, undefined, 0]);
});

it("never waits for what only the owner can mend", () => {
  const breaker = new UpstreamBreaker(() => 0);
  for (let count = 0; count < 9; count++) breaker.failed(new LocalError("NO_SECRET", "the secret cannot be read"));
  breaker.failed(new LocalError("AUTH_DENIED", "refused"));
  expect(breaker.broken).toBe(false);
  expect(breaker.cause).toBe("refused");
});

it("counts a server that can be reached and ends before it answers a call, and leaves the others as they are", async () => {
  const gateway = new Gateway({ name: "gateway", version: "1.0.0" });
  closing.push(() => gateway.unmountAll());
  const dying = `
    let rest = "";
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method } of lines.map((line) => JSON.parse(line))) {
        if (method === "tools/call") process.exit(3);
        else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "d", version: "1" } } });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  const command = { command: process.execPath, args: ["-e", dying] };
  let starts = 0;
  const open = (options: object): ReturnType<typeof connect> => {
    starts++;
    return connect(command, { ...options, verdicts: false, reconnect: false });
  };
  const tools = [{ name: "print", inputSchema: { type: "object" as const } }];
  const hints = { ttlMs: 0, cacheScope: "private" as const };
  const offer = { tools, prompts: [], resources: [], resourceTemplates: [], hints, instructions: undefined };
  const mounted = await gateway.mount("printer", open, { offer: { ...offer, capabilities: { tools: {} } } });
  const sound = new Server({ name: "sound", version: "1" });
  sound.tool("play", { run: () => "played" });
  await gateway.mount("sound", (options) => connect(sound, options));
  const client = await connect(gateway);
  closing.push(() => client.close());
  expect(mounted.state.state).toBe("stopped");
  for (let count = 0; count < 3; count++) expect((await client.call("printer__print")).isError).toBe(true);
  expect({ starts, ...mounted.state }).toMatchObject({ starts: 3, state: "broken", failures: 3 });
  expect(mounted.state.cause).toContain("3");
  expect(mounted.state.brief).toMatch(/^its process exited with status 3 \(after [\d.]+ m?s\)$/);
  expect(texts(await client.call("sound__play"))).toBe("played");
  expect(gateway.mounts.get("sound")?.state).toMatchObject({ state: "ready", failures: 0 });
  await mounted.restart();
  expect(mounted.state).toMatchObject({ state: "stopped", failures: 0, cause: undefined, brief: undefined });
  await mounted.start();
  await mounted.start();
  expect({ starts, ...mounted.state }).toMatchObject({ starts: 4, state: "ready" });
});
