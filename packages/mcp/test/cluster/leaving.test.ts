// A process that is told to end while something of it runs: what it has goes on to its end, and what is new is served by others.
import { on, once } from "node:events";
import { connect as dial, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.js";
import { connect, type ConnectOptions } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";
import { JSON_TYPES, modern, modernHeaders, post, session } from "../http/http-fixture.js";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster-fixture.js";

const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/** Those that know of elicitation. */
const ASKING = REVISIONS.slice(1);

async function connected({ hostname, port }: URL): Promise<Socket> {
  const socket = dial(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Sends a call of `where` over a connection, and resolves with the reply as far as it says where, or whole if it does not. */
async function asked(socket: Socket, message: object, more: Readonly<Record<string, string>>): Promise<string> {
  const body = JSON.stringify(message);
  const host = `127.0.0.1:${socket.remotePort}`;
  const headers = { ...JSON_TYPES, ...more, host, "content-length": String(body.length) };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /mcp HTTP/1.1\r\n${head.join("")}\r\n${body}`);
  let text = "";
  for await (const chunk of on(socket, "data") as AsyncIterable<[Buffer]>) {
    text += String(chunk[0]);
    if (text.includes("at ") || !text.startsWith("HTTP/1.1 200")) return text;
  }
  return text;
}

function refused(url: URL): Promise<boolean> {
  return connected(url).then(
    (socket) => (socket.destroy(), false),
    () => true,
  );
}

type Member = Cluster["members"][number];

/** Longer than a process that ends serves what may still come on open connections. */
function awhile(): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, 900, "waits"));
}

interface Leaving extends Cluster {
  /** Which member ran each call. */
  readonly ran: number[];
  /** Lets what hangs end. */
  free(): void;
  /** Lets what speaks end. */
  hush(): void;
  /** Makes a call that hangs, and waits until it does. */
  hang(calling: Client): Promise<{ readonly answer: ReturnType<Client["call"]> }>;
  /** A client of one member alone. */
  client(member: number, revision: string, options?: Partial<ConnectOptions>): Promise<Client>;
}

async function started(count: number, drainMs = 20_000, shareOf?: ClusterOptions["shareOf"]): Promise<Leaving> {
  const ran: number[] = [];
  let free = (): void => undefined;
  let hanging = 0;
  const freed = new Promise<void>((resolve) => (free = resolve));
  let hush = (): void => undefined;
  const hushed = new Promise<void>((resolve) => (hush = resolve));
  const server = (member: number): Server => {
    const made = new Server({ name: "leaving", version: "1.0.0", report: false });
    made.tool("where", { run: () => (ran.push(member), `at ${member}`) });
    made.tool("hang", { task: "optional", run: () => ((hanging += 1), freed.then(() => "ended")) });
    made.tool("speak", { run: (_, ctx) => ctx.progress(1).then(() => hushed.then(() => "ended")) });
    made.tool("ask", {
      run: async (_, ctx) => (await ctx.elicit({ message: "?", schema: { sure: { type: "boolean" } } })).action,
    });
    return made;
  };
  const cluster = await startCluster({ count, server, limits: { drainMs }, ...(shareOf && { shareOf }) });
  onTestFinished(() => (free(), hush()));
  const client: Leaving["client"] = async (member, revision, options) => {
    const url = cluster.members[member]?.url ?? "";
    const made = await connect(url, { revision, verdicts: false, ...options });
    onTestFinished(() => made.close());
    return made;
  };
  const hang: Leaving["hang"] = async (calling) => {
    const before = hanging;
    const answer = calling.call("hang");
    answer.catch(() => undefined);
    await expect.poll(() => hanging).toBe(before + 1);
    return { answer };
  };
  return { ...cluster, ran, free, hush, client, hang };
}

it.each(REVISIONS)("serves its calls to their end, and new ones of %s by others, each once", async (revision) => {
  const { members, ran, free, client, hang } = await started(3);
  const hanging = await hang(await client(0, revision));
  const waits = await client(0, "2026-07-28");
  await waits.call("where");
  ran.length = 0;
  const closed = members[0]?.close();
  for (let n = 0; n < 8; n++) {
    const { content } = await (await client(0, revision)).call("where");
    expect(content).toEqual([{ type: "text", text: expect.stringMatching(/^at [12]$/) as string }]);
  }
  // Whoever was there before is served as well.
  expect((await waits.call("where")).content).not.toEqual([{ type: "text", text: "at 0" }]);
  expect(ran).toHaveLength(9);
  free();
  expect((await hanging.answer).content).toEqual([{ type: "text", text: "ended" }]);
  await closed;
});

it.each(REVISIONS.slice(2))(
  "lets a task of %s end, and what others ask of it meanwhile is answered",
  async (revision) => {
    const { members, free, client } = await started(2);
    const task = await (await client(0, revision)).callTask("hang");
    const closed = members[0]?.close();
    const other = await client(1, revision);
    const ended = other.task(task.id as string).result();
    expect((await other.task(task.id as string).status()).status).toBe("working");
    free();
    expect((await ended).content).toEqual([{ type: "text", text: "ended" }]);
    await closed;
    expect((await other.task(task.id as string).status()).status).toBe("completed");
  },
);

it.each([
  [1, 300],
  [2, 300],
])("ends a task as failed where %i processes are there and the time is %i", async (count, drainMs) => {
  const { members, client } = await started(count, drainMs);
  const own = await client(0, "2025-11-25");
  const task = await own.callTask("hang");
  const began = performance.now();
  await members[0]?.close();
  expect(performance.now() - began).toBeLessThan(5_000);
  if (count === 1) return;
  const other = await client(1, "2025-11-25");
  const said = await other.task(task.id as string).status();
  expect(said).toMatchObject({ status: "failed", statusMessage: "The server stopped before the task ended" });
  const outcome = { code: -32_603, data: { outcome: "unknown" } };
  await expect(other.task(task.id as string).result()).rejects.toMatchObject(outcome);
});

it("hears the answer to what it has asked", async () => {
  const { members, free, client, hang } = await started(2);
  const hanging = await hang(await client(0, "2026-07-28"));
  let closed: Promise<void> | undefined;
  const asking = await client(0, "2026-07-28", {
    elicit: () => {
      closed = members[0]?.close();
      return { action: "accept", content: { sure: true } };
    },
  });
  expect((await asking.call("ask")).content).toEqual([{ type: "text", text: "accept" }]);
  free();
  await hanging.answer;
  await closed;
});

it("waits for the answers to what it has handed on, and takes no connection once it has nothing to do", async () => {
  const { members, free, client, hang } = await started(2);
  const first = await hang(await client(0, "2026-07-28"));
  const late = await client(0, "2026-07-28");
  const closed = members[0]?.close();
  const handed = await hang(late);
  free();
  for (const { answer } of [first, handed]) expect((await answer).content).toEqual([{ type: "text", text: "ended" }]);
  await closed;
  await expect(fetch(members[0]?.url ?? "")).rejects.toThrow();
});

it("waits for the rest of an answer that it has handed on and that has begun, but not for what has no end", async () => {
  const { members, free, hush, client, hang } = await started(2);
  const url = members[0]?.url ?? "";
  const hanging = await hang(await client(0, "2026-07-28"));
  const [speaks, listens] = [
    await client(0, "2026-07-28"),
    modern("subscriptions/listen", { notifications: { toolsListChanged: true } }),
  ];
  const closed = members[0]?.close();
  let answer: ReturnType<Client["call"]> | undefined;
  await new Promise<void>((begun) => (answer = speaks.call("speak", {}, { onProgress: () => begun() })));
  const listening = await fetch(url, {
    method: "POST",
    headers: { ...JSON_TYPES, ...modernHeaders(listens) },
    body: JSON.stringify(listens),
  });
  expect(listening.status).toBe(200);
  free();
  await hanging.answer;
  expect(await Promise.race([closed, answer, awhile()])).toBe("waits");
  hush();
  expect((await answer)?.content).toEqual([{ type: "text", text: "ended" }]);
  expect(await Promise.race([closed, awhile()])).not.toBe("waits");
  await listening.body?.cancel().catch(() => undefined);
});

it("answers what it has handed on and does not end in time, where nobody comes back for the rest of a stream", async () => {
  const { members, client, hang, free } = await started(2, 1_000);
  const hanging = await hang(await client(0, "2026-07-28"));
  const speaks = await client(0, "2026-07-28");
  const closed = members[0]?.close();
  let answer: Promise<unknown> | undefined;
  await new Promise<void>((begun) => {
    answer = speaks.call("speak", {}, { onProgress: () => begun() }).catch((error: unknown) => error);
  });
  free();
  await hanging.answer;
  await closed;
  expect(await answer).toMatchObject({ code: -32_603, data: { outcome: "unknown" } });
});

it("serves what comes on a connection that is open, as the last of it, once it takes no more", async () => {
  const { members } = await started(2);
  const url = new URL(members[0]?.url ?? "");
  const [early, late] = [await connected(url), await connected(url)];
  const call = modern("tools/call", { name: "where", arguments: {} });
  expect(await asked(early, call, modernHeaders(call))).not.toMatch(/connection: close/i);
  const closed = members[0]?.close();
  await expect.poll(() => refused(url)).toBe(true);
  for (const socket of [late, early])
    expect(await asked(socket, call, modernHeaders(call))).toMatch(/^HTTP\/1.1 200 [^]*connection: close[^]*at 1/i);
  await closed;
});

/** What is the session's own alone: whoever has the session serves it, and the connection between the two is opened. */
const LEVEL = { jsonrpc: "2.0", id: 2, method: "logging/setLevel", params: { level: "info" } };

/** The reply to a call of a session over a connection to `from`, made just before `leaving` ends and used once that takes no more. */
async function askedLate(leaving: Member, from: string, headers: Record<string, string>): Promise<string> {
  const url = new URL(leaving.url);
  // The first keeps the process from ending, as long as it is open and idle.
  const [own, asking] = [await connected(url), await connected(new URL(from))];
  const closed = leaving.close();
  await expect.poll(() => refused(url)).toBe(true);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "where", arguments: {} } };
  const reply = await asked(asking, call, headers);
  own.destroy();
  await closed;
  return reply;
}

it.each([0, 1])("has its session served by another once it has let go of it, asked for at %i", async (at) => {
  const [first, second] = (await started(2)).members as [Member, Member];
  const { headers } = await session(first.url, "2025-11-25");
  await post(second.url, LEVEL, headers);
  expect(await askedLate(first, [first, second][at]?.url ?? "", headers)).toMatch(/^HTTP\/1.1 200 [^]*at 1/);
});

it("has a session that it took over from another served by a third, asked for where it was last", async () => {
  const [first, second] = (await started(3)).members as [Member, Member];
  const { headers } = await session(first.url, "2025-11-25");
  await first.close();
  expect((await post(second.url, LEVEL, headers)).status).toBe(200);
  expect(await askedLate(second, second.url, headers)).toMatch(/^HTTP\/1.1 200 [^]*at 2/);
});

it("waits for the answer to what it handed on before it was told to end", async () => {
  const { members, free } = await started(2);
  const [leaving, owner] = members.map(({ url }) => url) as [string, string];
  const { headers } = await session(owner, "2025-11-25");
  const params = { name: "hang", arguments: {}, task: { ttl: 60_000 } };
  const made = await post(owner, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers);
  const { taskId } = /"taskId":"(?<taskId>[^"]+)"/.exec(made.text)?.groups ?? {};
  const answer = post(leaving, { jsonrpc: "2.0", id: 2, method: "tasks/result", params: { taskId } }, headers);
  await post(leaving, { jsonrpc: "2.0", id: 3, method: "tasks/get", params: { taskId } }, headers);
  const closed = members[0]?.close();
  await expect.poll(() => refused(new URL(leaving))).toBe(true);
  expect(await Promise.race([closed, answer, awhile()])).toBe("waits");
  free();
  expect((await answer).text).toContain("ended");
  await closed;
});

it("tells whoever comes to come back where nobody else is there", async () => {
  const { members, free, client, hang } = await started(1);
  const hanging = await hang(await client(0, "2026-07-28"));
  const before = await client(0, "2026-07-28");
  const closed = members[0]?.close();
  await expect(before.call("where")).rejects.toThrow(/503.*shutting down/s);
  free();
  await hanging.answer;
  await closed;
});

/** Who has the session, and where the answer to the question arrives; the call runs at the one that is told to end. */
const WAYS = [
  [0, 0],
  [0, 2],
  [1, 2],
  [1, 1],
] as const;

it.each(ASKING.flatMap((revision) => WAYS.map((way) => [revision, ...way] as const)))(
  "hears of answers in %s, session at %i, answered at %i, and its sessions are served everywhere meanwhile",
  async (revision, owner, answeredAt) => {
    const { members, to, url } = await started(3);
    const through = async (options: Partial<ConnectOptions> = {}): Promise<Client> => {
      const made = await connect(url, { revision, verdicts: false, ...options });
      onTestFinished(() => made.close());
      return made;
    };
    to(owner);
    const others = await through();
    const asking = await through({
      elicit: async () => {
        void members[0]?.close();
        // Whatever comes while somebody decides is served, whoever gets it.
        for (const member of [0, 1, 2, 0, 1, 2]) {
          to(member);
          expect((await others.call("where")).isError).not.toBe(true);
        }
        to(answeredAt);
        return { action: "accept", content: { sure: true } };
      },
    });
    to(0);
    expect((await asking.call("ask")).content).toEqual([{ type: "text", text: "accept" }]);
  },
);

/** A process that is the last of those that share, or shares with nobody, and begins to end. */
const LONE = ["shares with others, of which none is there", "shares nothing"] as const;

async function lone(which: (typeof LONE)[number], revision: string, options?: Partial<ConnectOptions>) {
  const { members, free, ran } = await started(1, 20_000, which === LONE[1] ? () => undefined : undefined);
  const url = members[0]?.url ?? "";
  const connected = async (): Promise<Client> => {
    const made = await connect(url, { revision, verdicts: false, ...options });
    onTestFinished(() => made.close());
    return made;
  };
  /** A call that begins anew is refused. */
  const refuses = async (calling: Client): Promise<void> => {
    const before = ran.length;
    const refusal = await calling.call("where").catch((error: unknown) => String(error));
    expect(refusal).toMatch(/503.*shutting down/s);
    // Nobody else is there, and it is told by nobody that the server is merely busy.
    expect(refusal).not.toMatch(/another (?:one|process) goes on|It is busy/);
    expect(ran).toHaveLength(before);
  };
  return {
    close: () => members[0]?.close() as Promise<void>,
    client: await connected(),
    other: await connected(),
    free,
    refuses,
  };
}

it.each(LONE.flatMap((which) => REVISIONS.slice(2).map((revision) => [which, revision] as const)))(
  "lets a task end where it %s, answers whoever asks for it in %s, and refuses what is new",
  async (which, revision) => {
    const { close, client, other, free, refuses } = await lone(which, revision);
    const task = await client.callTask("hang");
    const closed = close();
    await refuses(other);
    expect((await client.task(task.id as string).status()).status).toBe("working");
    const ended = client.task(task.id as string).result();
    free();
    expect((await ended).content).toEqual([{ type: "text", text: "ended" }]);
    await closed;
  },
);

it.each(LONE.flatMap((which) => ASKING.map((revision) => [which, revision] as const)))(
  "hears the answer to what it has asked where it %s in %s, and refuses what is new",
  async (which, revision) => {
    let closed: Promise<void> | undefined;
    let begun = (): Promise<void> => Promise.resolve();
    const made = await lone(which, revision, {
      elicit: async () => {
        await begun();
        return { action: "accept", content: { sure: true } };
      },
    });
    begun = () => ((closed = made.close()), made.refuses(made.other));
    expect((await made.client.call("ask")).content).toEqual([{ type: "text", text: "accept" }]);
    await closed;
  },
);
