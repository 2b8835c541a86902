// Finding out what a server speaks, with real processes and sockets: the right verdict each time, and nothing left behind.
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ConnectError } from "../../src/client/conversation.js";
import { connect, type NodeConnectOptions, type NodeConnectTarget } from "../../src/serve/connect-node.js";
import { refusingPort } from "../support/refusing-port.js";
import { sampled } from "../support/soak.js";
import { WHOLE, withClient } from "./cells.js";
import { listening } from "./servers/listening.mjs";

const OPTIONS: NodeConnectOptions = { verdicts: false, probeTimeoutMs: 150 };
const ERRORS = [-32601, -32600, -32602, -32603, -32700, -32000, -32001, -32002];
const FACTS = { capabilities: { tools: {} }, serverInfo: { name: "old", version: "1.0.0" } };

/** A server of 2025-06-18 that does `quirk` when it is asked what it is; its processes bear `mark`. */
function old(quirk: string, mark: string): NodeConnectTarget {
  // A shell starts in a twentieth of the time of Node; an id is what stands between its name and the next comma.
  const script = `
    while read -r line; do
      id=\${line#*'"id":'}
      id=\${id%%,*}
      case $line in
        *'"server/discover"'*) ${quirk} ;;
        *'"initialize"'*) say "$id" '"result":{"protocolVersion":"2025-06-18",${JSON.stringify(FACTS).slice(1)}' ;;
        *'"id":'*) say "$id" '"result":{"tools":[]}' ;;
      esac
    done`;
  return { command: "/bin/sh", args: ["-c", `${SAY}\n${script}`], env: { PROBED: mark } };
}

/** Answers with an id, and what else is in the message. */
const SAY = `say() { printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$1" "$2"; }`;
const saying = (error: object, id = '"$id"'): string => `say ${id} '"error":${JSON.stringify(error)}'`;

