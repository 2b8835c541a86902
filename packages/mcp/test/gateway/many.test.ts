// Many users of one mounted server: a connection each, and nothing that grows with them beside those.
import { expect, it } from "vitest";
import { Gateway } from "../../src/gateway/gateway.js";
import type { Client } from "../../src/client/client.js";
import { connect } from "../../src/serve/connect-node.js";
import { Server } from "../../src/server/server.js";

it("follows the lists of thirty connections without a warning of Node's, and closes all of them", async () => {
  const warnings: string[] = [];
  const heard = (warning: Error): void => void warnings.push(warning.name);
  process.on("warning", heard);
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
  process.off("warning", heard);
  expect(warnings).toEqual([]);
});
