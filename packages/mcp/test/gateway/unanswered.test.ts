// A server's question of which nobody takes care: it ends by the time our server gives its callers, and with the call; no other time is kept.
import { afterEach, expect, it } from "vitest";
import type { MountOptions } from "../../src/gateway/gateway.js";
import type { RelayedRequest } from "../../src/gateway/relay.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { ServerLimits } from "../../src/server/limits.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const QUESTION = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Sure?",
    requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } },
  },
};
const ASKS = (): JsonObject => ({ resultType: "input_required", inputRequests: { q: QUESTION }, requestState: "s" });
const NEVER = (): Promise<never> => new Promise(() => undefined);

/** A function that passes a question on and never says what came of it. */
const CARELESS: MountOptions = { words: { question: ({ params }, pass) => pass(params).then(NEVER, NEVER) } };

/** A server without sessions that asks whatever it is called for, behind a gateway that waits for the answers itself. */
async function asking(limits: Partial<ServerLimits> = {}, more: MountOptions = {}) {
  const up = await stage.strange({
    "server/discover": () => ({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, prompts: {} },
      ttlMs: 0,
      cacheScope: "private",
    }),
    "prompts/list": () => ({ prompts: [{ name: "words" }], ttlMs: 0, cacheScope: "private" }),
    "tools/call": ASKS,
    "prompts/get": ASKS,
  });
  const gateway = stage.gateway({ limits, report: false });
  const requests = new Map<unknown, RelayedRequest>();
  const mounted = await gateway.mount("up", open(up.url), {
    prefix: "",
    before: () => undefined,
    relayed: (request) => void requests.set(request.call, request),
    ...more,
  });
  /** Of the requests to the server, those under way and those that are over. */
  const counted = () => {
    const all = [...requests.values()];
    const over = all.filter(({ tookMs }) => tookMs !== undefined).length;
    return { open: all.length - over, over };
  };
  return { gateway, mounted, counted };
}

it("ends by parkedMs where its caller has no session", async () => {
  const { gateway, counted } = await asking({ parkedMs: 300 });
  const { result } = await stage.post(await stage.serve(gateway), "tools/call", { name: "read", arguments: {} });
  expect(result).toMatchObject({ resultType: "input_required" });
  expect(counted()).toEqual({ open: 1, over: 0 });
  await expect.poll(counted).toEqual({ open: 0, over: 1 });
});

it("ends by askTimeoutMs where its caller has one", async () => {
  const { gateway, counted } = await asking({ askTimeoutMs: 100 });
  const client = await stage.client(gateway, { revision: "2025-11-25", elicit: NEVER });
  await client.call("read").catch(() => undefined);
  await expect.poll(counted).toEqual({ open: 0, over: 1 });
});

it("ends when its caller cancels, when the server is taken away, and when the place is needed for another", async () => {
  const { gateway, mounted, counted } = await asking({ parked: 1 });
  const stop = new AbortController();
  const elicit = (): Promise<never> => (stop.abort(), NEVER());
  const client = await stage.client(gateway, { revision: "2025-11-25", elicit });
  await expect(client.call("read", {}, { signal: stop.signal })).rejects.toMatchObject({ code: "CANCELLED" });
  await expect.poll(counted).toEqual({ open: 0, over: 1 });
  const url = await stage.serve(gateway);
  for (let n = 0; n < 2; n++) await stage.post(url, "tools/call", { name: "read", arguments: {} });
  await expect.poll(counted).toEqual({ open: 1, over: 2 });
  await mounted.restart();
  await expect.poll(counted).toEqual({ open: 0, over: 3 });
});

it("ends when its caller cancels, though a function that stands before does not see to it", async () => {
  const { gateway, counted } = await asking({}, CARELESS);
  const stop = new AbortController();
  const elicit = (): Promise<never> => (stop.abort(), NEVER());
  const client = await stage.client(gateway, { revision: "2025-11-25", elicit });
  await expect(client.call("read", {}, { signal: stop.signal })).rejects.toMatchObject({ code: "CANCELLED" });
  await expect.poll(counted).toEqual({ open: 0, over: 1 });
});

const CALLS = 40;
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
const CALL = { name: "read", arguments: {} };

// A prompt can be asked where nothing is kept of it, and a function of the gateway's owner need not take care of what it is handed.
it.each([
  ["a tool's is given no timer of its own", "tools/call", CALL, {}, 0],
  ["a prompt's has the client's time", "prompts/get", { name: "words" }, {}, CALLS],
  ["what a function stands before has it as well", "tools/call", CALL, CARELESS, CALLS],
])("%s", async (_, method, params, more, expected) => {
  const { gateway, counted } = await asking({}, more);
  const url = await stage.serve(gateway);
  const call = () => stage.post(url, method, params);
  await call();
  const before = timers();
  for (let n = 0; n < CALLS; n++) await call();
  expect(counted()).toEqual({ open: CALLS + 1, over: 0 });
  // Those of connections come and go.
  expect(Math.abs(timers() - before - expected)).toBeLessThan(CALLS / 2);
});
