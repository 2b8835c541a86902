// Roots through the gateway: a server that keeps what it was told serves each call by the roots of its own caller, as they are now.
import { afterEach, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { Gateway, MountOptions } from "../../src/gateway/gateway.js";
import type { RelayedWords } from "../../src/gateway/relay.js";
import { Server } from "../../src/server/server.js";
import type { LiveSession } from "../../src/server/session.js";
import { connect } from "../../src/serve/connect-node.js";
import { texts } from "../interop-client/features.js";
import { Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const ERAS = ["2024-11-05", "2025-11-25", "2026-07-28"] as const;

/** How the clients come. Those of one name prove nothing by it: they are as many strangers. */
const COMING: Record<string, { readonly revision: string; readonly over: "http" | "memory"; readonly user?: string }> =
  {
    "sessions of one user": { revision: "2025-11-25", over: "http", user: "ada" },
    "sessions of nobody known": { revision: "2025-11-25", over: "http" },
    "sessions over pipes of one user": { revision: "2024-11-05", over: "memory", user: "ada" },
    "no sessions, one user": { revision: "2026-07-28", over: "http", user: "ada" },
    "no sessions, nobody known": { revision: "2026-07-28", over: "http" },
    "no sessions over pipes": { revision: "2026-07-28", over: "memory", user: "ada" },
  };

/** Servers that know their callers' folders in ways that are all allowed. */
const SERVERS: Record<string, () => Server> = {
  "asks when it needs them": () => {
    const server = new Server({ name: "up", version: "1", report: false });
    server.tool("folders", { run: async (_, ctx) => named(await ctx.roots()) });
    return server;
  },
  // For one client, as a process has it.
  "asks once and whenever they change": () => {
    let last = "none";
    const server = new Server({
      name: "up",
      version: "1",
      report: false,
      onSession: (session) => {
        const ask = async (): Promise<void> => {
          last = await session.roots().then(named, () => "none");
        };
        session.onRootsChanged(ask);
      },
    });
    // What it was told last is what it serves by, as servers of files do.
    server.tool("folders", {
      run: async (_, ctx) => (last === "none" ? (last = named(await ctx.roots())) : last),
    });
    return server;
  },
};

function named(roots: readonly { readonly name?: string | undefined }[]): string {
  return roots.map(({ name }) => name).join();
}

interface Played {
  readonly gateway: Gateway;
  person(name: string): Promise<Client>;
}

async function played(
  server: () => Server,
  theirs: string,
  { coming, over, ...options }: MountOptions & { readonly coming: string; readonly over: "http" | "memory" },
): Promise<Played> {
  const { revision, over: way, user } = COMING[coming] as (typeof COMING)[string];
  const url = over === "http" ? await stage.serve(server()) : undefined;
  const gateway = stage.gateway({ report: false });
  const open = (given: ClientOptions): Promise<Client> =>
    connect(url ?? server(), { ...given, revision: theirs, verdicts: false });
  await gateway.mount("up", open, { prefix: "", ...options });
  const authenticate = (): {
    readonly identity: { readonly principal: string; readonly scopes: readonly string[] };
  } => ({
    identity: { principal: user as string, scopes: [] },
  });
  const target = way === "memory" ? gateway : await stage.serve(gateway, user === undefined ? {} : { authenticate });
  const identity = way === "memory" ? { identity: { principal: user as string, scopes: [] } } : {};
  const person = (name: string): Promise<Client> =>
    stage.client(target, {
      ...identity,
      revision,
      clientInfo: { name: "editor", version: "1" },
      roots: [{ uri: `file:///${name}`, name }],
    });
  return { gateway, person };
}

const folders = async (client: Client): Promise<string> => texts(await client.call("folders"));

const CELLS = Object.keys(SERVERS)
  .flatMap((server) =>
    ERAS.flatMap((theirs) =>
      (["memory", "http"] as const).flatMap((over) =>
        Object.keys(COMING).map((coming) => ({ server, theirs, over, coming })),
      ),
    ),
  )
  .filter(
    ({ server, theirs, over }) => (theirs < "2026-07-28" && over === "memory") || server === "asks when it needs them",
  );

describe.each(CELLS)("a server of $theirs over $over that $server, for $coming", ({ server, theirs, over, coming }) => {
  it("serves each by its own roots, and by the new ones when they changed", async () => {
    const { person } = await played(SERVERS[server] as () => Server, theirs, { coming, over });
    const [ada, bob] = [await person("ada"), await person("bob")];
    expect([await folders(ada), await folders(bob), await folders(ada)]).toEqual(["ada", "bob", "ada"]);
    ada.setRoots([{ uri: "file:///new", name: "new" }]);
    // A client hears from nobody that its notification has arrived.
    await ada.ping();
    expect([await folders(bob), await folders(ada), await folders(bob)]).toEqual(["bob", "new", "bob"]);
  });
});

const KEEPING = CELLS.filter(({ server, theirs }) => server === "asks when it needs them" && theirs < "2026-07-28");

describe.each(KEEPING)("a server of $theirs over $over, for $coming", ({ server, theirs, over, coming }) => {
  const began = (): Promise<Played> => played(SERVERS[server] as () => Server, theirs, { coming, over });

  it("never serves calls at once by the roots of another caller, in any order", async () => {
    const { person } = await began();
    const everybody = new Map([
      ["ada", await person("ada")],
      ["bob", await person("bob")],
    ]);
    let state = 7;
    const next = (below: number): number => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const said: Promise<string>[] = [];
    for (let step = 0; step < 24; step++) {
      const name = next(2) === 0 ? "ada" : "bob";
      const one = folders(everybody.get(name) as Client).then((told) => `${name}: ${told}`);
      said.push(one);
      if (next(5) < 2) await one;
    }
    for (const text of await Promise.all(said))
      expect(text).toMatch(/^(\w+): (?:\1$|.*(?:not passed on|did not tell))/s);
  });

  it("answers calls at once of one client without delay", async () => {
    const { person } = await began();
    const ada = await person("ada");
    const since = performance.now();
    expect(await Promise.all([1, 2, 3].map(() => folders(ada)))).toEqual(["ada", "ada", "ada"]);
    expect(performance.now() - since).toBeLessThan(10_000);
  });
});

it.each(["sessions of one user", "sessions over pipes of one user"])(
  "what is judged is told within a call alone, also after a change: %s",
  async (coming) => {
    const asked: string[] = [];
    const { person } = await played(SERVERS["asks once and whenever they change"] as () => Server, "2025-11-25", {
      coming,
      over: "memory",
      words: { question: ({ method, call }, pass) => (asked.push(`${method} ${call.method}`), pass({})) },
    });
    const ada = await person("ada");
    expect(await folders(ada)).toBe("ada");
    ada.setRoots([{ uri: "file:///new", name: "new" }]);
    await ada.ping();
    expect(asked).toHaveLength(1);
    expect(await folders(ada)).toBe("new");
    expect(asked).toEqual(["roots/list tools/call", "roots/list tools/call"]);
  },
);

/** A server whose tools ask for roots when the case says so, and which can ask outside of any call. */
function led(): { readonly server: () => Server; readonly begun: string[]; go(): void; outside(): Promise<string> } {
  const begun: string[] = [];
  const waiting: (() => void)[] = [];
  const sessions: LiveSession[] = [];
  const server = (): Server => {
    const made = new Server({ name: "up", version: "1", report: false, onSession: (each) => void sessions.push(each) });
    const led = (): Promise<void> => new Promise((resolve) => (begun.push("begun"), waiting.push(resolve)));
    made.tool("plain", { run: () => "plain" });
    made.tool("folders", { run: async (_, ctx) => named(await ctx.roots()) });
    made.tool("led", { run: async (_, ctx) => (await led(), named(await ctx.roots())) });
    made.tool("holds", {
      run: async (_, ctx) => `${named(await ctx.roots())} ${(await led(), named(await ctx.roots()))}`,
    });
    return made;
  };
  const go = (): void => waiting.splice(0).forEach((each) => each());
  const outside = async (): Promise<string> =>
    sessions
      .at(-1)
      ?.roots()
      .then(named, () => "refused") ?? "no session";
  return { server, begun, go, outside };
}

const ALONE = KEEPING.filter(({ coming }) => coming.startsWith("no sessions, "));

describe.each(ALONE)("a server of $theirs over $over, for strangers at once, $coming", ({ theirs, over, coming }) => {
  it("is told nobody's where they differ, and each their own when they call again", async () => {
    const { server, begun, go } = led();
    const { person } = await played(server, theirs, { coming, over });
    const [ada, bob] = [await person("ada"), await person("bob")];
    await ada.call("plain");
    const both = [ada, bob].map((client) => client.call("led").then(texts));
    await expect.poll(() => begun.length).toBe(2);
    go();
    const [hers, his] = await Promise.all(both);
    expect(hers).not.toContain("bob");
    expect(his).not.toContain("ada");
    expect(await Promise.all([folders(ada), folders(bob)])).toEqual(["ada", "bob"]);
  });

  it("has one that it was told the roots of to itself until that one's call is over", async () => {
    const { server, begun, go } = led();
    const { person } = await played(server, theirs, { coming, over });
    const [ada, bob] = [await person("ada"), await person("bob")];
    const hers = ada.call("holds").then(texts);
    await expect.poll(() => begun.length).toBe(1);
    expect(await folders(bob)).toBe("bob");
    go();
    expect(await hers).toBe("ada ada");
  });
});

it.each([
  ["judged", "sessions of one user", "refused"],
  ["not judged", "sessions of one user", "ada"],
  ["not judged", "no sessions, one user", "refused"],
])("outside of any call, %s, with %s: %s", async (judged, coming, expected) => {
  const { server, outside } = led();
  const words: RelayedWords = judged === "judged" ? { question: (_, pass) => pass({}) } : {};
  const { person } = await played(server, "2025-11-25", { coming, over: "memory", words });
  const [ada, bob] = [await person("ada"), await person("bob")];
  await ada.call("plain");
  expect(await outside()).toBe(expected);
  expect(await folders(ada)).toBe("ada");
  await bob.call("plain");
  expect(await outside()).not.toBe(coming.startsWith("no sessions") ? "ada" : "");
});

it.each([
  [["elicitation", "sampling"], 2],
  [["roots"], 3],
  [undefined, 3],
] as const)("sessions of one user share a server that may ask %j: %i connections", async (asks, connections) => {
  const { server } = led();
  const options = asks === undefined ? {} : { asks };
  const { gateway, person } = await played(server, "2025-11-25", {
    coming: "sessions of one user",
    over: "memory",
    ...options,
  });
  for (const name of ["ada", "bob"]) await (await person(name)).call("plain");
  // One of them for the lists.
  expect(gateway.mounts.get("up")?.connections).toBe(connections);
});

it("a client that everybody shares is told nobody's roots, however its server asks", async () => {
  const url = await stage.serve((SERVERS["asks when it needs them"] as () => Server)());
  const shared = await stage.client(url, { revision: "2025-11-25", capabilities: { roots: {} }, roots: [] });
  const gateway = stage.gateway({ report: false });
  await gateway.mount("up", shared, { prefix: "" });
  const served = await stage.serve(gateway);
  for (const name of ["ada", "bob"]) {
    const client = await stage.client(served, { roots: [{ uri: `file:///${name}`, name }] });
    expect(await folders(client)).not.toContain(name);
  }
});