/** Processes that bear the mark; none where the system does not tell. */
function marked(mark: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/environ`, "latin1").includes(`PROBED=${mark}`);
    } catch {
      return false;
    }
  });
}

async function isOld(quirk: string, options: NodeConnectOptions = OPTIONS): Promise<number> {
  const mark = randomUUID();
  const from = performance.now();
  const took = await withClient(await connect(old(quirk, mark), options), async (client) => {
    const elapsed = performance.now() - from;
    expect(client).toMatchObject({ era: "handshake", revision: "2025-06-18", server: { name: "old" } });
    expect(await client.tools().all()).toEqual([]);
    if (process.platform === "linux") expect(marked(mark)).toHaveLength(1);
    return elapsed;
  });
  await vi.waitFor(() => expect(marked(mark)).toEqual([]), { timeout: 10_000 });
  return took;
}

describe("a process of an older revision is spoken to in it", () => {
  it("when it is silent to the question, which takes less than two seconds by default", async () => {
    let best = await isOld(":", WHOLE ? { verdicts: false } : OPTIONS);
    if (!WHOLE) return;
    // Most of it is the wait for an answer; the rest is the start of a process, for which a busy machine gets more tries.
    for (let run = 1; run < 10 && best >= 2_000; run++) best = Math.min(best, await isOld(":", { verdicts: false }));
    expect(best).toBeLessThan(2_000);
  });
  it.each([0, 1])("when it ends at the question with status %i", async (status) => {
    await isOld(`exit ${status}`);
  });
  // Over HTTP, where none costs a process, all of them are tried.
  it.each(sampled(ERRORS, 3))("when it answers with error %i", async (code) => {
    await isOld(saying({ code, message: "no" }));
  });
  it("when it answers with an error that has no id", async () => {
    await isOld(saying({ code: -32700, message: "what?" }, "null"));
  });
  it("when it refuses the version and names its own", async () => {
    await isOld(saying({ code: -32022, message: "no", data: { supported: ["2025-06-18"] } }));
  });
});

it("leaves no process of a server that never answers", async () => {
  const mark = randomUUID();
  const target = { command: "sleep", args: ["1000"], env: { PROBED: mark } };
  const closeTimeouts = { inputEndMs: 50, terminateMs: 50 };
  const error = await failure({ ...target, closeTimeouts }, { ...OPTIONS, connectTimeoutMs: 300 });
  expect(error.code).toBe("TIMEOUT");
  expect(marked(mark)).toEqual([]);
});

type Serve = (message: { id?: number; method?: string }, response: ServerResponse, request: IncomingMessage) => void;

async function httpServer(serve: Serve): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += String(chunk)));
    request.on("end", () => serve(body === "" ? {} : (JSON.parse(body) as object), response, request));
  });
  const { origin, close } = await listening(server);
  onTestFinished(close);
  return `${origin}/mcp`;
}

function json(response: ServerResponse, status: number, message: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

const refusing =
  (refuse: Serve): Serve =>
  (message, response, request) => {
    const { id, method } = message;
    if (method === "server/discover") return refuse(message, response, request);
    if (method === "initialize")
      return json(response, 200, { id, result: { protocolVersion: "2025-03-26", ...FACTS } });
    if (id !== undefined) return json(response, 200, { id, result: { tools: [] } });
    response.writeHead(request.method === "POST" ? 202 : 405).end();
  };

describe("a URL of an older revision is spoken to in it", () => {
  const cases = ERRORS.flatMap((code) => [200, 400].map((status) => [code, status] as const));
  it.each(cases)("when it answers with error %i and status %i", async (code, status) => {
    const url = await httpServer(
      refusing(({ id }, response) => json(response, status, { id, error: { code, message: "no" } })),
    );
    await withClient(await connect(url, OPTIONS), async (client) => {
      expect(client).toMatchObject({ revision: "2025-03-26", transport: "http" });
      expect(await client.tools().all()).toEqual([]);
    });
  });
  it.each([400, 404, 405, 415])("when it answers with status %i and no message", async (status) => {
    const url = await httpServer(refusing((_message, response) => void response.writeHead(status).end("no")));
    await withClient(await connect(url, OPTIONS), (client) => Promise.resolve(expect(client.era).toBe("handshake")));
  });
});

describe("a URL that says nothing about its revision is reported", () => {
  const status =
    (code: number): Serve =>
    (_message, response) =>
      void response.writeHead(code).end("no");
  it.each([
    [401, "UNAUTHORIZED"],
    [403, "FORBIDDEN"],
    [500, "HTTP_STATUS"],
    [503, "HTTP_STATUS"],
  ])("with status %i as %s", async (code, expected) => {
    const asked: unknown[] = [];
    const url = await httpServer((message, response, request) => {
      asked.push(message.method);
      status(code)(message, response, request);
    });
    const error = await failure(url, OPTIONS);
    expect(error).toMatchObject({ code: expected, status: code });
    expect(error.message).toContain(url);
    expect(asked).toEqual(["server/discover"]);
  });

  it("as TIMEOUT when it takes the connection and says nothing", async () => {
    const url = await tcpServer(() => undefined);
    const error = await failure(url, { ...OPTIONS, connectTimeoutMs: 200 });
    expect(error.code).toBe("TIMEOUT");
    expect(error.message).toContain(url);
  });

  it("as OUTCOME_UNKNOWN when it hangs up", async () => {
    expect((await failure(await tcpServer((socket) => socket.destroy()), OPTIONS)).code).toBe("OUTCOME_UNKNOWN");
  });

  it("as INVALID_RESPONSE when it speaks something else", async () => {
    const url = await tcpServer((socket) => socket.end("220 mail.example ESMTP\r\n"));
    expect((await failure(url, OPTIONS)).code).toBe("INVALID_RESPONSE");
  });

  it("as UNREACHABLE when nothing listens", async () => {
    expect((await failure(`http://127.0.0.1:${await refusingPort()}/mcp`, OPTIONS)).code).toBe("UNREACHABLE");
  });
});

async function failure(target: NodeConnectTarget, options: NodeConnectOptions): Promise<ConnectError> {
  return connect(target, options).then(
    async (client) => {
      await client.close();
      throw new Error("It has connected");
    },
    (error: unknown) => error as ConnectError,
  );
}

async function tcpServer(take: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => take(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
}
