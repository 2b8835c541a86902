// Once a session has read private data and texts of strangers, what can send something out needs a person's consent.
import type { Call } from "@secure-local/mcp/server";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { AnyTool } from "../../src/server/catalogue.js";
import type { ToolPowers } from "../../src/tools/tool.js";
import { TaintBook, Taints } from "../../src/guard/taints.js";
import { SecureServer } from "../../src/server/secure-server.js";

const TAINTED = "approvals: [{ approve: tainted }]";
const peers: MemoryPeer[] = [];

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.close()));
});

type Traits = Partial<
  Pick<AnyTool, "needs"> & {
    readonly outside: boolean;
    readonly fails: boolean;
    readonly uses: (powers: ToolPowers) => unknown;
  }
>;

function tool(name: string, ran: string[], { needs = [], outside = false, fails = false, uses }: Traits): AnyTool {
  return {
    ...{ name, title: name, description: name, input: { type: "object" }, needs },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: outside },
    async run(_args, powers) {
      ran.push(name);
      await uses?.(powers);
      return fails ? { failed: "Refused.", rule: "some rule" } : "done";
    },
  };
}

/** `look` reads files, `web` brings in strangers' texts and sends, `strange` only brings in, `plain` does neither. */
async function session(
  approvals: string,
  {
    revision = "2025-11-25",
    principal,
    tools = [],
  }: { revision?: "2025-11-25" | "2026-07-28"; principal?: string; tools?: readonly [string, Traits][] } = {},
) {
  const ran: string[] = [];
  const audit = new MemoryAudit();
  const text = `
version: "1.0"
tools: { allowed: ["*"] }
resources: { allowed: ["file:///*"] }
${approvals.includes("filesystem:") ? "" : 'filesystem: { readable_paths: ["/srv/**"] }'}
network: { allowed_endpoints: [{ host: a.example }] }
output: { mark_untrusted: false }
${approvals}
`;
  const secure = new SecureServer({
    policy: await parsePolicy(text, { file: "policy.yaml", environment: {} }),
    audit,
    version: "1",
    tools: [
      tool("look", ran, { needs: ["readable-files"] }),
      tool("web", ran, { needs: ["network"], outside: true }),
      tool("strange", ran, { outside: true }),
      tool("denied_look", ran, { needs: ["readable-files"], fails: true }),
      tool("plain", ran, {}),
      ...tools.map(([name, traits]) => tool(name, ran, traits)),
    ],
  });
  const connect = async () => {
    const peer = await connectInMemory(secure.server, { revision, ...(principal === undefined ? {} : { principal }) });
    peers.push(peer);
    return async (name: string): Promise<boolean> => {
      const answer = (await peer.request("tools/call", { name, arguments: {} })) as { readonly isError?: boolean };
      return answer.isError !== true;
    };
  };
  return { connect, ran, audit, peer: () => peers.at(-1) as MemoryPeer };
}

describe("a session", () => {
  it("may send out until it has read both, in either order", async () => {
    for (const order of [
      ["look", "strange"],
      ["strange", "look"],
    ]) {
      const { connect } = await session(TAINTED);
      const call = await connect();
      expect(await call("web")).toBe(true);
      for (const name of order) expect(await call(name)).toBe(true);
      expect(await call("web")).toBe(false);
      expect(await call("look")).toBe(true);
      expect(await call("plain")).toBe(true);
    }
  });

  it("is not tainted by what it sends first, nor by another session", async () => {
    const { connect, ran } = await session(TAINTED);
    const [one, other] = [await connect(), await connect()];
    expect(await one("look")).toBe(true);
    expect(await one("web")).toBe(true);
    expect(await one("web")).toBe(false);
    expect(await other("web")).toBe(true);
    expect(ran).toEqual(["look", "web", "web"]);
  });

  it("is not tainted by a read that was refused", async () => {
    const { connect } = await session(TAINTED);
    const call = await connect();
    await call("denied_look");
    await call("strange");
    expect(await call("web")).toBe(true);
  });

  it("is asked about only where the policy says so", async () => {
    const { connect } = await session("approvals: []");
    const call = await connect();
    for (const name of ["look", "strange", "web", "web"]) expect(await call(name)).toBe(true);
  });

  it("is the caller where requests belong to no session", async () => {
    const { connect } = await session(TAINTED, { revision: "2026-07-28" });
    const [one, other] = [await connect(), await connect()];
    await one("look");
    await one("strange");
    expect(await other("web")).toBe(false);
  });
});

