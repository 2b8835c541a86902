// Many users of one mounted server: a connection each, and nothing that grows with them beside those.
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { Gateway } from "../../src/gateway/gateway.js";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";

it("follows the lists of thirty connections without a warning of Node's, and closes all of them", async () => {
  const most = countListeners();
  const upstream = new Server({ name: "up", version: "1.0.0" });
  upstream.tool("read", { run: () => "read" });
  const gateway = new Gateway({ name: "gateway", version: "1.0.0" });
  const opened: Client[] = [];
  const mounted = await gateway.mount(
    "up",
    async (options) => {
      const client = await connect(upstream, options);
      opened.push(client);
      return client;
    },
    { sharing: "session" },
  );
  const clients = await Promise.all(Array.from({ length: 30 }, () => connect(gateway, { revision: "2025-11-25" })));
  await Promise.all(clients.map((client) => client.call("up__read")));
  expect(mounted.connections).toBe(31);
  // A change that all of them hear of, at the same time.
  const changed = Promise.all(
    clients.map(async (client) => {
      for await (const { kind } of client.subscribe({ toolsListChanged: true })) return kind;
      return undefined;
    }),
  );
  upstream.tool("write", { run: () => "written" });
  expect(new Set(await changed)).toEqual(new Set(["tools"]));
  await gateway.unmountAll();
  await Promise.all(opened.map(({ closed }) => closed));
  await Promise.all(clients.map((client) => client.close()));
  expect(most()).toBeLessThanOrEqual(MOST_LISTENERS);
});

it.each([
  ["its session's end", { sharing: "session" }, 1],
  ["its call's end", { sharing: "call" }, 1],
  ["nobody", { sharing: "session" }, 0],
] as const)("is over when every connection is gone, also one that was closed by %s", async (_by, options, closed) => {
  const upstream = new Server({ name: "up", version: "1.0.0" });
  upstream.tool("read", { run: () => "read" });
  const gateway = new Gateway({ name: "gateway", version: "1.0.0" });
  let [left, closing] = [0, 0];
  const slowly = async (given: ClientOptions): Promise<Client> => {
    const client = await connect(upstream, given);
    left += 1;
    const close = client.close.bind(client);
    let gone: Promise<void> | undefined;
    // As of a process that has something to write before it ends.
    client.close = () => {
      closing += gone === undefined ? 1 : 0;
      return (gone ??= pause(400 / closing)
        .then(close)
        .finally(() => (left -= 1)));
    };
    return client;
  };
  await gateway.mount("up", slowly, options);
  const client = await connect(gateway, { revision: "2025-11-25" });
  await client.call("up__read");
  expect(left).toBeGreaterThan(0);
  if (closed > 0) await client.close();
  await vi.waitFor(() => expect(closing).toBe(closed));
  expect(left).toBeGreaterThan(0);
  await gateway.unmountAll();
  expect(left).toBe(0);
  await client.close();
});

/** Node warns of a signal with more listeners than this: it takes them for a leak. */
const MOST_LISTENERS = 10;

/** Counts the listeners of every signal until it is asked for the most that one had. */
function countListeners(): () => number {
  const counts = new WeakMap<EventTarget, number>();
  let most = 0;
  const add = vi.spyOn(AbortSignal.prototype, "addEventListener");
  const remove = vi.spyOn(AbortSignal.prototype, "removeEventListener");
  const count = (spied: typeof add | typeof remove, step: number): void => {
    const original = EventTarget.prototype[step > 0 ? "addEventListener" : "removeEventListener"];
    spied.mockImplementation(function (this: AbortSignal, ...given: Parameters<AbortSignal["addEventListener"]>) {
      const now = (counts.get(this) ?? 0) + step;
      counts.set(this, now);
      most = Math.max(most, now);
      original.apply(this, given);
    });
  };
  count(add, 1);
  count(remove, -1);
  return () => {
    add.mockRestore();
    remove.mockRestore();
    return most;
  };
}
