// Folders are shown to those servers that may see them, while they are there.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, vi } from "vitest";
import { rootFault, type RootsOptions } from "../../src/host/questions.js";
import { folderRoots } from "../../src/node/host-files.js";
import { Server } from "../../src/server/server.js";
import { hostWith, tapped } from "./host-fixture.js";

function looking(): Server {
  const server = new Server({ name: "n", version: "1" });
  server.tool("look", {
    input: { type: "object" },
    run: async (_args, ctx) => JSON.stringify((await ctx.roots()).map(({ uri }) => uri)),
  });
  return server;
}

async function hostOf(roots: RootsOptions): Promise<{ look: (server: string) => Promise<unknown> }> {
  const { host } = hostWith({ roots });
  await Promise.all([host.add("north", looking()), host.add("south", looking())]);
  const look = async (server: string): Promise<unknown> => {
    const { content } = await host.call(`${server}__look`);
    return JSON.parse((content[0] as { text: string }).text) as unknown;
  };
  return { look };
}

it("asks once for each server and folder", async () => {
  let list = [{ uri: "file:///a" }, { uri: "file:///b" }];
  const asked: unknown[] = [];
  const { look } = await hostOf({
    source: { list: () => list },
    consent: ({ server, roots }) => {
      asked.push([server, roots.map(({ uri }) => uri)]);
      return server === "north" ? true : roots.filter(({ uri }) => uri.endsWith("b"));
    },
  });
  expect(await look("north")).toEqual(["file:///a", "file:///b"]);
  expect(await look("south")).toEqual(["file:///b"]);
  list = [...list, { uri: "file:///c" }];
  expect(await look("north")).toEqual(["file:///a", "file:///b", "file:///c"]);
  expect(asked).toEqual([
    ["north", ["file:///a", "file:///b"]],
    ["south", ["file:///a", "file:///b"]],
    ["north", ["file:///c"]],
  ]);
});

it.each<[string, RootsOptions]>([
  [
    "consent that fails",
    { source: { list: () => [{ uri: "file:///a" }] }, consent: () => Promise.reject(new Error("x")) },
  ],
  [
    "folders that cannot be read",
    { source: { list: () => [{ uri: "file:///a" }], accessible: () => false }, consent: () => true },
  ],
  [
    "a check that fails",
    {
      source: { list: () => [{ uri: "file:///a" }], accessible: () => Promise.reject(new Error("x")) },
      consent: () => true,
    },
  ],
  [
    "addresses that are no folders",
    { source: { list: () => [{ uri: "https://a/" }, { uri: "file:///a/../b" }] }, consent: () => true },
  ],
])("shows nothing for %s", async (_, roots) => {
  const { look } = await hostOf(roots);
  expect(await look("north")).toEqual([]);
});

it.each([
  ["file:///home/ada", undefined],
  ["file:///home/ada/..x/", undefined],
  ["file:///home/../etc", '"."'],
  ["file:///home/%2e%2e/etc", '"."'],
  ["file:///home/%2Fetc", "separator"],
  ["file://server/share", "another machine"],
  ["file:///a?b", "query"],
  ["http://a/", "not a file"],
  ["nothing", "not a URI"],
])("judges %s", (uri, fault) => {
  if (fault === undefined) expect(rootFault(uri)).toBeUndefined();
  else expect(rootFault(uri)).toContain(fault);
});

it("folders of this machine come and go, and servers are told", async () => {
  const folder = await mkdtemp(join(tmpdir(), "roots-"));
  try {
    const there = join(folder, "there");
    const later = join(folder, "later");
    await mkdir(there);
    await writeFile(join(folder, "file"), "");
    const source = folderRoots([there, later, join(folder, "file")], { intervalMs: 5 });
    const { host } = hostWith({
      roots: { source, consent: () => true },
      client: { verdicts: false, revision: "2025-11-25" },
    });
    const server = looking();
    const told: string[] = [];
    await host.add("north", tapped(server, told));
    const look = async (): Promise<unknown> => ((await host.call("north__look")).content[0] as { text: string }).text;
    const uri = (path: string): string => pathToFileURL(path).href;
    expect(await look()).toBe(JSON.stringify([uri(there)]));
    await mkdir(later);
    await vi.waitFor(async () => expect(await look()).toBe(JSON.stringify([uri(there), uri(later)])), {
      timeout: 10_000,
    });
    source.set([later]);
    await vi.waitFor(async () => expect(await look()).toBe(JSON.stringify([uri(later)])), { timeout: 10_000 });
    const notified = (): number => told.filter((text) => text.includes("notifications/roots/list_changed")).length;
    await vi.waitFor(() => expect(notified()).toBeGreaterThanOrEqual(2), { timeout: 10_000 });
  } finally {
    await rm(folder, { recursive: true });
  }
});
