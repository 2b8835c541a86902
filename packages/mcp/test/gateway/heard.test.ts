// What a server says within a call reaches its caller alone, however callers come, and whoever they are or are not.
import { afterEach, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { ServeHttpOptions } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { connect } from "../../src/serve/connect-node.js";
import { Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const SESSIONS = "2025-11-25";
const NONE = "2026-07-28";
const ALONE = ["nobody", "nobody"] as const;

interface Kind {
  /** Revisions of the two clients, and of the server. */
  readonly clients: readonly [string, string];
  readonly server: string;
  readonly over: "memory" | "http";
  /** How the server is reached: over a pipe only progress names its call. */
  readonly upstream: "memory" | "http" | "a client that is there";
  readonly users: readonly [string, string];
}

const REVISION_PAIRS = [
  [SESSIONS, SESSIONS],
  [NONE, NONE],
  [SESSIONS, NONE],
] as const;
const KINDS: readonly Kind[] = REVISION_PAIRS.flatMap((clients) =>
  [SESSIONS, NONE].flatMap((server) =>
    (["memory", "http"] as const).flatMap((over) =>
      (["memory", "http", "a client that is there"] as const).flatMap((upstream) =>
        ([ALONE, ["ada", "bob"], ["ada", "ada"]] as const).map((users) => ({ clients, server, over, upstream, users })),
      ),
    ),
  ),
);

interface Gate {
  readonly open: Promise<void>;
  let(): void;
}

function gate(): Gate {
  let go = (): void => undefined;
  return { open: new Promise<void>((resolve) => (go = resolve)), let: () => go() };
}

/** Says whose call it is in each way there is, while the call of the other is under way. */
function telling(all: Promise<void>, came: () => void): Server {
  const server = new Server({ name: "telling", version: "1", report: false });
  server.tool("say", {
    input: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
    run: async ({ who }, context) => {
      came();
      await all;
      await context.progress(1, 2, `progress of ${who}`);
      await context.log("info", `log of ${who}`);
      const answer = await context
        .elicit({ message: `question of ${who}`, schema: { whose: { type: "string" } } })
        .catch(() => undefined);
      return `${who}/${answer?.action === "accept" ? answer.content.whose : "nobody"}`;
    },
  });
  return server;
}

interface Heard {
  readonly who: string;
  readonly client: Client;
  readonly heard: string[];
}

async function listening(target: string | Server, who: string, options: ClientOptions): Promise<Heard> {
  const heard: string[] = [];
  const client = await stage.client(target, {
    ...options,
    elicit: ({ message }) => {
      heard.push(message);
      return { action: "accept", content: { whose: who } };
    },
    onLog: ({ data }) => void heard.push(String(data)),
  });
  return { who, client, heard };
}

async function say({ client, who, heard }: Heard): Promise<string> {
  const onProgress = ({ message = "" }: { readonly message?: string }): void => void heard.push(message);
  const { content } = await client.call("say", { who }, { logLevel: "info", onProgress });
  return (content[0] as { text: string }).text;
}

async function both(kind: Kind, all: Promise<void>, came: () => void): Promise<readonly [Heard, Heard]> {
  const gateway = stage.gateway({ report: false });
  const server = telling(all, came);
  const there = kind.upstream === "http" ? await stage.serve(server) : server;
  const open = (options: ClientOptions): Promise<Client> =>
    connect(there, { ...options, revision: kind.server, verdicts: false });
  const shared =
    kind.upstream === "a client that is there" ? await stage.client(there, { revision: kind.server }) : open;
  await gateway.mount("up", shared, { prefix: "" });
  const authenticate: ServeHttpOptions["authenticate"] = (head) => ({
    identity: { principal: head.header("x-user") as string, scopes: [] },
  });
  const url =
    kind.over === "memory" ? gateway : await stage.serve(gateway, kind.users === ALONE ? {} : { authenticate });
  const person = (index: 0 | 1): Promise<Heard> => {
    const principal = kind.users[index];
    const options: ClientOptions = {
      revision: kind.clients[index],
      clientInfo: { name: "program", version: "1" },
      ...(kind.over === "http" ? { http: { headers: { "x-user": principal } } } : {}),
      ...(kind.over === "memory" && principal !== "nobody" ? { identity: { principal, scopes: [] } } : {}),
    };
    return listening(url, `client ${index + 1}`, options);
  };
  return [await person(0), await person(1)];
}

const named = ({ clients, server, over, upstream, users }: Kind): string =>
  `${users.join(" and ")}, ${clients.join(" and ")} over ${over}, of ${server} over ${upstream}`;

/** Whether nothing has to be left out: callers that can be told apart have a connection of their own. */
const separate = ({ clients, over, upstream, users }: Kind): boolean =>
  upstream !== "a client that is there" &&
  (users[0] !== users[1] || (users === ALONE && (over === "memory" || !clients.every((each) => each === NONE))));

describe("two callers at once hear what is theirs", () => {
  it.each(KINDS.map((kind) => [named(kind), kind] as const))("%s", async (_name, kind) => {
    const { open, let: go } = gate();
    let came = 0;
    const heard = await both(kind, open, () => void (++came === 2 && go()));
    const answers = await Promise.all(heard.map(say));
    for (const [index, { who, heard: texts }] of heard.entries()) {
      for (const text of texts) expect(text).toMatch(new RegExp(`of ${who}$`));
      expect(texts).toContain(`progress of ${who}`);
      expect([`${who}/${who}`, `${who}/nobody`]).toContain(answers[index]);
      if (!separate(kind)) continue;
      expect(texts.filter((text) => text.startsWith("log"))).toEqual([`log of ${who}`]);
      expect(answers[index]).toBe(`${who}/${who}`);
    }
  });
});

it.each([SESSIONS, NONE])("two calls at once of one session hear each message once (%s)", async (server) => {
  const { open, let: go } = gate();
  let came = 0;
  const kind: Kind = { clients: [SESSIONS, SESSIONS], server, over: "http", upstream: "memory", users: ALONE };
  const [one] = await both(kind, open, () => void (++came === 2 && go()));
  await Promise.all([say({ ...one, who: "a" }), say({ ...one, who: "b" })]);
  expect(one.heard.filter((text) => text.startsWith("log")).sort()).toEqual(["log of a", "log of b"]);
});

it("callers without a name have connections for as long as they are there", async () => {
  const gateway = stage.gateway();
  const server = new Server({ name: "up", version: "1" });
  server.tool("say", { run: () => "said" });
  const mounted = await gateway.mount("up", (options) => connect(server, options), { prefix: "" });
  const url = await stage.serve(gateway);
  const before = mounted.connections;
  const clients = await Promise.all(Array.from({ length: 8 }, () => stage.client(url, { revision: SESSIONS })));
  await Promise.all(clients.map((client) => client.call("say")));
  expect(mounted.connections).toBe(before + clients.length);
  await Promise.all(clients.map((client) => client.close()));
  await expect.poll(() => mounted.connections).toBe(before);
});

it("says once that a log message reached nobody, and what to write", async () => {
  const lines: string[] = [];
  const gateway = stage.gateway({ report: (_level, text) => void lines.push(text) });
  const { open, let: go } = gate();
  let came = 0;
  const server = telling(open, () => void (++came === 2 && go()));
  await gateway.mount("up", (options) => connect(server, { ...options, revision: SESSIONS }), { prefix: "" });
  const url = await stage.serve(gateway, { authenticate: () => ({ identity: { principal: "ada", scopes: [] } }) });
  const two = await Promise.all(["a", "b"].map((who) => listening(url, who, { revision: SESSIONS })));
  await Promise.all(two.map(say));
  expect(two.flatMap(({ heard }) => heard.filter((text) => text.startsWith("log")))).toEqual([]);
  const told = lines.filter((line) => line.startsWith("A log message of up"));
  expect(told).toEqual([expect.stringContaining('sharing: "session"')]);
});
