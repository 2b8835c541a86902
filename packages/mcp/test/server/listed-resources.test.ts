// Templates that say what is in them: their resources stand in the list behind what is registered, page by page.
import { expect, it } from "vitest";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";

function library(books: readonly string[], pageSize = 2): Server {
  const server = new Server({ name: "library", version: "1.0.0", limits: { pageSize }, report: false });
  server.resource("book://list", { name: "list", read: () => books.join() });
  server.resource("book://text/0", { name: "zero", read: () => "0" });
  server.resourceTemplate("book://text/{id}", {
    mimeType: "text/x-book",
    list: () => books.map((id) => ({ uri: `book://text/${id}`, title: `Book ${id}` })),
    read: (_, { id }) => String(id),
  });
  return server;
}

it.each(["2024-11-05", "2025-11-25", "2026-07-28"])("lists them in pages, each once: %s", async (revision) => {
  const client = await connect(library(["0", "1", "2", "3"]), { revision });
  const all = await client.resources().all();
  expect(all.map(({ uri, name, mimeType }) => [uri, name, mimeType])).toEqual([
    ["book://list", "list", undefined],
    ["book://text/0", "zero", undefined],
    ["book://text/1", "book://text/1", "text/x-book"],
    ["book://text/2", "book://text/2", "text/x-book"],
    ["book://text/3", "book://text/3", "text/x-book"],
  ]);
  await client.close();
});

it("keeps pages that end with the list, and refuses cursors of others", async () => {
  const client = await connect(library(["1", "2"]));
  const first = await client.request("resources/list");
  const second = await client.request("resources/list", { cursor: first["nextCursor"] as string });
  expect((second["resources"] as unknown[]).length).toBe(2);
  expect(second["nextCursor"]).toBeUndefined();
  expect(second["cacheScope"]).toBe("private");
  await expect(client.request("resources/list", { cursor: "bm90" })).rejects.toMatchObject({ code: -32602 });
  await client.close();
});

it("lists what a caller may see, and not what is disabled", async () => {
  const server = library([]);
  const hidden = server.resourceTemplate("secret://{id}", {
    visible: ({ carrier }) => carrier.principal === "ada",
    list: (ctx) => [{ uri: `secret://${ctx.principal}` }],
    read: () => "x",
  });
  const uris = async (identity: string): Promise<string[]> => {
    const client = await connect(server, { identity });
    const all = await client.resources().all();
    await client.close();
    return all.map(({ uri }) => uri).filter((uri) => uri.startsWith("secret:"));
  };
  expect([await uris("ada"), await uris("bob")]).toEqual([["secret://ada"], []]);
  hidden.disable();
  expect(await uris("ada")).toEqual([]);
});

it("tells the log, not the client, what a list throws", async () => {
  const server = library([]);
  server.resourceTemplate("broken://{id}", {
    list: () => {
      throw new Error("the database is down");
    },
    read: () => "x",
  });
  const client = await connect(server);
  await expect(client.request("resources/list")).rejects.toThrow(/^(?!.*database).*error id/s);
  await client.close();
});

it("shows at most 10,000 of one template", async () => {
  const many = Array.from({ length: 10_001 }, (_, at) => String(at + 1));
  const client = await connect(library(many, 20_000));
  expect((await client.resources().all()).length).toBe(2 + 10_000);
  await client.close();
});
