// Many servers under one roof: one catalogue, each server for itself, nothing seen of the others.
import { describe, expect, it, vi } from "vitest";
import { link as linkTo } from "../../src/server/content.js";
import { Server } from "../../src/server/server.js";
import { hostWith, shop, tapped } from "./host-fixture.js";

const names = (entries: readonly { name: string }[]): string[] => entries.map(({ name }) => name);
const text = (result: { content: readonly unknown[] }): unknown => (result.content[0] as { text?: unknown }).text;

describe("the catalogue", () => {
  it("merges tools, prompts, resources and templates, each with its server", async () => {
    const { host } = hostWith();
    const north = shop("north");
    north.resourceTemplate("file:///{path}", { name: "files", read: (uri) => uri });
    const statuses = await Promise.all([host.add("north", north), host.add("south", shop("south"))]);
    expect(statuses.map(({ state, server }) => [state, server?.name])).toEqual([
      ["ready", "north"],
      ["ready", "south"],
    ]);
    expect(names(host.tools())).toEqual(["north__read", "north__write", "south__read", "south__write"]);
    expect(names(host.prompts())).toEqual(["north__greet", "south__greet"]);
    expect(host.resources().map(({ server, resource }) => `${server} ${resource.uri}`)).toEqual([
      "north note://all",
      "south note://all",
      "north note://north",
      "south note://south",
    ]);
    expect(host.templates().map(({ server, template }) => [server, template.uriTemplate])).toEqual([
      ["north", "file:///{path}"],
    ]);
  });

  it("hands what is asked for to its server under its own name", async () => {
    const { host } = hostWith();
    await Promise.all([host.add("north", shop("north")), host.add("south", shop("south"))]);
    expect(text(await host.call("south__read", { key: "x" }))).toBe("south: x");
    const { messages } = await host.prompt("north__greet", { whom: "Ada" });
    expect(messages[0]?.content).toMatchObject({ text: "north greets Ada" });
    expect((await host.read("note://south")).contents[0]).toMatchObject({ text: "a note of south" });
    expect((await host.read("note://all", { server: "south" })).contents[0]).toMatchObject({ text: "all of south" });
    await expect(host.read("note://all")).rejects.toMatchObject({ code: "AMBIGUOUS" });
    await expect(host.read("note://none")).rejects.toMatchObject({ code: "UNKNOWN_RESOURCE" });
    const { values } = await host.complete({ prompt: "south__greet" }, { name: "whom", value: "south-A" });
    expect(values).toContain("south-Ada");
    await expect(host.prompt("east__greet")).rejects.toMatchObject({ code: "UNKNOWN_PROMPT" });
  });

  it("is searched by words, servers and kinds", async () => {
    const { host } = hostWith();
    await Promise.all([host.add("north", shop("north")), host.add("south", shop("south"))]);
    expect(names(host.find({ text: "read" }))).toEqual(["north__read", "south__read"]);
    expect(names(host.find({ text: "reads south" }))).toEqual(["south__read"]);
    expect(names(host.find({ text: "write", servers: ["north"] }))).toEqual(["north__write"]);
    expect(names(host.find({ kinds: ["prompt"], limit: 1 }))).toEqual(["north__greet"]);
    expect(names(host.find({ text: "note://south" }))).toEqual(["note"]);
    expect(host.find({ text: "read", filter: ({ server }) => server === "nowhere" })).toEqual([]);
  });

  it.each(["2025-11-25", "2026-07-28"])("follows what a server of %s adds and takes away", async (revision) => {
    const { host, events } = hostWith({ client: { verdicts: false, revision } });
    const server = shop("north");
    await host.add("north", server);
    const registration = server.tool("more", { description: "More", input: { type: "object" }, run: () => "more" });
    await vi.waitFor(() => expect(names(host.tools())).toContain("north__more"), { timeout: 10_000 });
    expect(events.filter(({ type }) => type === "catalogue").at(-1)).toMatchObject({
      server: "north",
      kinds: ["tools"],
    });
    registration.remove();
    await vi.waitFor(() => expect(names(host.tools())).not.toContain("north__more"), { timeout: 10_000 });
  });

  it("loses what a server offered while it is disabled, and all of it when it is removed", async () => {
    const { host } = hostWith();
    await Promise.all([host.add("north", shop("north")), host.add("south", shop("south"))]);
    expect((await host.disable("north")).state).toBe("disabled");
    expect(names(host.tools())).toEqual(["south__read", "south__write"]);
    await expect(host.call("north__read")).rejects.toMatchObject({ code: "UNKNOWN_TOOL" });
    await expect(host.read("note://north", { server: "north" })).rejects.toMatchObject({ code: "NOT_READY" });
    expect((await host.enable("north")).state).toBe("ready");
    expect(names(host.tools())).toHaveLength(4);
    await host.remove("south");
    expect(names(host.tools())).toEqual(["north__read", "north__write"]);
    await expect(host.enable("south")).rejects.toMatchObject({ code: "UNKNOWN_SERVER" });
  });

  it("takes no server that looks like another", async () => {
    const { host } = hostWith();
    await host.add("files", shop("files"));
    await expect(host.add("fi1es", shop("evil"))).rejects.toMatchObject({ code: "LOOK_ALIKE" });
    expect(host.servers()).toHaveLength(1);
  });
});