describe("a tool that says nothing of itself", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "taints-")));
  const file = join(folder, "a.txt");
  writeFileSync(file, "words");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const readable = `filesystem: { allowed_paths: ["${folder}/**"] }`;
  const drained = async (entries: AsyncIterable<unknown>): Promise<void> => {
    for await (const _entry of entries);
  };
  const reading: Readonly<Record<string, (powers: ToolPowers) => unknown>> = {
    info: ({ files }) => files.info(file),
    read: ({ files }) => files.read(file),
    open: async ({ files }) => (await files.open(file)).close(),
    edit: ({ files }) => files.edit(file, () => undefined),
    list: ({ files }) => files.list(folder),
    walk: ({ files }) => drained(files.walk(folder)),
  };
  const silent: Readonly<Record<string, (powers: ToolPowers) => unknown>> = {
    roots: ({ files }) => files.roots(),
    judge: ({ files }) => files.judge(file, "read"),
    write: ({ files }) => files.write(file, new TextEncoder().encode("words")),
    refused: ({ files }) => files.read("/etc/shadow").catch(() => undefined),
  };
  const given = (uses: Traits["uses"]) => ({ tools: [["quiet", { uses }]] as [string, Traits][] });

  it.each(Object.entries(reading))("has read by %s, at that moment", async (_name, uses) => {
    const { connect } = await session(`${readable}\n${TAINTED}`, given(uses));
    const call = await connect();
    for (const name of ["strange", "quiet"]) expect(await call(name), name).toBe(true);
    expect(await call("web")).toBe(false);
  });

  it.each(Object.entries(silent))("has read nothing by %s", async (_name, uses) => {
    const { connect } = await session(`${readable}\n${TAINTED}`, given(uses));
    const call = await connect();
    for (const name of ["strange", "quiet", "web"]) expect(await call(name), name).toBe(true);
  });

  it("sends nothing out once both were read, also where it began before", async () => {
    const sent: unknown[] = [];
    let go = (): void => undefined;
    const wait = new Promise<void>((resolve) => (go = resolve));
    const send = async ({ fetch }: ToolPowers): Promise<void> => {
      const answer = await fetch("https://b.example/").catch((error: unknown) => error as { rule?: string });
      sent.push((answer as { rule?: string }).rule);
    };
    const tools: [string, Traits][] = [
      ["sender", { uses: send }],
      ["waiting", { uses: async (powers) => (await wait, send(powers)) }],
    ];
    const { connect } = await session(TAINTED, { tools });
    const call = await connect();
    const waits = call("waiting");
    await call("sender");
    for (const name of ["look", "strange", "sender"]) await call(name);
    go();
    await waits;
    // The first is refused by the hosts of the policy, as ever.
    expect(sent).toEqual(["default deny", "approvals: tainted", "approvals: tainted"]);
  });

  it("is told to end what it sends by other means when both have been read", async () => {
    const ended: unknown[] = [];
    const ends = ({ sendingOver: over }: ToolPowers): Promise<void> =>
      new Promise((resolve) => {
        over?.addEventListener("abort", () => (ended.push("over"), resolve()));
      });
    const { connect } = await session(TAINTED, { tools: [["net", { needs: ["network"], uses: ends }]] });
    const call = await connect();
    const other = (await connect())("net");
    const waits = call("net");
    await call("strange");
    expect(ended).toEqual([]);
    await call("look");
    await waits;
    expect(ended).toEqual(["over"]);
    await Promise.race([other, Promise.resolve()]);
  });

  it("is not told so any more once it is over", async () => {
    let over: AbortSignal | undefined;
    const uses = (powers: ToolPowers): void => void (over = powers.sendingOver);
    const { connect } = await session(TAINTED, { tools: [["net", { needs: ["network"], uses }]] });
    const call = await connect();
    for (const name of ["net", "strange", "look"]) await call(name);
    expect(over?.aborted).toBe(false);
  });
});

