// Calls with something else inside than they take: each says what is wrong and what to write, and none ends in a TypeError of ours.
import { afterEach, describe, expect, it } from "vitest";
import { anyOf, protectedResource, wellKnown } from "@secure-local/mcp/auth";
import { type Client, connect } from "@secure-local/mcp/client/node";
import { memoryStores, shareOver } from "@secure-local/mcp/cluster";
import { Gateway, readOffer } from "@secure-local/mcp/gateway";
import { Host } from "@secure-local/mcp/host";
import { redisCluster } from "@secure-local/mcp/redis";
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";
import { taskFileStore } from "@secure-local/mcp/task-files";
import { PassThrough } from "node:stream";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function server(): Server {
  const made = new Server({ name: "s", version: "1", report: false });
  made.tool("t", { run: () => "ran" });
  made.resource("note://a", { read: () => "a" });
  made.prompt("p", { run: () => "filled" });
  return made;
}

async function client(options: object = {}): Promise<Client> {
  const made = await connect(server(), options);
  closing.push(() => made.close());
  return made;
}

function gateway(lines: string[] = []): Gateway {
  const made = new Gateway({ name: "g", version: "1", report: (_level, text) => void lines.push(text) });
  closing.push(() => made.unmountAll());
  return made;
}

const never = (value: unknown): never => value as never;
const key = new Uint8Array(32);
const mounted = (upstream: unknown, options: unknown = {}): Promise<unknown> =>
  gateway().mount("x", never(upstream), never(options));
const add = (...given: unknown[]): Promise<unknown> => new Host({}).add(...(given as [never, never]));
const offers = async (without: string): Promise<object> => {
  const { [without]: _, ...rest } = { ...(await readOffer(await client())) } as Record<string, unknown>;
  return rest;
};
const LISTS = ["tools", "prompts", "resources", "resourceTemplates", "capabilities", "hints"];
const subscribed = async (watched: unknown): Promise<unknown> => (await client()).subscribe(never(watched)).ready;
const loopback = { resource: "http://127.0.0.1:3000/mcp", authorizationServers: ["https://a.example"] };

