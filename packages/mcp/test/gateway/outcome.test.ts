// What a caller is told of a request whose server ended: that its outcome is unknown if it was sent, and that it did not run if it was not.
import { afterEach, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { Mounted } from "../../src/gateway/gateway.js";
import type { Call } from "../../src/endpoint/call.js";
import { toldOf } from "../../src/gateway/told.js";
import { LocalError, RpcError } from "../../src/jsonrpc/errors.js";
import { Stop } from "../../src/jsonrpc/outgoing.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { ElicitResult } from "../../src/protocol/features/elicitation.js";
import { serveHttp, toNodeHandler } from "../../src/serve/http.js";
import { connect } from "../../src/serve/connect-node.js";
import type { Context } from "../../src/server/context.js";
import { Server } from "../../src/server/server.js";
import { type Asked, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const REVISIONS = ["2024-11-05", "2025-11-25", "2026-07-28"] as const;
const CALL_UNKNOWN = /^up: .+\. Whether the call did its work is not known: look, before you make it again$/;
const READ_UNKNOWN = /^up: .+\. Whether it was served is not known$/;
const CALL_NOT_RUN = /^up: .+\. The call did not run$/;
const READ_NOT_RUN = /^up: .+\. It was not served$/;

/** A server whose requests never end, and what ends it. */
interface Up {
  readonly begun: Promise<void>;
  open(options: ClientOptions): Promise<Client>;
  end(): Promise<unknown>;
}

type Ways = Record<string, (revision: string) => Promise<Up>>;

function endless(): { readonly server: Server; readonly begun: Promise<void> } {
  let began = (): void => undefined;
  const begun = new Promise<void>((resolve) => (began = resolve));
  const never = (): Promise<never> => {
    began();
    return new Promise(() => undefined);
  };
  const server = new Server({ name: "endless", version: "1", report: false });
  server.tool("pay", { task: "optional", run: never });
  server.resource("note://a", { read: never });
  server.prompt("ask", { run: never });
  return { server, begun };
}

const PROGRAM = `let rest = "";
const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\\n");
const capabilities = { tools: {}, resources: {}, prompts: {} };
const hints = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
const answers = {
  initialize: () => ({ protocolVersion: process.argv[1], capabilities, serverInfo: { name: "endless", version: "1" } }),
  "server/discover": () => ({ supportedVersions: [process.argv[1]], capabilities }),
  "tools/list": () => ({ tools: [{ name: "pay", inputSchema: { type: "object" } }] }),
  "resources/list": () => ({ resources: [{ uri: "note://a", name: "a" }] }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "prompts/list": () => ({ prompts: [{ name: "ask" }] }),
  ping: () => ({}),
};
process.stdin.on("end", () => process.exit(0)).setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const { id, method } of lines.map((line) => JSON.parse(line))) {
    if (id === undefined) continue;
    const modern = process.argv[1] === "2026-07-28";
    const known = method !== (modern ? "initialize" : "server/discover") && answers[method];
    if (known) send({ id, result: { ...(modern ? hints : {}), ...known() } });
    else if (/call|read|get/.test(method)) setTimeout(() => process.exit(7), 50);
    else send({ id, error: { code: -32601, message: "none" } });
  }
});`;

const WAYS: Ways = {
  "in memory": async (revision) => {
    const { server, begun } = endless();
    const opened: Client[] = [];
    const open = async (options: ClientOptions): Promise<Client> => {
      const client = await connect(server, { ...options, revision });
      opened.push(client);
      return client;
    };
    return { begun, open, end: () => Promise.all(opened.map((client) => client.close())) };
  },
  "over HTTP": async (revision) => {
    const { server, begun } = endless();
    const serving = await serveHttp(server, { signals: false, limits: { drainMs: 1 } });
    stage.later(() => serving.close());
    const open = (options: ClientOptions): Promise<Client> =>
      connect(serving.url, { ...options, revision, verdicts: false });
    return { begun, open, end: () => serving.close() };
  },
  "of a process that ends": async (revision) => {
    const command = { command: process.execPath, args: ["-e", PROGRAM, revision] };
    const open = (options: ClientOptions): Promise<Client> =>
      connect(command, { ...options, revision, reconnect: false });
    return { begun: Promise.resolve(), open, end: async () => undefined };
  },
};

/** What ends the call of a server that is there. */
const ENDS: Record<string, (parts: { readonly mounted: Mounted; readonly up: Up; all(): Promise<void> }) => unknown> = {
  "is removed": ({ mounted }) => mounted.remove(),
  "is started again": ({ mounted }) => mounted.restart(),
  "is removed with all others": ({ all }) => all(),
  ends: ({ up }) => up.end(),
};

async function told(client: Client, kind: string): Promise<{ readonly text: string; readonly outcome?: unknown }> {
  try {
    if (kind === "read") return { text: JSON.stringify(await client.read("note://a")) };
    if (kind === "prompt") return { text: JSON.stringify(await client.prompt("up__ask")) };
    if (kind === "task") {
      const { content } = await (await client.callTask("up__pay", {})).result();
      return { text: (content[0] as { text: string }).text };
    }
    const { content, isError } = await client.call("up__pay");
    expect(isError).toBe(true);
    return { text: (content[0] as { text: string }).text };
  } catch (error) {
    const { message, data } = error as RpcError;
    return { text: message, outcome: (data as { outcome?: unknown } | undefined)?.outcome };
  }
}

const CASES = Object.keys(WAYS).flatMap((way) =>
  (way === "of a process that ends" ? ["ends"] : Object.keys(ENDS)).flatMap((end) =>
    REVISIONS.flatMap((ours, index) =>
      (["call", "task", "read", "prompt"] as const).map((kind) => {
        const theirs = REVISIONS[(index + 1) % REVISIONS.length] as string;
        return { way, end, ours, theirs, kind };
      }),
    ),
  ),
);

describe("a request that was sent to a server", () => {
  it.each(CASES)("$way that $end: a $kind of $ours to $theirs has an unknown outcome", async (about) => {
    const { way, end, ours, theirs, kind } = about;
    const up = await (WAYS[way] as Ways[string])(theirs);
    const gateway = stage.gateway({ report: false });
    const mounted = await gateway.mount("up", (options) => up.open(options));
    const client = await stage.client(gateway, { revision: ours });
    const said = told(client, kind);
    await Promise.race([up.begun, said]);
    if (way !== "of a process that ends") await ENDS[end]?.({ mounted, up, all: () => gateway.unmountAll() });
    const { text, outcome } = await said;
    expect(text).toMatch(kind === "read" || kind === "prompt" ? READ_UNKNOWN : CALL_UNKNOWN);
    if (kind === "read" || kind === "prompt") expect(outcome).toBe("unknown");
  });
});

/** A server that asks once in each request, and knows nothing of the calls of others like it. */
function asking(): Server {
  const server = new Server({ name: "asking", version: "1", report: false });
  const ask = async (context: Context): Promise<string> =>
    (await context.elicit({ message: "Who?", schema: { name: { type: "string" } } })).action;
  server.tool("pay", { run: (_, context) => ask(context) });
  server.resource("note://a", { read: ask });
  server.prompt("ask", { run: (_, context) => ask(context) });
  return server;
}

interface Losing {
  open(options: ClientOptions): Promise<Client>;
  lose(mounted: Mounted): unknown;
}

/** What may become of a server while its caller is asked. */
const LOSSES: Record<string, () => Promise<Losing>> = {
  "is started again": async () => ({
    open: (options) => connect(asking(), { ...options, revision: "2026-07-28" }),
    lose: (mounted) => mounted.restart(),
  }),
  "cannot be started again": async () => {
    let gone = false;
    return {
      open: (options) =>
        gone ? connect({ command: "/nowhere/no-such-program", args: [] }) : connect(asking(), options),
      lose(mounted) {
        gone = true;
        return mounted.restart();
      },
    };
  },
  "is another behind the same address": async () => {
    let handler = toNodeHandler(asking());
    const url = await stage.listen((request, response) => void handler(request, response));
    return {
      open: (options) => connect(url, { ...options, revision: "2026-07-28", verdicts: false }),
      lose: () => (handler = toNodeHandler(asking())),
    };
  },
  "forgets it, and says so in words of its own": async () => {
    const question = { method: "elicitation/create", params: { mode: "form", message: "Who?", requestedSchema: FORM } };
    const once = ({ params }: Asked): JsonObject => {
      if (params["requestState"] !== undefined) throw new RpcError(-32_602, "Invalid or expired requestState");
      return { resultType: "input_required", inputRequests: { q: question }, requestState: "s" };
    };
    const kinds = { tools: {}, resources: {}, prompts: {} };
    const { url } = await stage.strange({
      "server/discover": () => ({ supportedVersions: ["2026-07-28"], capabilities: kinds, ...HINTS }),
      "tools/list": () => ({ tools: [{ name: "pay", inputSchema: { type: "object" } }], ...HINTS }),
      "resources/list": () => ({ resources: [{ uri: "note://a", name: "a" }], ...HINTS }),
      "resources/templates/list": () => ({ resourceTemplates: [], ...HINTS }),
      "prompts/list": () => ({ prompts: [{ name: "ask" }], ...HINTS }),
      "tools/call": once,
      "resources/read": once,
      "prompts/get": once,
    });
    return { open: (options) => connect(url, { ...options, verdicts: false }), lose: () => undefined };
  },
};
const FORM = { type: "object", properties: { name: { type: "string" } } };
const HINTS = { ttlMs: 0, cacheScope: "private" };

describe("a request that asked its caller, of a server that", () => {
  const cases = Object.keys(LOSSES).flatMap((loss) =>
    ["2025-11-25", "2026-07-28"].flatMap((ours) => ["call", "read", "prompt"].map((kind) => ({ loss, ours, kind }))),
  );
  it.each(cases)("$loss: a $kind of $ours has an unknown outcome", async ({ loss, ours, kind }) => {
    const losing = await (LOSSES[loss] as () => Promise<Losing>)();
    const gateway = stage.gateway({ report: false });
    const mounted = await gateway.mount("up", (options) => losing.open(options));
    const elicit = async (): Promise<ElicitResult> => {
      await losing.lose(mounted);
      return { action: "accept", content: { name: "Ada" } };
    };
    const { text, outcome } = await told(await stage.client(gateway, { revision: ours, elicit }), kind);
    expect(text).toMatch(kind === "call" ? CALL_UNKNOWN : READ_UNKNOWN);
    if (kind !== "call") expect(outcome).toBe("unknown");
  });
});

it("what a gateway says of a server behind it goes on in its words", async () => {
  const behind = "far: it did not answer in time. Whether it was served is not known";
  const server = new Server({ name: "near", version: "1", report: false });
  server.resource("note://a", {
    read() {
      throw new RpcError(-32_603, behind, { server: "far", reason: "TIMEOUT", outcome: "unknown" });
    },
  });
  const gateway = stage.gateway({ report: false });
  await gateway.mount("near", (options) => connect(server, options));
  const client = await stage.client(gateway, { revision: "2025-11-25" });
  expect(await told(client, "read")).toEqual({ text: behind, outcome: "unknown" });
});

/** What keeps a request from being sent at all. */
const NOT_SENT: Record<string, () => Promise<Client>> = {
  "cannot be started": () => connect({ command: "/nowhere/no-such-program", args: [] }),
  "cannot be reached": () => connect("http://127.0.0.1:9/mcp", { verdicts: false }),
  "needs a login": () => Promise.reject(new LocalError("UNAUTHORIZED", "log in")),
  "is never connected": () => Promise.reject(new LocalError("CLOSED", "over")),
};

describe("a request that was not sent, as its server", () => {
  it.each(Object.keys(NOT_SENT))("%s", async (why) => {
    const { server } = endless();
    const gateway = stage.gateway({ report: false });
    let lists = true;
    await gateway.mount("up", (options) => (lists ? connect(server, options) : (NOT_SENT[why]?.() as Promise<Client>)));
    await gateway.mounts.get("up")?.restart();
    lists = false;
    const client = await stage.client(gateway, { revision: "2025-11-25" });
    expect((await told(client, "call")).text).toMatch(CALL_NOT_RUN);
    const read = await told(client, "read");
    expect(read.text).toMatch(READ_NOT_RUN);
    expect(read.outcome).toBeUndefined();
  });

  it.each([401, 403, 404, 500, 502, 503])("answers with HTTP %i", async (status) => {
    const { url } = await stage.strange({});
    let refuses = false;
    const guard = await stage.listen((request, response) => {
      if (refuses) return void response.writeHead(status).end();
      void (async () => {
        let body = "";
        for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
        const { host: _, connection: __, ...headers } = request.headers;
        const answer = await fetch(url, { method: "POST", body, headers: headers as Record<string, string> });
        response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
      })();
    });
    const gateway = stage.gateway({ report: false });
    await gateway.mount("up", (options) => connect(guard, { ...options, verdicts: false }));
    const client = await stage.client(gateway, { revision: "2025-11-25" });
    await client.call("up__read");
    refuses = true;
    const { content } = await client.call("up__read");
    expect((content[0] as { text: string }).text).toMatch(status < 500 ? CALL_NOT_RUN : CALL_UNKNOWN);
  });
});

/** What requests end with, and how far they came. */
const CODES =
  "AUTH_X BROKEN CANCELLED CLOSED EXITED FORBIDDEN FORGOTTEN HTTP_STATUS INCOMPATIBLE LIMIT NOT_SUPPORTED NO_SECRET OUTCOME_UNKNOWN REFUSED SESSION_EXPIRED SPAWN_FAILED TIMEOUT UNAUTHORIZED UNREACHABLE OTHER";
const CAME = [
  { sent: false, begun: false },
  { sent: true, begun: false },
  { sent: true, begun: true },
];

it.each(CODES.split(" ").flatMap((code) => CAME.map((came) => ({ code, ...came }))))(
  "$code, sent $sent, begun $begun: the outcome is told once",
  async ({ code, ...came }) => {
    const about = { name: "up", call: {} as Call, isCall: true, came, asked: 0, words: {} };
    const told = (await toldOf(about, new LocalError(code, "the owner's words"), new Stop())) as Error;
    expect(told.message.match(/not known|unknown|did not run/g)).toHaveLength(1);
    expect(told.message).toMatch(came.sent && came.begun ? CALL_UNKNOWN : /^up: .+\. (?:Whether the|The) call did/);
  },
);
