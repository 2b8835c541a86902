// What a client's author adds: middleware around its requests, notifications of the server's own, results with a type.
import { expect, it } from "vitest";
import { z } from "zod";
import { RpcError } from "../../src/jsonrpc/errors.js";
import type { ClientMiddleware } from "../../src/client/options.js";
import { connect } from "../../src/serve/connect.js";
import { result } from "../../src/server/content.js";
import { Server } from "../../src/server/server.js";

function server(): Server {
  const made = new Server({ name: "typed", version: "1.0.0" });
  const input = { type: "object", properties: { n: { type: "number" } } } as const;
  made.tool("double", { input, run: ({ n = 1 }) => ({ n: n * 2 }) });
  made.tool("fail", { run: () => result({ content: ["no"], isError: true }) });
  return made;
}

it.each(["2025-11-25", "2026-07-28"])("goes around every request, the first outermost: %s", async (revision) => {
  const seen: string[] = [];
  const client = await connect(server(), {
    revision,
    middleware: [
      async (request, next) => {
        seen.push(`> ${request.method}`);
        const answer = await next();
        seen.push(`< ${request.method}`);
        return answer;
      },
      (request, next) => {
        if (request.method === "tools/call") request.params = { ...request.params, arguments: { n: 21 } };
        return next();
      },
    ],
  });
  expect((await client.call("double", { n: 1 })).structuredContent).toEqual({ n: 42 });
  await client.tools().all();
  expect(seen).toEqual(["> tools/call", "< tools/call", "> tools/list", "< tools/list"]);
  await client.close();
});

it("may refuse, answer by itself, and try again", async () => {
  let tries = 0;
  const client = await connect(server(), {
    middleware: [
      async (request, next) => {
        if (request.params?.["name"] === "never") throw new RpcError(-1, "not by this client");
        if (request.params?.["name"] === "own") return { content: [{ type: "text", text: "own" }] };
        try {
          return await next();
        } catch {
          return await next();
        }
      },
      (_, next) => (tries++ === 0 ? Promise.reject(new Error("once")) : next()),
    ],
  });
  await expect(client.call("never")).rejects.toThrow("not by this client");
  expect((await client.call("own")).content).toEqual([{ type: "text", text: "own" }]);
  expect((await client.call("double", { n: 2 })).structuredContent).toEqual({ n: 4 });
  expect(tries).toBe(2);
  await client.close();
});

it("types a result by the caller's own schema, and rejects what does not fit", async () => {
  const client = await connect(server());
  const typed = await client.call("double", { n: 2 }, { output: z.object({ n: z.number().transform(String) }) });
  if (typed.isError === true) throw new Error("it did not fail");
  const n: string = typed.structuredContent.n;
  expect(n).toBe("4");
  const wrong = client.call("double", { n: 2 }, { output: z.object({ n: z.string(), m: z.string() }) });
  await expect(wrong).rejects.toMatchObject({
    code: "INVALID_OUTPUT",
    message: expect.stringContaining("/n: ") as string,
  });
  expect((await client.call("fail", {}, { output: z.object({}) })).isError).toBe(true);
  await client.close();
});

it.each(["2025-11-25", "2026-07-28"])("says so where middleware gives no result back: %s", async (revision) => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  const wrong: readonly [string, ClientMiddleware][] = [
    ["undefined", (async (_: unknown, next: () => Promise<unknown>) => void next()) as never],
    ["undefined", (async (_: unknown, next: () => Promise<unknown>) => void (await next())) as never],
    ["number", (() => 5) as never],
  ];
  for (const [given, middleware] of wrong) {
    const client = await connect(server(), { revision, middleware: [middleware] });
    await expect(client.call("double", { n: 1 })).rejects.toMatchObject({
      code: "BAD_OPTIONS",
      message: `The client's middleware gave no result back for tools/call, but ${given}: write return await next()`,
    });
    await client.close();
  }
  // Node tells of them once all that was waiting has run.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

it.each(["2025-11-25", "2026-07-28"])(
  "what is no JSON is not sent, by a LocalError that says why: %s",
  async (revision) => {
    const client = await connect(server(), { revision });
    const cycle: Record<string, unknown> = {};
    cycle["again"] = cycle;
    for (const args of [{ n: 5n }, cycle])
      await expect(client.call("double", args as never)).rejects.toMatchObject({
        code: "BAD_OPTIONS",
        message: expect.stringMatching(/^tools\/call was not sent: what it was given is no JSON: \S/) as string,
      });
    expect((await client.call("double", { n: 2 })).structuredContent).toEqual({ n: 4 });
    await client.close();
  },
);
