// Questions where no memory is shared: each round may be served by another process, and none settles the work of another.
import { randomBytes } from "node:crypto";
import { afterEach, expect, it, vi } from "vitest";
import { aesSeal, Server, type ServerOptions } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";

const seal = aesSeal(randomBytes(32));
const capabilities = { elicitation: {} };
const schema = { name: { type: "string" } } as const;
const accept = (name: string): object => ({ action: "accept", content: { name } });

afterEach(() => void vi.unstubAllGlobals());

function asking(options: Partial<ServerOptions>): { readonly server: Server; readonly log: string[]; runs: number } {
  const log: string[] = [];
  const made = {
    server: new Server({
      name: "s",
      version: "1",
      seal,
      report: (_l, _m, details) => log.push(String(details?.["error"])),
      ...options,
    }),
    log,
    runs: 0,
  };
  for (const replay of [true, false]) {
    made.server.tool(`replay_${replay}`, {
      replay,
      run: async (_args, ctx) => {
        made.runs++;
        const first = await ctx.elicit({ message: "First?", schema });
        const second = await ctx.elicit({ message: "Second?", schema });
        return `${first.content?.name} ${second.content?.name}`;
      },
    });
  }
  return made;
}

it("two questions of one handler go over three processes", async () => {
  const servers = [0, 1, 2].map(() => asking({ questions: "replay" }));
  const [one, two, three] = await Promise.all(servers.map(({ server }) => connect(server, { capabilities })));
  const call = { name: "replay_true", arguments: {} };
  const first = await one?.request("tools/call", call);
  expect(first).toMatchObject({ resultType: "input_required", inputRequests: { "ask-1": {} } });
  const second = await two?.request("tools/call", {
    ...call,
    requestState: first?.["requestState"],
    inputResponses: { "ask-1": accept("Ada") },
  });
  expect(second).toMatchObject({ resultType: "input_required", inputRequests: { "ask-2": {} } });
  const last = await three?.request("tools/call", {
    ...call,
    requestState: second?.["requestState"],
    inputResponses: { "ask-2": accept("Bob") },
  });
  expect(last).toMatchObject({ content: [{ text: "Ada Bob" }] });
  expect(servers.map(({ runs }) => runs)).toEqual([1, 1, 1]);
});

it("a retry to the same process runs the handler again, and wakes nothing of the request before", async () => {
  const made = asking({ questions: "replay" });
  const peer = await connect(made.server, { capabilities });
  const call = { name: "replay_true", arguments: {} };
  const first = await peer.request("tools/call", call);
  await peer.request("tools/call", {
    ...call,
    requestState: first["requestState"],
    inputResponses: { "ask-1": accept("Ada") },
  });
  expect(made.runs).toBe(2);
});

it("is what Cloudflare Workers get, and a handler that may not run again is told so in the log", async () => {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const made = asking({});
  const peer = await connect(made.server, { capabilities });
  expect(await peer.request("tools/call", { name: "replay_false" })).toMatchObject({ isError: true });
  expect(made.log[0]).toContain("give it `replay: true`");
});

it("rounds stay bounded", async () => {
  const made = asking({ questions: "replay", limits: { rounds: 1 } });
  const peer = await connect(made.server, { capabilities });
  const call = { name: "replay_true", arguments: {} };
  const first = await peer.request("tools/call", call);
  const second = peer.request("tools/call", {
    ...call,
    requestState: first["requestState"],
    inputResponses: { "ask-1": accept("Ada") },
  });
  await expect(second).rejects.toThrow("more than 1 rounds");
});
