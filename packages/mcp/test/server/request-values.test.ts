// What is known of a request with its type: claims of whoever asks, values of middleware, identity of an in-memory client.
import { expect, it } from "vitest";
import { z } from "zod";
import { connect } from "../../src/serve/connect.js";
import { connectInMemory } from "../../src/serve/connect-in-memory.js";
import { claimsOf, requestValue } from "../../src/server/context.js";
import { Server } from "../../src/server/server.js";

const CLAIMS = z.object({ tenant: z.string(), level: z.coerce.number() });

function server(): Server {
  const made = new Server({ name: "claims", version: "1.0.0", report: false });
  made.tool("tenant", {
    run: (_, ctx) => {
      const claims: { tenant: string; level: number } = claimsOf(ctx, CLAIMS);
      return `${ctx.principal} of ${claims.tenant} at ${claims.level + 1}`;
    },
  });
  made.tool("guarded", { scopes: ["write"], run: () => "written" });
  return made;
}

const text = (result: { content: unknown[] }): unknown => (result.content[0] as { text?: string }).text;

it.each(["2025-11-25", "2026-07-28"])("knows an in-memory client by its identity: %s", async (revision) => {
  const identity = { principal: "ada", scopes: ["write"], claims: { tenant: "acme", level: "1" } };
  const client = await connect(server(), { revision, identity });
  expect(text(await client.call("tenant"))).toBe("ada of acme at 2");
  expect(text(await client.call("guarded"))).toBe("written");
  await client.close();
  const other = await connect(server(), { revision, identity: { principal: "bob" } });
  expect((await other.call("tenant")).isError).toBe(true);
  await expect(other.call("guarded")).rejects.toThrow("needs the scopes write");
  await other.close();
});

it("knows a raw peer by its identity", async () => {
  const peer = await connectInMemory(server(), {
    identity: { principal: "ada", scopes: [], claims: { tenant: "acme", level: 1 } },
  });
  const answer = await peer.request("tools/call", { name: "tenant", arguments: {} });
  expect(text(answer as never)).toBe("ada of acme at 2");
  await peer.close();
});

it("refuses an identity for a server that is elsewhere", async () => {
  await expect(connect("http://127.0.0.1:1/mcp", { identity: "ada" })).rejects.toMatchObject({ code: "BAD_OPTIONS" });
});

it("says which claim does not fit, and that nobody is known", () => {
  const identity = { principal: "ada", scopes: [], claims: { tenant: 7, level: 1 } };
  expect(() => claimsOf({ identity }, CLAIMS)).toThrow(/The claims of this identity do not fit: \/tenant: /);
  expect(() => claimsOf({ identity: undefined }, CLAIMS)).toThrow("Nobody is known to be asking");
});

it.each(["2025-11-25", "2026-07-28"])(
  "keeps a value of middleware for its request, over questions too: %s",
  async (revision) => {
    const tenant = requestValue<{ name: string }>("tenant");
    let made = 0;
    const asking = new Server({ name: "values", version: "1.0.0" });
    asking.use((call, next) => {
      if (call.method === "tools/call") tenant.set(call, { name: `t${++made}` });
      return next();
    });
    asking.tool("ask", {
      run: async (_, ctx) => {
        const before = tenant.require(ctx).name;
        await ctx.elicit({ message: "Go on?", schema: { go: { type: "boolean" } } });
        return `${before} ${tenant.get(ctx)?.name}`;
      },
    });
    asking.method("acme/none", (_, ctx) => ({
      value: tenant.get(ctx) ?? null,
      thrown: thrown(() => tenant.require(ctx)),
    }));
    const client = await connect(asking, { revision, elicit: () => ({ action: "accept", content: { go: true } }) });
    expect(text(await client.call("ask"))).toBe(revision === "2026-07-28" ? "t1 t2" : "t1 t1");
    expect(await client.request("acme/none")).toMatchObject({ value: null, thrown: "NO_VALUE" });
    await client.close();
  },
);

function thrown(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}
