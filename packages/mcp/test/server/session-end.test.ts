// What a server tells of its sessions when they are over.
import { expect, it } from "vitest";
import { connectInMemory } from "../../src/serve/connect-in-memory.js";
import type { EndedSession } from "../../src/server/session.js";
import { Server } from "../../src/server/server.js";

it("tells of every session once, of none where there was none, and goes on when that fails", async () => {
  const ended: EndedSession[] = [];
  const reports: string[] = [];
  const server = new Server({
    name: "t",
    version: "1",
    report: (_level, message) => reports.push(message),
    onSessionEnd(one) {
      ended.push(one);
      throw new Error("the collector is away");
    },
  });
  const old = await connectInMemory(server, { revision: "2025-06-18", client: { name: "ada", version: "2" } });
  const stateless = await connectInMemory(server);
  const silent = await connectInMemory(server, { open: false });
  for (const peer of [old, stateless, silent, old]) await peer.close();
  expect(ended).toMatchObject([{ revision: "2025-06-18", client: { name: "ada" }, transport: "memory" }]);
  expect(ended[0]?.durationMs).toBeGreaterThanOrEqual(0);
  expect(reports).toEqual(["onSessionEnd failed"]);
});
