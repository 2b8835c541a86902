// What is not a `Promise` and yet has a `then` is awaited wherever an author's function may return something.
import { describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { toFetch } from "@secure-local/mcp/fetch";
import { connect } from "../support/connect.js";

/** As the query builders of Drizzle, Knex and Mongoose are: nothing runs before somebody asks for the rows, each time anew. */
class Query<T> implements PromiseLike<T> {
  runs = 0;
  readonly connection = { password: "secret" };
  readonly #rows: T;
  constructor(rows: T) {
    this.#rows = rows;
  }
  then<A = T, B = never>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.runs++;
    const rows = Promise.resolve(this.#rows);
    // oxlint-disable-next-line no-callback-in-promise -- this is a `then`
    return rows.then(done, failed);
  }
}

const make = (): Server => new Server({ name: "s", version: "1" });

describe("a query that", () => {
  it("a tool returns is run once, with and without an output schema", async () => {
    const server = make();
    const plain = new Query({ rows: 1 });
    const checked = new Query({ rows: 2 });
    server.tool("plain", { run: () => plain });
    server.tool("checked", {
      output: { type: "object", properties: { rows: { type: "integer" } }, required: ["rows"] },
      run: () => checked,
    });
    const peer = await connect(server);
    expect(await peer.request("tools/call", { name: "plain" })).toMatchObject({ structuredContent: { rows: 1 } });
    expect(await peer.request("tools/call", { name: "checked" })).toMatchObject({ structuredContent: { rows: 2 } });
    expect([plain.runs, checked.runs]).toEqual([1, 1]);
  });

  it("fails, fails as an exception does", async () => {
    const server = make();
    const failed = { then: (_: unknown, fail: (reason: unknown) => void) => fail(new Error("no table")) };
    server.tool("t", { run: () => failed });
    const peer = await connect(server);
    expect(await peer.request("tools/call", { name: "t" })).toMatchObject({ isError: true });
  });

  it("a resource, a template, a prompt and a completer return is run", async () => {
    const server = make();
    server.resource("a:b", { read: () => new Query("one") });
    server.resourceTemplate("c:{d}", { read: () => new Query("two"), complete: { d: () => new Query(["three"]) } });
    server.prompt("p", { run: () => new Query("four") });
    const peer = await connect(server);
    expect(await peer.request("resources/read", { uri: "a:b" })).toMatchObject({ contents: [{ text: "one" }] });
    expect(await peer.request("resources/read", { uri: "c:x" })).toMatchObject({ contents: [{ text: "two" }] });
    expect(await peer.request("prompts/get", { name: "p" })).toMatchObject({
      messages: [{ content: { text: "four" } }],
    });
    const ref = { type: "ref/resource", uri: "c:{d}" };
    const completed = peer.request("completion/complete", { ref, argument: { name: "d", value: "" } });
    expect(await completed).toMatchObject({ completion: { values: ["three"] } });
  });

  it("a method of an author's own, or middleware, returns is run", async () => {
    const server = make();
    server.method("acme/rows", () => new Query({ rows: 5 }));
    server.use((call, next) => (call.method === "acme/none" ? new Query({ none: true }) : next()));
    server.method("acme/none", () => ({}));
    const peer = await connect(server);
    expect(await peer.request("acme/rows")).toMatchObject({ rows: 5 });
    expect(await peer.request("acme/none")).toMatchObject({ none: true });
  });

  it("says who is asking over HTTP is run", async () => {
    const server = make();
    server.tool("who", { run: (_args, { principal }) => principal });
    const handler = toFetch(server, { sessions: false, authenticate: () => new Query("ada") });
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who" } };
    const answer = await handler(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: {
          host: "localhost",
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2025-06-18",
        },
        body: JSON.stringify(body),
      }),
    );
    expect(await answer.text()).toContain('"text":"ada"');
  });
});