describe("a pipe", () => {
  const meta = "io.modelcontextprotocol/";
  const _meta = {
    [`${meta}protocolVersion`]: "2026-07-28",
    [`${meta}clientInfo`]: { name: "t", version: "1" },
    [`${meta}clientCapabilities`]: {},
  };
  type Peer = MemoryPeer;
  const initialized = async (peer: Peer, protocolVersion: string): Promise<void> => {
    const clientInfo = { name: "t", version: "1" };
    await peer.request("initialize", { protocolVersion, clientInfo, capabilities: {} });
    peer.notify("notifications/initialized");
  };
  /** What may come between two calls of one client; undefined: the call has a revision of its own. */
  const BETWEEN: Readonly<Record<string, ((peer: Peer) => Promise<void>) | undefined>> = {
    nothing: () => Promise.resolve(),
    "another initialize": (peer) => initialized(peer, "2025-11-25"),
    "an initialize of another revision": (peer) => initialized(peer, "2025-03-26"),
    "a request of 2026-07-28": undefined,
  };
  const ways = Object.keys(BETWEEN);
  it.each(ways.flatMap((first) => ways.map((second) => [first, second] as const)))(
    "has one book for all that comes over it: %s, then %s",
    async (...between) => {
      const { connect, peer } = await session(TAINTED);
      await connect();
      const calls = async (name: string, more: object = {}): Promise<boolean> => {
        const answer = await peer().request("tools/call", { name, arguments: {}, ...more });
        return (answer as { readonly isError?: boolean }).isError !== true;
      };
      expect(await calls("web")).toBe(true);
      expect(await calls("strange")).toBe(true);
      for (const [at, way] of between.entries()) {
        const act = BETWEEN[way];
        await act?.(peer());
        expect(await calls(at === 0 ? "look" : "web", act === undefined ? { _meta } : {})).toBe(at === 0);
      }
    },
  );
});

