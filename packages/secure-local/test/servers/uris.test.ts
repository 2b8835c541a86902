// A rule means the same whatever other servers there are, and under whatever name a URI is asked for.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { Fleet } from "./fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
});
afterEach(() => fleet.close());

const URIS = ["note://secret", "note://open", "server://info", "mcp.two+note://open", "git:///x", "db://a/schema"];

/** Lists these, and one template; says in every answer who it is and what it was asked for. */
function noting(who: string, uris: readonly string[], template: string): Server {
  const server = new Server({ name: who, version: "1" });
  for (const uri of uris)
    server.resource(uri, { name: "n", description: "A note.", read: () => `from ${who}: ${uri}` });
  server.resourceTemplate(template, { name: "t", description: "A note.", read: (uri) => `from ${who}: ${uri}` });
  return server;
}

const OTHERS: Readonly<Record<string, readonly [uris: readonly string[], template: string] | undefined>> = {
  "no other": undefined,
  "another with other URIs": [["far://x"], "far://{x}"],
  "another with the same URIs": [URIS, "note://{id}"],
  "another whose template fits": [[], "note://se{id}"],
};

const RULES = ["note://secret*", "mcp.ev+note://secret*"];
const ASKED = [
  "note://secret",
  "mcp.ev+note://secret",
  "MCP.ev+note://secret",
  "note://secret2",
  "mcp.ev+note://secret2",
];

async function readAll(uris: readonly string[]): Promise<string[]> {
  const peer = await fleet.client("2025-06-18");
  return Promise.all(
    uris.map((uri) =>
      peer.request("resources/read", { uri }).then(
        (answer) => JSON.stringify(answer),
        (error: unknown) => String(error),
      ),
    ),
  );
}

async function listed(): Promise<string[]> {
  const peer = await fleet.client("2025-06-18");
  const { resources } = (await peer.request("resources/list")) as unknown as { resources: { uri: string }[] };
  return resources.map(({ uri }) => uri);
}

it.each(Object.keys(OTHERS).flatMap((other) => RULES.map((rule) => [other, rule] as const)))(
  "with %s, %s denies what it denies alone, and what is listed can be read",
  async (other, rule) => {
    const [uris, template] = OTHERS[other] ?? [];
    fleet.make("ev", () => noting("ev", URIS, "note://{id}"));
    if (uris !== undefined) fleet.make("two", () => noting("two", uris, template as string));
    const schemes = ["note", "server", "git", "db", "mcp.two+note", "far"];
    const allowed = schemes.flatMap((scheme) => ["", "mcp.ev+", "mcp.two+"].map((by) => `"${by}${scheme}://*"`));
    const policy = await fleet.policy(`resources: { allowed: [${allowed.join(", ")}], denied: ["${rule}"] }`);
    await fleet.approve(policy);
    await fleet.serve(policy);
    for (const answer of await readAll(ASKED)) expect(answer).not.toContain("from ev");
    const shown = await listed();
    expect(shown.join("\n")).not.toContain("ev+note://secret");
    const answers = await readAll(shown.filter((uri) => uri !== "server://info"));
    for (const [at, answer] of answers.entries()) expect(answer, shown[at]).toMatch(/from (?:ev|two)/);
    // Nobody's URI is called like one of ours, or like another server's.
    expect(shown.filter((uri) => /^(?:server:\/\/info|git:|db:)/.test(uri))).toEqual(["server://info"]);
    expect((await readAll(["server://info", "mcp.two+note://open"])).join("\n")).not.toContain("from ev");
  },
);

it("never has a URI answered by another server because its own is withheld", async () => {
  fleet.make("ev", () => noting("ev", ["note://a"], "note://{id}"));
  fleet.make("two", () => noting("two", [], "note://{id}"));
  const policy = await fleet.policy('resources: { allowed: ["note://*", "mcp.ev+note://*", "mcp.two+note://*"] }');
  await fleet.approve(policy);
  await fleet.serve(policy);
  fleet.touch("ev");
  await fleet.serve(policy);
  const [listed, fitting, wrapped, other] = await readAll([
    "note://a",
    "note://1",
    "mcp.ev+note://1",
    "mcp.two+note://1",
  ]);
  for (const answer of [listed, fitting, wrapped]) expect(answer).not.toContain("from");
  expect(other).toContain("from two: note://1");
});

describe("a URI that names one server more than once", () => {
  const PREFIXES = ["mcp.ev+", "MCP.ev+", "mcp.two+", "mcp.x+"];
  const CHAINS = PREFIXES.flatMap((first) =>
    PREFIXES.flatMap((second) => ["", ...PREFIXES].map((third) => `${first}${second}${third}`)),
  ).filter((chain) => /^mcp\.ev\+/i.test(chain));

  /** A gateway, of whose servers one may be called as ours are. */
  async function served(rules: string): Promise<void> {
    fleet.make("ev", () => noting("ev", [], "mcp.{+any}"));
    const policy = await fleet.policy(`resources: { ${rules} }`);
    await fleet.approve(policy);
    await fleet.serve(policy);
  }

  it("is denied by every name inside", async () => {
    const deep = "mcp.ev+".repeat(12);
    const allowed = new Set([...CHAINS.map((chain) => chain.toLowerCase()), deep].map((chain) => `"${chain}note://*"`));
    await served(`allowed: [${[...allowed].join(", ")}], denied: ["note://secret*"]`);
    const answers = await readAll(CHAINS.flatMap((chain) => [`${chain}note://secret`, `${chain}NOTE://secret2`]));
    for (const answer of answers) expect(answer).toContain("The policy denies");
    // The server itself has them in small letters.
    const known = CHAINS.filter((chain) => /^[^+]*\+[^A-Z]*$/.test(chain));
    for (const answer of await readAll(known.map((chain) => `${chain}note://open`)))
      expect(answer).toContain("from ev");
    expect((await readAll([`${deep}note://open`])).join("")).not.toContain("from ev");
  });

  it("is allowed by its whole name alone", async () => {
    await served('allowed: ["mcp.two+note://*", "note://*"]');
    for (const answer of await readAll(CHAINS.map((chain) => `${chain}note://open`)))
      expect(answer).not.toContain("from ev");
  });
});
