// Servers elsewhere under one roof: over both transports, with headers of their own, off and on again.
import { expect, it } from "vitest";
import { Host } from "../../src/serve/host-node.js";
import { start, testServer } from "../http/http-fixture.js";
import { hostWith, kept } from "./host-fixture.js";

const text = (value: string): object => ({ content: [{ type: "text", text: value }] });
const echoes = (host: { call: Host["call"] }, name: string): Promise<object> =>
  host.call(`${name}__echo`, { text: "x" });

it("reaches servers by URL, is told where, and can leave and come back", async () => {
  const [one, two] = await Promise.all([start(), start(testServer(), { sse: true })]);
  const shown: unknown[] = [];
  const host = kept(
    new Host({
      authorize: ({ url, headers }) => shown.push([url, headers]) > 0,
      onCall: () => true,
      client: { verdicts: false },
    }),
  );
  const sse = new URL("/sse", two.url).href;
  const statuses = await Promise.all([
    host.add("one", { url: one.url, headers: { "X-Mine": "1" } }),
    host.add("two", { url: sse, transport: "sse" }),
  ]);
  expect(statuses.map(({ state, transport }) => [state, transport])).toEqual([
    ["ready", "http"],
    ["ready", "sse"],
  ]);
  expect(shown).toEqual(
    expect.arrayContaining([
      [one.url, ["x-mine"]],
      [sse, []],
    ]),
  );
  for (const name of ["one", "two", "one"]) {
    expect(await echoes(host, name)).toMatchObject(text("x"));
    await host.disable(name);
    expect((await host.enable(name)).state).toBe("ready");
    expect(await echoes(host, name)).toMatchObject(text("x"));
  }
  expect(shown).toHaveLength(2);
});

it("without Node's connections too", async () => {
  const { url } = await start();
  const { host } = hostWith();
  expect(await host.load(JSON.stringify({ mcpServers: { far: { type: "http", url } } }))).toMatchObject({
    servers: [{ name: "far", state: "ready", transport: "http" }],
    problems: [],
  });
  expect(await echoes(host, "far")).toMatchObject(text("x"));
});
