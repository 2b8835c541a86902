// Servers that lack a list they declared, fail at one, or take long: everything else of them, and of the others, is there.
import { expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { initialized, ScriptedServer, type Sent, type Talk } from "../client/scripted-server.js";
import { hostWith } from "./host-fixture.js";

const LISTS: Readonly<Record<string, JsonObject>> = {
  "tools/list": { tools: [{ name: "t", inputSchema: { type: "object" } }] },
  "prompts/list": { prompts: [{ name: "p" }] },
  "resources/list": { resources: [{ uri: "x:1", name: "r" }] },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "x:{a}", name: "f" }] },
};
const METHODS = Object.keys(LISTS);

/** A server with one of each, but for what `instead` answers in another way. */
function server(instead: Readonly<Record<string, (talk: Talk) => void>>): ScriptedServer {
  return new ScriptedServer(({ method = "" }: Sent, talk) => {
    const known = LISTS[method];
    const capabilities = { tools: {}, prompts: {}, resources: {} };
    const other = instead[method];
    if (other !== undefined) other(talk);
    else if (method === "initialize") talk.answer(initialized("2025-11-25", capabilities));
    else if (known !== undefined) talk.answer(known);
    else if (method === "server/discover") talk.fail({ code: -32601 });
  });
}

function offered(host: ReturnType<typeof hostWith>["host"]): Record<string, string[]> {
  return {
    "tools/list": host.tools().map(({ original }) => original),
    "prompts/list": host.prompts().map(({ original }) => original),
    "resources/list": host.resources().map(({ name }) => name),
    "resources/templates/list": host.templates().map(({ name }) => name),
  };
}
const ALL = { "tools/list": ["t"], "prompts/list": ["p"], "resources/list": ["r"], "resources/templates/list": ["f"] };

it.each(METHODS)("a server that does not know %s has an empty one, and the rest", async (method) => {
  const { host, events } = hostWith();
  await host.add("odd", server({ [method]: (talk) => talk.fail({ code: -32601 }) }).dialer());
  expect(offered(host)).toEqual({ ...ALL, [method]: [] });
  expect(events.filter(({ type }) => type === "warning")).toEqual([]);
});

it.each(METHODS)("a server that fails at %s keeps the rest, and it is told", async (method) => {
  const { host, events } = hostWith();
  await host.add("odd", server({ [method]: (talk) => talk.fail({ code: -32603, message: "no network" }) }).dialer());
  expect(offered(host)).toEqual({ ...ALL, [method]: [] });
  expect(JSON.stringify(events)).toContain("no network");
});

it("a file is loaded without waiting for the slowest server, which goes on", async () => {
  let waking: (() => void) | undefined;
  const slow = server({
    "server/discover": (talk) => {
      waking = () => talk.fail({ code: -32601 });
    },
  });
  const { host } = hostWith();
  const quick = server({});
  // What a file names is reached by a command: the host's own way to links is not under test.
  const add = vi.spyOn(host, "add");
  const real = host.add.bind(host);
  add.mockImplementation((name, _target, options) => {
    add.mockRestore();
    return real(name, (name === "slow" ? slow : quick).dialer(), options);
  });
  const text = JSON.stringify({ mcpServers: { slow: { command: "x" } } });
  const report = await host.load(text, { waitMs: 0 });
  expect(report).toMatchObject({ servers: [{ name: "slow", state: "starting" }], problems: [] });
  await vi.waitFor(() => expect(waking).toBeDefined(), { timeout: 10_000, interval: 1 });
  waking?.();
  await vi.waitFor(() => expect(host.servers()).toMatchObject([{ state: "ready" }]), { timeout: 10_000, interval: 1 });
});

it("why a server failed is still to be seen while it is tried again", async () => {
  let attempts = 0;
  const odd = server({
    initialize: (talk) => {
      if (++attempts <= 2) talk.fail({ code: -32603, message: "out of order" });
    },
  });
  const { host } = hostWith({ restart: { firstMs: 1 }, client: { verdicts: false, era: "handshake" } });
  expect(await host.add("odd", odd.dialer("memory"))).toMatchObject({ state: "waiting" });
  await vi.waitFor(() => expect(attempts).toBe(3), { timeout: 10_000, interval: 1 });
  expect(host.servers()).toMatchObject([{ state: "starting", reason: expect.stringContaining("out of order") }]);
  await host.disable("odd");
  expect(host.servers()).toMatchObject([{ state: "disabled", reason: undefined }]);
});
