// Whatever a server puts into the members of its definitions, and however often it uses a name, the lists of all others stay.
import { afterEach, expect, it } from "vitest";
import type { Offer } from "@secure-local/mcp/gateway";
import type { Server } from "@secure-local/mcp/server";
import type { ServerGrant } from "../../src/policy/policy.js";
import { readLock, relocked, serverLockFile, writeLock } from "../../src/server/plugin-lock.js";
import { reviewServer, serverItems } from "../../src/server/server-reviews.js";
import { serverLaunch } from "../../src/server/server-launch.js";
import { everyKind, Fleet } from "./fleet.js";

let fleet: Fleet;
afterEach(() => fleet.close());

const LISTS = {
  "tools/list": { member: "tools", name: "name", sound: { name: "t", inputSchema: { type: "object" } } },
  "prompts/list": { member: "prompts", name: "name", sound: { name: "p" } },
  "resources/list": { member: "resources", name: "uri", sound: { uri: "odd://r", name: "r" } },
  "resources/templates/list": {
    member: "resourceTemplates",
    name: "uriTemplate",
    sound: { uriTemplate: "odd://{x}", name: "x" },
  },
} as const;
const MEMBERS = [
  ...["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution", "icons", "_meta"],
  ...[
    "arguments",
    "uri",
    "uriTemplate",
    "mimeType",
    "size",
    "inputSchema.properties",
    "inputSchema.type",
    "outputSchema.type",
  ],
];
const JSONS: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    1.5,
    "",
    "text",
    [],
    [null],
    [[]],
    [1],
    {},
    { a: null },
    { properties: null },
    { properties: 7 },
  ],
  ...[
    { toString: 1 },
    { type: 7, properties: { a: null, b: [] } },
    { name: 3 },
    [{ name: null }],
    { $ref: 5, allOf: null },
  ],
];

function withMember(sound: object, member: string, value: unknown): object {
  const [first = "", second] = member.split(".");
  return { ...sound, [first]: second === undefined ? value : { type: "object", [second]: value } };
}

type Things = Readonly<Record<string, readonly unknown[]>>;

/** A server whose lists hold one sound thing each, and these beside it. */
function odd(things: Things): Server {
  const server = everyKind();
  server.use((call, next) => {
    const list = LISTS[call.method as keyof typeof LISTS];
    return list === undefined ? next() : { [list.member]: [list.sound, ...(things[call.method] ?? [])] };
  });
  return server;
}

const RULES = `tools: { allowed: ["*"] }
prompts: { allowed: ["*"] }
resources: { allowed: ["odd://*", "note://*", "memo://*"] }
sandbox: none`;

/** Two servers, one of which has these things beside its own, approved as they are. */
async function served(things: Things, approved: Things = {}): Promise<Record<string, string>> {
  fleet = new Fleet();
  fleet.make("odd", () => odd(things));
  fleet.make("every", () => everyKind());
  const policy = await fleet.policy(RULES);
  await fleet.approve(policy);
  const grant = policy.servers.get("odd") as ServerGrant;
  if (Object.keys(approved).length > 0) {
    const file = serverLockFile(policy.file as string);
    const offer = offerOf(approved);
    expect(reviewServer(grant, offer, { locked: undefined, found: [] }).withheld.size).toBeGreaterThan(4);
    writeLock(
      file,
      new Map([...(readLock(file) ?? []), ["odd", relocked(undefined, serverItems(offer, serverLaunch(grant)))]]),
    );
  }
  await fleet.serve(policy);
  const lists: Record<string, string> = {};
  for (const revision of ["2024-11-05", "2025-06-18", "2026-07-28"]) {
    const peer = await fleet.client(revision);
    for (const method of Object.keys(LISTS)) {
      const old = method === "resources/templates/list" && revision === "2024-11-05" ? "memo" : "";
      lists[`${method} ${revision} ${old}`] = JSON.stringify(await peer.request(method, {}));
    }
  }
  return lists;
}

function offerOf(things: Things): Offer {
  const lists = Object.entries(LISTS).map(([method, { member, sound }]) => [
    member,
    [sound, ...(things[method] ?? [])],
  ]);
  const capabilities = { tools: {}, prompts: {}, resources: {} };
  return { ...Object.fromEntries(lists), capabilities, hints: { ttlMs: 0, cacheScope: "private" } } as Offer;
}

it("breaks no list by arbitrary JSON in any member of a definition that was approved", async () => {
  let number = 0;
  const things = Object.fromEntries(
    Object.entries(LISTS).map(([method, { name, sound }]) => [
      method,
      [
        ...[null, 7, "text", [], {}],
        ...MEMBERS.flatMap((member) =>
          JSONS.map((value) => {
            number += 1;
            return withMember({ ...sound, [name]: `${String(Reflect.get(sound, name))}${number}` }, member, value);
          }),
        ),
      ],
    ]),
  );
  for (const [list, text] of Object.entries(await served({}, things)))
    expect(text, list).toMatch(/every__num|every__pr|note:\/\/a|memo:\/\//);
  const peer = await fleet.client("2025-06-18");
  expect(JSON.stringify(await peer.request("tools/call", { name: "every__num", arguments: {} }))).toContain("called");
}, 60_000);

it("offers neither of two things of one name, before the first start and after it, and has both to be read", async () => {
  const other = { name: "t", description: "Another one.", inputSchema: { type: "object" } };
  const lists = await served({ "tools/list": [other] });
  expect(lists["tools/list 2025-06-18 "]).not.toContain("odd__t");
  const peer = await fleet.client("2025-06-18");
  await peer.request("resources/read", { uri: "odd://r" }).catch(() => undefined);
  expect(JSON.stringify(await peer.request("tools/list", {}))).not.toContain("odd__t");
  await expect(peer.request("tools/call", { name: "odd__t", arguments: {} }).then(JSON.stringify)).resolves.toMatch(
    /more than one of this name|withheld/,
  );
  const locked = readLock(serverLockFile(`${fleet.folder}/policy.yaml`))?.get("odd");
  expect(JSON.stringify(locked?.approved.get("tool t"))).toContain("Another one.");
});
