// URIs that a server gives: each scheme in each spelling in each member that carries one is a page, something to be read here, or text.
import { afterAll, beforeAll, expect, it } from "vitest";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { result, Server } from "@secure-local/mcp/server";
import { unwrapUri } from "@secure-local/mcp/gateway";
import { type PluginLock, readLock, serverLockFile, writeLock } from "../../src/server/plugin-lock.js";
import { Fleet } from "./fleet.js";

const fleet = new Fleet();
/** What is opened, run or shown by one program or another that is asked to follow a link. */
const SCHEMES = [
  ...["javascript:alert(1)", "vbscript:x", "data:text/html,<script>1</script>", "data:image/svg+xml;base64,PHN2Zz4="],
  ...["file:///etc/passwd", "file://host/share", "blob:https://a/1", "about:blank", "ftp://a/x", "smb://a/x"],
  ...["ms-msdt:/id", "vscode://file/x", "slack://open", "mailto:a@b.c", "tel:1", "intent://x#Intent;end", "urn:x:y"],
  ...["http://a.example/x", "ws://a/x", "view-source:https://a/", "jar:https://a!/x", "chrome://settings", "x:y"],
  ...["https://user@a.example/", "https://user:word@a.example/", "https:a.example", "https:///", "ssh://a", "note:x"],
  // What its things are called outside is nothing a server knows.
  ...["note://a", "memo://7"].map((uri) => `mcp.ev+${uri}`),
];
const SPELLINGS: readonly ((uri: string) => string)[] = [
  (uri) => uri,
  (uri) => uri.toUpperCase(),
  (uri) => ` ${uri}`,
  (uri) => `\u0000${uri}`,
  (uri) => `${uri.slice(0, 2)}\n${uri.slice(2)}`,
  (uri) => `${uri.slice(0, 3)}\t${uri.slice(3)}`,
  (uri) => `${uri.slice(0, 2)}\u200b${uri.slice(2)}`,
  (uri) => uri.replace(":", "\uff1a"),
  (uri) => uri.replace(":", "%3a"),
  (uri) => `%${uri.charCodeAt(0).toString(16)}${uri.slice(1)}`,
  (uri) => `//${uri}`,
  (uri) => `mcp.ev+${uri}`,
  (uri) => `MCP.EV+${uri}`,
  (uri) => `mcp.ev+mcp.ev+${uri}`,
  (uri) => `https:\\\\${uri}`,
];
/** Readers leave out what stands here between the letters, or show it in another order. */
const PIERCED = [
  "https://a.exa\tmple/",
  "https://a.exa\nmple/",
  "https://a.example/\u202egpj.exe",
  "https://a\u200b.b/",
];
const HOSTILE = [...SCHEMES.flatMap((scheme) => SPELLINGS.map((spelled) => spelled(scheme))), ...PIERCED];
const PAGES = ["https://a.example/x?y#z", "HTTPS://a.example", "https://[::1]:8443/", "http://plain.example:8080/x"];
const OWN = ["note://a", "memo://7"];
const PICTURE = "data:image/png;base64,iVBORw0KGgo=";

const icons = [...HOSTILE, PICTURE, ...PAGES].map((src) => ({ src }));
const link = (uri: string): JsonObject => ({ type: "resource_link", uri, name: "n", description: "d" });
const embedded = (uri: string): JsonObject => ({ type: "resource", resource: { uri, text: "held" } });

function linking(): Server {
  const server = new Server({ name: "ev", version: "1" });
  const all = [...HOSTILE, ...PAGES, ...OWN];
  server.tool("links", {
    description: "L.",
    run: () => result({ content: [...all.map(link), { ...link("note://a"), icons }] as never }),
  });
  server.tool("pictured", { description: "P.", run: () => "" });
  server.tool("embeds", { description: "E.", run: () => result({ content: all.map(embedded) as never }) });
  server.prompt("p", {
    description: "P.",
    run: () => ({ messages: all.map((uri) => ({ role: "user" as const, content: link(uri) as never })) }),
  });
  server.resource("note://a", {
    name: "a",
    description: "N.",
    read: () => all.map((uri) => ({ uri, text: "held" })),
  });
  server.resource("javascript://x/%0aalert(1)", { name: "j", description: "N.", read: () => "read" });
  server.resource("file:///etc/passwd", { name: "f", description: "N.", read: () => "read" });
  server.resourceTemplate("memo://{id}", { name: "m", description: "N.", read: () => "read" });
  return server;
}