const CASES: readonly (readonly [string, () => unknown, told: RegExp])[] = [
  ["mount: return forgotten", () => mounted(() => undefined), /x has to return a client, and returned nothing: write/],
  ["mount: return forgotten, async", () => mounted(async () => undefined), /returned nothing: write/],
  ["mount: a function that gives a server", () => mounted(() => server()), /returned a server: write/],
  ["mount: a function that gives a URL", () => mounted(() => "https://a.example"), /returned string: write/],
  ["mount without a name", () => gateway().mount(...([] as unknown as [never, never])), /It comes first: mount\(name/],
  ["mount(client)", () => gateway().mount(...([server()] as unknown as [never, never])), /mount\(name/],
  ["offer {}", () => mounted(server, { offer: {} }), /the offer has no list "tools": it is what readOffer/],
  ["known {}", () => mounted(server, { known: {} }), /the known has no list "tools": it is what readOffer/],
  ...LISTS.map(
    (part) =>
      [
        `offer without ${part}`,
        async () => mounted(server, { offer: await offers(part) }),
        new RegExp(`has no .*"${part}"`),
      ] as const,
  ),
  [
    "redisCluster(url)",
    () => redisCluster(...(["redis://127.0.0.1:1"] as unknown as [never, never])),
    /key must be 32 bytes/,
  ],
  ["redisCluster()", () => redisCluster(...([] as unknown as [never, never])), /key must be 32 bytes/],
  ["redisCluster(undefined, o)", () => redisCluster(never(undefined), { key }), /"redis:\/\/host:6379"/],
  ["shareOver(stores)", () => shareOver(memoryStores(), never(undefined)), /needs options: \{ key \}/],
  ["shareOver()", () => shareOver(...([] as unknown as [never, never])), /takes the stores first/],
  ["shareOver(url, o)", () => shareOver(never("redis://a"), { key }), /takes the stores first/],
  ["shareOver(promise, o)", () => shareOver(never(Promise.resolve(memoryStores())), { key }), /await it first/],
  ["host.add(server)", () => add(server()), /the name comes first, as in add\("notes", server\)/],
  ["host.add()", () => add(), /the name comes first/],
  ...["x", 7, null, {}, true].map(
    (output) =>
      [
        `output: ${JSON.stringify(output)}`,
        async () => (await client()).call("t", {}, never({ output })),
        /"output" is a Standard Schema/,
      ] as const,
  ),
  ["wellKnown(url)", () => wellKnown(never("https://a.example")), /protectedResource\(\{.*, not a URL/],
  ["wellKnown()", () => wellKnown(never(undefined)), /protectedResource\(\{/],
  ["protectedResource({})", () => protectedResource(never({})), /"resource" is missing: write/],
  [
    "no authorizationServers",
    () => protectedResource(never({ resource: "https://a.example" })),
    /"authorizationServers" is missing/,
  ],
  ["http on this machine", () => protectedResource(loopback), /allowLoopbackHttp: true/],
  ["anyOf([a])", () => anyOf(never([{ authenticate: () => undefined }])), /a list: write anyOf\(\.\.\.list\)/],
  ["anyOf(undefined)", () => anyOf(never(undefined)), /each with authenticate\(\)/],
  ["anyOf(text)", () => anyOf(never("token")), /each with authenticate\(\)/],
  ["taskFileStore()", () => taskFileStore(never(undefined)), /path of a folder first/],
  ["taskFileStore({})", () => taskFileStore(never({ folder: "/tmp" })), /path of a folder first/],
  [
    "a store that is not awaited",
    () => new Server({ name: "s", version: "1", tasks: { store: never(Promise.resolve(undefined)) } }),
    /not a promise: await it first/,
  ],
  ["request()", async () => (await client()).request(never(undefined)), /takes a method first/],
  ["request({})", async () => (await client()).request(never({ method: "ping" })), /takes a method first/],
  ["roots: paths", () => client({ roots: ["/work"] }), /"roots" has "\/work".*write \{ uri: "file:\/\/\/work" \}/],
  ["roots: URIs", () => client({ roots: ["file:///work"] }), /write \{ uri: "file:\/\/\/work" \}/],
  ["roots: undefined", () => client({ roots: [undefined] }), /no root: write \{ uri/],
  ["setRoots(paths)", async () => (await client({ roots: [] })).setRoots(never(["/work"])), /no root: write \{ uri/],
  ["subscribe()", () => subscribed(undefined), /toolsListChanged: true/],
  ["subscribe(uri)", () => subscribed("note://a"), /resources: \["note:\/\/a"\]/],
  ["subscribe(list)", () => subscribed(["note://a"]), /toolsListChanged: true/],
  ...["tools", "prompts", "resource", "toolListChanged", "promptsChanged"].map(
    (name) =>
      [
        `subscribe({ ${name} })`,
        () => subscribed({ [name]: true }),
        /that is (?:tools|prompts|resources)ListChanged\./,
      ] as const,
  ),
  ["subscribe({ resources: uri })", () => subscribed({ resources: "note://a" }), /resources is a list of URIs/],
  ["subscribe({ resources: true })", () => subscribed({ resources: true }), /resources is a list of URIs/],
  ["connect(undefined)", () => connect(never(undefined)), /it was given undefined$/],
  ["connect(null)", () => connect(never(null)), /it was given null$/],
  ["connect({})", () => connect(never({})), /an object with no members$/],
];

describe("what has something else inside", () => {
  it.each(CASES)("%s", async (_name, run, told) => {
    const error: unknown = await (async () => run())().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).name).not.toBe("TypeError");
    expect((error as Error).message).toMatch(told);
  });
});

it("serves one server over standard input and output, and another once that is over", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const own = { input, output, signals: false };
  const elsewhere = await serveStdio(server(), own);
  const first = await serveStdio(server(), { output, signals: false });
  for (const options of [{}, { output }, { input }]) {
    const second = serveStdio(server(), { signals: false, ...options });
    await expect(second).rejects.toMatchObject({
      code: "DUPLICATE",
      message: expect.stringMatching(/already.+Gateway/),
    });
  }
  await first.close();
  await elsewhere.close();
});

/** What a callback that is to give a sentence or undefined gives instead. */
const GIVEN: Record<string, () => unknown> = {
  true: () => true,
  false: () => false,
  null: () => null,
  "a promise of a sentence": async () => "no",
  "a promise of nothing": async () => undefined,
  "an object": () => ({ ok: true }),
};
const ASKED = ["admit", "beforeRead", "before"] as const;

describe.each(ASKED)("%s", (asked) => {
  const given = Object.keys(GIVEN).filter((name) => asked === "admit" || !name.startsWith("a promise"));
  it.each(given)("that gives %s lets nothing pass, and its owner is told", async (name) => {
    const lines: string[] = [];
    const made = gateway(lines);
    await made.mount("x", (options) => connect(server(), options), { [asked]: GIVEN[name] });
    const user = await connect(made);
    closing.push(() => user.close());
    const said =
      asked === "beforeRead"
        ? await user.read("note://a").catch((error: Error) => error.message)
        : await user.call("x__t").then((result) => JSON.stringify(result));
    expect(said).toMatch(/its gateway is set up wrongly/);
    expect(said).not.toContain("ran");
    expect(lines.join("\n")).toMatch(new RegExp(`mount of x is set up wrongly: ${asked} returns`));
  });
});

it.each<[string, () => unknown]>([
  [
    "throws",
    () => {
      throw new Error("broken");
    },
  ],
  ["rejects", () => Promise.reject(new Error("broken"))],
])("an observer that %s keeps no call from its answer", async (_name, relayed) => {
  const lines: string[] = [];
  const made = gateway(lines);
  await made.mount("x", (options) => connect(server(), options), { relayed: relayed });
  const user = await connect(made);
  closing.push(() => user.close());
  expect(JSON.stringify(await user.call("x__t"))).toContain("ran");
  expect(JSON.stringify(await user.read("note://a"))).toContain("note://a");
  await expect.poll(() => lines.join("\n")).toMatch(/relayed of x failed: Error: broken/);
});
