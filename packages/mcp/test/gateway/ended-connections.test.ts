// A connection that ended, or never began, is garbage at once: a server that comes and goes all day fills no memory.
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { Gateway } from "../../src/gateway/gateway.js";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Longer than any test. */
const IDLE_MS = 600_000;
const TURNS = 200;
const TIMES = 6;
/** The last one that was open and the last failure are known for longer. */
const LAST = 2;

let gateway: Gateway;
let client: Client;
/** Of each connection that was tried: what it has and nobody else keeps. */
let tried: WeakRef<AbortSignal>[];
/** Closes the connection that is open. */
let end: () => Promise<void>;
let isThere: boolean;

beforeEach(async () => {
  [tried, isThere] = [[], true];
  const server = new Server({ name: "up", version: "1" });
  server.tool("say", { run: () => "said" });
  gateway = new Gateway({ name: "gateway", version: "1", report: false });
  const open = async (options: ClientOptions): Promise<Client> => {
    tried.push(new WeakRef(options.signal as AbortSignal));
    if (!isThere) throw new Error("there is no server");
    const opened = await connect(server, { ...options, reconnect: false });
    end = () => opened.close();
    return opened;
  };
  await gateway.mount("up", open, { idleMs: IDLE_MS });
  client = await connect(gateway, { reconnect: false });
  await client.call("up__say", {});
});
afterEach(async () => {
  await client.close();
  await gateway.unmountAll();
});

const alive = (): number => tried.filter((each) => each.deref() !== undefined).length;

async function left(): Promise<number> {
  end = () => Promise.resolve();
  for (let turn = 0; turn < TURNS && alive() > LAST; turn++) {
    await setImmediate();
    collect();
  }
  return alive();
}

it("those that end while nobody uses them", async () => {
  for (let time = 0; time < TIMES; time++) {
    await client.call("up__say", {});
    await end();
  }
  expect(tried.length).toBeGreaterThan(LAST + 1);
  expect(await left()).toBeLessThanOrEqual(LAST);
});

it("those that cannot be opened", async () => {
  await end();
  isThere = false;
  for (let time = 0; time < TIMES; time++) {
    const outcome = await client.call("up__say", {}).catch((error: unknown) => ({ isError: String(error) }));
    expect(outcome).toHaveProperty("isError");
  }
  expect(tried.length).toBeGreaterThan(LAST + 1);
  expect(await left()).toBeLessThanOrEqual(LAST);
});
