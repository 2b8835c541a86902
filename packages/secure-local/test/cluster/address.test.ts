// `serve --redis` at an address that cannot be listened on: one sentence that names --address, exit code 2, and an end.
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasRedis, startRedis } from "../../../mcp/test/cluster/redis-fixture.js";
import { Served } from "../serve/served.js";
import { machine } from "./fleet.js";

async function taken(): Promise<string> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  return `tcp://127.0.0.1:${(other.address() as AddressInfo).port}`;
}

describe.runIf(hasRedis)("serve --redis with --address", () => {
  it.each([
    ["an address of another machine", async () => "tcp://192.0.2.1:3101", /is no address of this machine/],
    ["a port that is taken", taken, /is taken: end the process that listens there, or choose another port/],
    [
      "a socket in a folder that is not there",
      async () => "unix:///none/such.sock",
      /is in a folder that is not there/,
    ],
  ])("%s", async (_, addressOf, said) => {
    const redis = await startRedis("--appendonly", "yes");
    const { home, policy, audit } = machine('version: "1.0"\ntools: { allowed: ["calculate"] }\n');
    const address = await addressOf();
    const args = ["--policy", policy, "--audit", audit, "--redis", redis.url, "--address", address];
    const served = new Served(args, home);
    expect(await served.exited()).toBe(2);
    const last = served.stderr.trimEnd().split("\n").at(-1);
    expect(last).toContain(`mcp-secure-local: --address "${address}" `);
    expect(last).toMatch(said);
  });
});