beforeAll(async () => {
  fleet.make("ev", linking);
  const network = "network: { allowed_endpoints: [{ host: plain.example, ports: [8080] }] }";
  const policy = await fleet.policy(
    `tools: { allowed: ["ev__*"] }\nprompts: { allowed: ["*"] }\nresources: { allowed: ["note://*", "memo://*", "mcp.ev+note://*", "mcp.ev+memo://*", "javascript://*"] }\n${network}`,
  );
  await fleet.approve(policy);
  // A server of ours says nothing of the kind: as if another one had, and was approved with it.
  const lock = readLock(serverLockFile(policy.file as string)) as PluginLock;
  Object.assign(lock.get("ev")?.approved.get("tool pictured") as object, { icons });
  writeLock(serverLockFile(policy.file as string), lock);
  await fleet.serve(policy);
});
afterAll(() => fleet.close());

const REVISIONS = ["2026-07-28", "2025-11-25", "2024-11-05"];
const APPROVED = ["note://a", "memo://7"];

/** A page, or what the server was approved with, in a spelling that only reading it here opens. */
function mayBeShown(uri: string): boolean {
  if (PAGES.includes(uri)) return true;
  const own = unwrapUri("ev", uri);
  return own === undefined ? APPROVED.includes(uri) : true;
}

function urisIn(value: unknown, found: { uris: string[]; icons: string[] } = { uris: [], icons: [] }): typeof found {
  if (typeof value !== "object" || value === null) return found;
  for (const [key, member] of Object.entries(value)) {
    if ((key === "uri" || key === "uriTemplate") && typeof member === "string") found.uris.push(member);
    else if (key === "src") found.icons.push(String(member));
    else urisIn(member, found);
  }
  return found;
}

async function all(revision: string): Promise<Record<string, JsonObject>> {
  const peer = await fleet.client(revision);
  const ask = (method: string, params: JsonObject = {}): Promise<JsonObject> => peer.request(method, params);
  return {
    links: await ask("tools/call", { name: "ev__links", arguments: {} }),
    embeds: await ask("tools/call", { name: "ev__embeds", arguments: {} }),
    prompt: await ask("prompts/get", { name: "ev__p" }),
    read: await ask("resources/read", { uri: "note://a" }),
    resources: await ask("resources/list"),
  };
}

it("lists no icon but pictures and pages", async () => {
  const peer = await fleet.client("2025-11-25");
  expect(urisIn(await peer.request("tools/list")).icons).toEqual([PICTURE, ...PAGES]);
});

it.each(REVISIONS)("%s: shows no URI that a program would open, and loses none of the words", async (revision) => {
  const given = await all(revision);
  for (const [where, answer] of Object.entries(given)) {
    const { uris, icons: pictures } = urisIn(answer);
    const shown = uris.filter((uri) => !mayBeShown(uri) && !(where === "resources" && uri === "file:///etc/passwd"));
    expect([where, shown]).toEqual([where, []]);
    expect([where, pictures.filter((src) => src !== PICTURE && !PAGES.includes(src))]).toEqual([where, []]);
  }
  const { links = {}, embeds = {} } = given;
  const content = links["content"] as { type: string; text?: string; uri?: string }[];
  expect(content).toHaveLength(HOSTILE.length + PAGES.length + OWN.length + 1);
  expect((embeds["content"] as unknown[]).length).toBe(content.length - 1);
  const texts = content.filter(({ type }) => type === "text").map(({ text }) => text);
  if (revision === "2026-07-28") {
    expect(texts.some((text) => text?.includes("slack://open"))).toBe(true);
    expect(content.slice(HOSTILE.length, -1).map(({ uri }) => uri)).toEqual([...PAGES, ...OWN]);
  }
});

it("reads what is shown in another spelling under that spelling", async () => {
  const peer = await fleet.client("2025-11-25");
  const { resources } = (await peer.request("resources/list")) as unknown as { resources: { uri: string }[] };
  const script = resources.find(({ uri }) => uri.includes("javascript"))?.uri;
  expect(script).toBe("mcp.ev+javascript://x/%0aalert(1)");
  const { contents } = (await peer.request("resources/read", { uri: script })) as { contents?: unknown };
  expect(contents).toEqual([expect.objectContaining({ uri: script, text: "read" })]);
});