it("tells no server of another, its results or the conversation", async () => {
  const told: Record<string, string[]> = { north: [], south: [] };
  const { host } = hostWith({
    roots: { source: { list: () => [{ uri: "file:///north-only" }] }, consent: ({ server }) => server === "north" },
    sampling: {
      model: {
        available: [{ name: "m" }],
        generate: () => ({ role: "assistant", content: { type: "text", text: "NORTH-ANSWER" }, model: "m" }),
      },
      review: { request: () => true, answer: () => true },
    },
  });
  const north = shop("north");
  north.tool("secret", {
    input: { type: "object" },
    run: async (_args, ctx) => {
      await ctx.roots();
      await ctx.sample({
        messages: [{ role: "user", content: { type: "text", text: "NORTH-QUESTION" } }],
        maxTokens: 5,
        includeContext: "allServers",
      });
      return "NORTH-SECRET";
    },
  });
  const south = shop("south");
  south.tool("look", { input: { type: "object" }, run: async (_args, ctx) => JSON.stringify(await ctx.roots()) });
  await Promise.all([
    host.add("north", tapped(north, told["north"] as string[])),
    host.add("south", tapped(south, told["south"] as string[])),
  ]);
  expect(text(await host.call("north__secret", { note: "NORTH-ARGUMENT" }))).toBe("NORTH-SECRET");
  expect(text(await host.call("south__look"))).toBe("[]");
  await host.call("south__read", { key: "k" });
  const heard = (told["south"] as string[]).join("\n");
  expect(told["north"]?.join("\n")).toContain("north-only");
  expect(heard).not.toMatch(/north/i);
  expect(heard).toContain('"look"');
});

it("reads links from the server that gave them", async () => {
  const { host } = hostWith();
  const north = shop("north");
  const south = shop("south");
  for (const server of [north, south]) {
    server.tool("point", {
      input: { type: "object" },
      run: () => linkTo({ uri: "note://all", name: "all" }),
    });
  }
  await Promise.all([host.add("north", north), host.add("south", south)]);
  const { content } = await host.call("south__point");
  const [link] = content;
  if (link?.type !== "resource_link") throw new Error("no link");
  expect((await host.follow(link)).contents[0]).toMatchObject({ text: "all of south" });
  await expect(host.follow({ ...link })).rejects.toMatchObject({ code: "UNKNOWN_RESOURCE" });
});

it("brings questions to the person with the name of the server, one at a time", async () => {
  const asked: unknown[] = [];
  let at = 0;
  const { host } = hostWith({
    urlQuestions: true,
    elicit: async ({ server, implementation, host, request }) => {
      expect(++at).toBe(1);
      asked.push([server, implementation.name, host, request.message]);
      await Promise.resolve();
      at--;
      return { action: "accept", content: { sure: true } };
    },
  });
  for (const name of ["north", "south"]) {
    const server = new Server({ name: `${name}-server`, version: "1" });
    server.tool("ask", {
      input: { type: "object" },
      run: async (_args, ctx) => (await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } })).action,
    });
    server.tool("open", {
      input: { type: "object" },
      run: async (_args, ctx) => (await ctx.elicit({ message: "Open", url: "https://exämple.org/x" })).action,
    });
    server.tool("lure", {
      input: { type: "object" },
      run: async (_args, ctx) => (await ctx.elicit({ message: "Open", url: "http://example.org/x" })).action,
    });
    await host.add(name, server);
  }
  const answers = await Promise.all(["north__ask", "south__ask", "north__open"].map((name) => host.call(name)));
  expect(answers.map(text)).toEqual(["accept", "accept", "accept"]);
  expect(asked).toEqual(
    expect.arrayContaining([
      ["north", "north-server", undefined, "Sure?"],
      ["south", "south-server", undefined, "Sure?"],
      ["north", "north-server", "xn--exmple-cua.org", "Open"],
    ]),
  );
  expect(text(await host.call("south__lure"))).toBe("decline");
  expect(asked).toHaveLength(3);
});

it("reads lists again now and then only, however often a server speaks of changes", async () => {
  const { host } = hostWith({ client: { verdicts: false, revision: "2025-11-25" } });
  const server = shop("north");
  let listed = 0;
  server.use((call, next) => {
    if (call.method === "tools/list") listed++;
    return next();
  });
  await host.add("north", server);
  expect(listed).toBe(1);
  for (let round = 0; round < 50; round++) {
    const registration = server.tool(`t${round}`, { input: { type: "object" }, run: () => "x" });
    await new Promise((resolve) => setImmediate(resolve));
    if (round < 49) registration.remove();
  }
  await vi.waitFor(() => expect(names(host.tools())).toContain("north__t49"), { timeout: 10_000 });
  expect(listed).toBeLessThan(10);
});
