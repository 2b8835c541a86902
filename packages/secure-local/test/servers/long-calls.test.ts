// A call of a server's tool has all of the time that the policy gives it, and no more: no limit of the gateway comes before.
import { Server } from "@secure-local/mcp/server";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Fleet } from "./fleet.js";

let fleet: Fleet;
let begun: () => void;
beforeEach(() => {
  fleet = new Fleet();
  fleet.make("slow", () => {
    const server = new Server({ name: "slow", version: "1" });
    server.tool("wait", {
      description: "An honest thing.",
      input: { type: "object" },
      run: (_, { signal }) => {
        begun();
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("ended")));
        });
      },
    });
    return server;
  });
});
afterEach(async () => {
  vi.useRealTimers();
  await fleet.close();
});

const MINUTE_MS = 60_000;

it("is given the hour that its policy says, though it makes no progress", async () => {
  const policy = await fleet.policy('tools: { allowed: ["slow__*"], timeouts: { slow__wait: 3600 } }');
  await fleet.approve(policy);
  await fleet.serve(policy);
  const peer = await fleet.client("2025-11-25");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  const running = new Promise<void>((resolve) => (begun = resolve));
  let answer: string | undefined;
  const call = peer.request("tools/call", { name: "slow__wait", arguments: {} }).then((result) => {
    answer = JSON.stringify(result);
  });
  await running;
  await vi.advanceTimersByTimeAsync(59 * MINUTE_MS);
  expect(answer).toBeUndefined();
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  await call;
  expect(answer).toContain("timed out after 3600 s");
});