describe("what one call reads and another sends", () => {
  const eras = { session: "handshake", alone: "stateless" } as const;
  const pipes = [{}, {}];
  const sessions = [{}, {}, {}, {}];
  /** A way to call: over what, in which session, by whom. */
  const way = (era: keyof typeof eras, session: number, more: object): Call =>
    ({
      ...{ id: 1, method: "tools/call", params: {}, connection: {}, carrier: { kind: "http", principal: "p" } },
      caller: Object.assign(era === "alone" ? {} : (sessions[session] as object), {
        codec: { revision: { era: eras[era] } },
      }),
      ...more,
    }) as unknown as Call;
  const pipe = (at: number): object => ({ connection: pipes[at], carrier: { kind: "stdio" } });
  const program = (name: string): object => ({ identity: { principal: "p", scopes: [], program: name } });
  const q = { carrier: { kind: "http", principal: "q" } };
  /** Those of one row are one caller, as far as anybody can tell. */
  const SAME: Readonly<Record<string, readonly Call[]>> = {
    "a pipe": [way("session", 0, pipe(0)), way("session", 1, pipe(0)), way("alone", 0, pipe(0))],
    "another pipe": [way("session", 2, pipe(1)), way("alone", 0, pipe(1))],
    "a client of attach": [
      way("session", 0, program("a")),
      way("session", 1, program("a")),
      way("alone", 0, program("a")),
    ],
    "another client of attach": [way("session", 2, program("b")), way("alone", 0, program("b"))],
    "a token's requests and a session": [way("alone", 0, {}), way("session", 0, {})],
    "the same token's requests and another session": [way("alone", 0, {}), way("session", 1, {})],
    "another token": [way("alone", 0, q), way("session", 3, q)],
  };
  const both = { private: true, untrusted: true, sends: true };
  const isTainted = (reader: Call, sender: Call): boolean => {
    const book = new TaintBook();
    for (const name of ["a", "b"]) book.meet(name, true);
    const taints = new Taints(() => 0, { book });
    void taints.note(reader, "r", { ...both, untrusted: false });
    void taints.note(reader, "r", { ...both, private: false });
    return taints.of(sender) !== undefined;
  };

  it("is the same caller's within a connection, and where nothing tells them apart", () => {
    for (const [name, calls] of Object.entries(SAME))
      for (const reader of calls) for (const sender of calls) expect(isTainted(reader, sender), name).toBe(true);
  });

  it("is another's otherwise", () => {
    const apart = [
      ...[way("session", 0, pipe(0)), way("session", 2, pipe(1))],
      ...[way("session", 0, program("a")), way("alone", 0, program("b"))],
      ...[way("session", 0, {}), way("session", 1, {}), way("session", 3, q)],
    ];
    for (const [at, reader] of apart.entries())
      for (const [to, sender] of apart.entries()) expect(isTainted(reader, sender), `${at} ${to}`).toBe(at === to);
  });

  it("is thought to be both of a client of attach that goes on and is not known", () => {
    const book = new TaintBook();
    const taints = new Taints(() => 0, { book });
    const [a, b, c] = ["a", "b", "c"].map((name) => way("alone", 0, program(name))) as [Call, Call, Call];
    book.meet("a", true);
    book.meet("b", false);
    for (const name of ["a", "b"]) book.meet(name, false);
    expect([a, b, c].map((call) => taints.of(call) !== undefined)).toEqual([false, true, true]);
    // More of them than are remembered: the one that was heard of longest ago is not known any more.
    for (let i = 0; i < 10_000; i++) book.meet(`other ${i}`, true);
    expect(taints.of(a)).toBeDefined();
  });

  it("is thought to be both of a client of attach by when it was heard of last", () => {
    const book = new TaintBook();
    const taints = new Taints(() => 0, { book });
    const [a, b] = ["a", "b"].map((name) => way("alone", 0, program(name))) as [Call, Call];
    for (const name of ["a", "b"]) book.meet(name, true);
    book.meet("a", false);
    for (let i = 0; i < 9_999; i++) book.meet(`other ${i}`, true);
    expect(taints.of(a)).toBeUndefined();
    expect(taints.of(b)).toBeDefined();
  });

  const by = (principal: string): Call => way("alone", 0, { carrier: { kind: "http", principal } });
  const [onlyPrivate, onlyUntrusted] = [
    { ...both, untrusted: false },
    { ...both, private: false },
  ];

  it("is forgotten an hour after the last of it, where no session says when a conversation ends", () => {
    const minute = 60_000;
    let now = 0;
    const taints = new Taints(() => now);
    void taints.note(by("p"), "r", onlyPrivate);
    now = 59 * minute;
    void taints.note(by("p"), "s", onlyUntrusted);
    now = 118 * minute;
    expect(taints.of(by("p"))).toMatchObject({ private: { from: "r" }, untrusted: { from: "s" } });
    now = 119 * minute;
    expect(taints.of(by("p"))).toBeUndefined();
  });

  it("is thought to be both of a caller who is new while as many are known as are remembered", () => {
    let now = 0;
    const taints = new Taints(() => now);
    for (let i = 0; i < 9_999; i++) void taints.note(by(`caller ${i}`), "r", onlyPrivate);
    expect(taints.of(by("new"))).toBeUndefined();
    void taints.note(by("the last"), "r", onlyPrivate);
    expect(taints.of(by("new"))).toMatchObject({ private: { id: 0 }, untrusted: { id: 0 } });
    now = 60 * 60_000;
    void taints.note(by("new"), "r", onlyPrivate);
    expect(taints.of(by("new"))).toBeUndefined();
    void taints.note(by("new"), "s", onlyUntrusted);
    expect(taints.of(by("new"))).toMatchObject({ private: { from: "r" }, untrusted: { from: "s" } });
  });

  it("is private where a power to read was used, whatever the policy makes of it and whatever became of it", () => {
    const strange = { untrusted: true, private: false, sends: true };
    const noted = (outcome: string, hasRead: boolean, method = "tools/call"): (string | undefined)[] => {
      const taints = new Taints(() => 0, { flow: () => strange });
      const call = Object.assign(by("p"), { method });
      const request = { call, subject: { kind: "tool", name: "t" }, terms: { policy: {} } };
      void taints.noteRead(request as never, { outcome } as never, hasRead);
      const whole = taints.of(call);
      void taints.note(call, "private", onlyPrivate);
      const withPrivate = taints.of(call);
      void taints.note(call, "untrusted", onlyUntrusted);
      const all = taints.of(call) as { private: { from: string }; untrusted: { from: string } };
      expect([whole === undefined, withPrivate === undefined]).toEqual([
        all.private.from === "private" || all.untrusted.from === "untrusted",
        all.untrusted.from === "untrusted",
      ]);
      return [all.private.from, all.untrusted.from];
    };
    expect(noted("ok", true)).toEqual(["t", "t"]);
    expect(noted("ok", false)).toEqual(["private", "t"]);
    for (const outcome of ["denied", "input_required"]) {
      expect(noted(outcome, true)).toEqual(["t", "untrusted"]);
      expect(noted(outcome, false)).toEqual(["private", "untrusted"]);
    }
    expect(noted("ok", true, "tools/list")).toEqual(["private", "untrusted"]);
  });

  describe("at several processes", () => {
    const kept = new Map<string, string>();
    let failing = false;
    let now = 0;
    let told: string[] = [];
    const memory = {
      take: () => Promise.resolve(0),
      keep: (_kind: string, name: string, text: string) => {
        if (failing) return Promise.reject(new Error("gone"));
        told.push(name);
        kept.set(name, text);
        return Promise.resolve();
      },
      find: (_kind: string, name: string) =>
        failing ? Promise.reject(new Error("gone")) : Promise.resolve(kept.get(name)),
      list: () => Promise.resolve(kept),
      drop: (_kind: string, name: string) => Promise.resolve(void kept.delete(name)),
    };
    const process = (): Taints => new Taints(() => now, { memory });
    beforeEach(() => {
      kept.clear();
      [failing, now, told] = [false, 0, []];
    });

    it("is known to all, and may be both where they cannot be asked", async () => {
      const [one, two, three] = [process(), process(), process()];
      expect(await one.note(by("p"), "r", onlyPrivate)).toBe(true);
      expect(await three.of(by("p"))).toBeUndefined();
      expect(await two.note(by("p"), "s", onlyUntrusted)).toBe(true);
      for (const each of [one, two, three])
        expect(await each.of(by("p"))).toMatchObject({ private: { from: "r" }, untrusted: { from: "s" } });
      expect(await three.of(by("q"))).toBeUndefined();
      failing = true;
      expect(await one.of(by("p"))).toMatchObject({ private: { from: "r" }, untrusted: { id: 0 } });
      expect(await two.of(by("p"))).toMatchObject({ private: { id: 0 }, untrusted: { from: "s" } });
      expect(await three.of(by("q"))).toMatchObject({ private: { id: 0 }, untrusted: { id: 0 } });
    });

    it("is told once in a quarter of an hour, and at once where it could not be told", async () => {
      const one = process();
      failing = true;
      expect(await one.note(by("p"), "r", onlyPrivate)).toBe(false);
      failing = false;
      for (const at of [0, 15 * 60_000 - 1, 15 * 60_000]) {
        now = at;
        expect(await one.note(by("p"), "r", onlyPrivate)).toBe(true);
      }
      expect(told).toEqual(["private principal p", "private principal p"]);
      expect(await one.note(by("p"), "r", onlyUntrusted)).toBe(true);
      expect(told.slice(2)).toEqual(["untrusted principal p"]);
    });
  });
});

it("is tainted by the names that a completion gives", async () => {
  const { connect, peer } = await session(TAINTED);
  const call = await connect();
  await peer().request("completion/complete", {
    ref: { type: "ref/resource", uri: "file:///{+path}" },
    argument: { name: "path", value: "srv/" },
  });
  await call("strange");
  expect(await call("web")).toBe(false);
});

it("puts on record which calls tainted it", async () => {
  const { connect, audit } = await session(TAINTED);
  const call = await connect();
  for (const name of ["look", "strange", "web"]) await call(name);
  const denied = audit.records().find(({ kind }) => kind === "approval.denied");
  expect(denied).toMatchObject({
    tool: "web",
    decision: { allowed: false, rule: "approvals: tainted" },
    detail: { tainted: { private: { from: "look" }, untrusted: { from: "strange" } } },
  });
});
