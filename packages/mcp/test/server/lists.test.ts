import { describe, expect, it, vi } from "vitest";
import fc from "fast-check";
import { Server, type ServerOptions } from "@secure-local/mcp/server";
import { cursorAfter, readCursor } from "../../src/server/lists.js";
import { connect } from "../support/connect.js";
import { serveStub, stateless } from "../support/stub-transport.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

function withTools(names: readonly string[], options: Partial<ServerOptions> = {}): Server {
  const server = new Server({ name: "s", version: "1", ...options });
  for (const name of names) server.tool(name, { run: () => name });
  return server;
}

async function allNames(server: Server, revision: string, between?: (page: number) => void): Promise<string[]> {
  const peer = await connect(server, { revision });
  const names: string[] = [];
  for (let cursor: unknown, page = 0; page === 0 || cursor !== undefined; page++) {
    const result = await peer.request("tools/list", cursor === undefined ? {} : { cursor });
    names.push(...(result["tools"] as { name: string }[]).map(({ name }) => name));
    cursor = result["nextCursor"];
    between?.(page);
  }
  return names;
}

describe("lists", () => {
  it("are serialised once for a revision and a version of the set, and sent as they are", async () => {
    const server = withTools(["a", "b"]);
    const peers = await Promise.all(REVISIONS.map((revision) => connect(server, { revision })));
    for (const peer of peers) await peer.request("tools/list");
    const stringify = vi.spyOn(JSON, "stringify");
    try {
      const texts = (): unknown[] =>
        stringify.mock.calls.filter(([value]) => Array.isArray((value as { tools?: unknown } | null)?.tools));
      const peer = serveStub(server);
      for (let id = 1; id <= 20; id++) peer.send(stateless(id, "tools/list"));
      expect(peer.written).toHaveLength(20);
      expect(texts()).toEqual([]);
      server.tool("c", { run: () => "c" });
      for (let id = 21; id <= 40; id++) peer.send(stateless(id, "tools/list"));
      expect(texts()).toHaveLength(1);
    } finally {
      stringify.mockRestore();
    }
  });

  it.each(REVISIONS)(
    "in %s are complete and in the order of registration, whatever the page size",
    async (revision) => {
      const names = Array.from({ length: 23 }, (_, n) => `tool-${String(n).padStart(2, "0")}`);
      for (const pageSize of [1, 7, 22, 23, 24]) {
        expect(await allNames(withTools(names.toReversed(), { limits: { pageSize } }), revision)).toEqual(
          names.toReversed(),
        );
      }
    },
  );

  it("stay right when the set changes between pages: what was there all the time comes exactly once", async () => {
    const server = new Server({ name: "s", version: "1", limits: { pageSize: 2 } });
    const registrations = new Map(
      ["a", "c", "e", "g", "i"].map((name) => [name, server.tool(name, { run: () => name })]),
    );
    const seen = await allNames(server, "2025-11-25", (page) => {
      if (page === 0) registrations.get("c")?.remove();
      if (page === 0) server.tool("b", { run: () => "b" });
      if (page === 1) server.tool("h", { run: () => "h" });
    });
    for (const name of ["a", "e", "g", "i"]) expect(seen.filter((each) => each === name)).toEqual([name]);
    expect(seen).toEqual(["a", "c", "e", "g", "i", "b", "h"]);
  });

  it("have cursors that survive a restart", async () => {
    const make = (): Server => withTools(["a", "b", "c"], { limits: { pageSize: 2 } });
    const { nextCursor } = await (await connect(make())).request("tools/list");
    const rest = await (await connect(make())).request("tools/list", { cursor: nextCursor });
    expect(rest["tools"]).toMatchObject([{ name: "c" }]);
  });

  it("are private, on every page, as soon as not everybody sees the same (M48, M49)", async () => {
    const visible = withTools(["a", "b", "c"], { limits: { pageSize: 2 }, visible: () => true });
    const peer = await connect(visible);
    const first = await peer.request("tools/list");
    const second = await peer.request("tools/list", { cursor: first["nextCursor"] });
    expect([first["cacheScope"], second["cacheScope"]]).toEqual(["private", "private"]);
    expect(await (await connect(withTools(["a"]))).request("tools/list")).toMatchObject({
      cacheScope: "public",
      ttlMs: 0,
    });
  });
});

describe("what a caller may see", () => {
  const server = (): Server =>
    withTools(["a", "b", "c", "d"], {
      limits: { pageSize: 2 },
      visible: (kind, name, { carrier }) => kind !== "tool" || carrier.principal === "root" || name !== "b",
    });
  const names = (answer: Record<string, unknown>): string[] =>
    (answer["result"] as { tools: { name: string }[] }).tools.map(({ name }) => name);

  it("is all it sees, on pages of its own", async () => {
    const shared = server();
    const [root, guest] = [serveStub(shared, "root"), serveStub(shared, "guest")];
    for (const peer of [root, guest, root, guest]) peer.send(stateless(peer.written.length + 1, "tools/list"));
    expect(root.written.map(names)).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(guest.written.map(names)).toEqual([
      ["a", "c"],
      ["a", "c"],
    ]);
  });

  it("does not grow by a cursor of somebody else's or one made up", async () => {
    const shared = new Server({
      name: "s",
      version: "1",
      visible: (_kind, name, { carrier }) => carrier.principal === "root" || name === "z",
    });
    for (const name of ["y", "z"]) shared.prompt(name, { run: () => name });
    const [root, guest] = [serveStub(shared, "root"), serveStub(shared, "guest")];
    root.send(stateless(1, "prompts/list", { cursor: cursorAfter("prompts", "0:x") }));
    guest.send(stateless(1, "prompts/list", { cursor: cursorAfter("prompts", "0:x\ny") }));
    const seen = (
      (guest.written[0] as Record<string, unknown>)["result"] as { prompts: { name: string }[] }
    ).prompts.map(({ name }) => name);
    expect(seen).toEqual(["z"]);
  });

  it("is kept for a bounded number of classes", async () => {
    let hidden = "";
    const shared = withTools(
      Array.from({ length: 200 }, (_, n) => `t${n}`),
      { visible: (_kind, name) => name !== hidden },
    );
    const peer = serveStub(shared);
    for (let n = 0; n < 200; n++) {
      hidden = `t${n}`;
      peer.send(stateless(n, "tools/list"));
      expect(names(peer.written[n] as Record<string, unknown>)).not.toContain(hidden);
    }
  });
});

describe("cursors", () => {
  it("carry any name and nothing else opens (M50)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (name) => {
        const cursor = cursorAfter("tools", name);
        expect(readCursor("tools", cursor)).toBe(name);
        expect(readCursor("prompts", cursor)).toBeUndefined();
        expect(readCursor("tools", `${cursor}A`)).not.toBe(name);
      }),
    );
    fc.assert(fc.property(fc.string(), (noise) => readCursor("tools", noise) === undefined));
  });
});
