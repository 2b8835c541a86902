// Who may use what: sessions belong to who opened them, and no byte of one client reaches another.
import { describe, expect, it } from "vitest";
import { LocalError } from "../../src/jsonrpc/errors.js";
import { Server } from "../../src/server/server.js";
import {
  call,
  events,
  gate,
  JSON_TYPES,
  modern,
  modernHeaders,
  OpenStream,
  post,
  send,
  session,
  start,
  testServer,
} from "./http-fixture.js";
import { repeated } from "../support/soak.js";
import { anonymous } from "@secure-local/mcp/http";

const USERS = ["ada", "bob"] as const;

function byToken(request: {
  header(name: string): string | undefined;
}): string | { status: number; headers: Record<string, string> } {
  const user = /^Bearer (\w+)$/.exec(request.header("authorization") ?? "")?.[1];
  return user !== undefined && (USERS as readonly string[]).includes(user)
    ? user
    : { status: 401, headers: { "www-authenticate": "Bearer" } };
}

const as = (user: string): Record<string, string> => ({ authorization: `Bearer ${user}` });

describe("authenticate", () => {
  it("names the principal for handlers, in both eras, at once or later", async () => {
    const { url } = await start(testServer(), { authenticate: async (request) => byToken(request) });
    const opened = await session(url, "2025-11-25", { headers: as("ada") });
    expect((await opened.post(call("who"))).text).toContain("ada");
    const message = modern("tools/call", { name: "who" });
    expect((await post(url, message, { ...modernHeaders(message), ...as("bob") })).text).toContain("bob");
  });

  it("leaves handlers the headers of the request being served, in both eras", async () => {
    const server = new Server({ name: "t", version: "1" });
    server.tool("tenant", { run: (_, ctx) => `of ${ctx.header("X-Tenant") ?? "nobody"}` });
    const { url } = await start(server);
    const opened = await session(url, "2025-11-25", { headers: { "x-tenant": "blue" } });
    expect((await opened.post(call("tenant"))).text).toContain("of blue");
    const message = modern("tools/call", { name: "tenant" });
    expect((await post(url, message, { ...modernHeaders(message), "x-tenant": "red" })).text).toContain("of red");
    expect((await post(url, message, modernHeaders(message))).text).toContain("of nobody");
  });

  it("keeps the tasks of one program from the others of its principal", async () => {
    const server = new Server({ name: "t", version: "1" });
    server.tool("job", { task: "optional", run: () => "of program one" });
    const { url } = await start(server, {
      authenticate: (request) => ({
        identity: { principal: "ada", scopes: [], program: request.header("x-program") ?? "" },
      }),
    });
    const [one, other] = await Promise.all(
      ["one", "other"].map((program) => session(url, "2025-11-25", { headers: { "x-program": program } })),
    );
    const begun = await one?.post({ ...call("job"), params: { name: "job", arguments: {}, task: {} } });
    const taskId = /"taskId":"([^"]+)"/.exec(begun?.text ?? "")?.[1] ?? "";
    const ask = (method: string, id: number) => ({ jsonrpc: "2.0", id, method, params: { taskId } });
    for (const [at, method] of ["tasks/get", "tasks/result", "tasks/cancel"].entries())
      expect([method, (await other?.post(ask(method, 10 + at)))?.text]).toEqual([
        method,
        expect.stringContaining("-32602") as string,
      ]);
    const list = { jsonrpc: "2.0", id: 20, method: "tasks/list", params: {} };
    expect((await other?.post(list))?.text).not.toContain(taskId);
    expect((await one?.post(list))?.text).toContain(taskId);
    expect((await one?.post(ask("tasks/result", 21)))?.text).toContain("of program one");
  });

  it("ends what one principal has open and running, whatever it is, and nothing of another", async () => {
    const server = new Server({ name: "t", version: "1" });
    const begun: (() => void)[] = [];
    server.tool("long", {
      run: (_, ctx) => {
        begun.shift()?.();
        return new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve("cancelled")));
      },
    });
    const serving = await start(server, { authenticate: byToken, sse: true });
    const { url } = serving;
    /** What somebody has: a session with a stream and a call, a call by itself, a listen, and the older transport. */
    const everything = async (user: string) => {
      const opened = await session(url, "2025-11-25", { headers: as(user) });
      const accept = { accept: "text/event-stream", ...as(user) };
      const standing = new OpenStream(url, { headers: { ...opened.headers, ...accept } });
      const older = new OpenStream(new URL("/sse", url).href, { headers: accept });
      const listen = modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
      const listening = new OpenStream(url, {
        method: "POST",
        headers: { ...JSON_TYPES, ...modernHeaders(listen), ...as(user) },
        body: JSON.stringify(listen),
      });
      await Promise.all([standing.opened, older.opened, listening.opened]);
      const running = gate();
      begun.push(running.open);
      const alone = modern("tools/call", { name: "long" });
      const answer = post(url, alone, { ...modernHeaders(alone), ...as(user) });
      await running.opened;
      return { opened, streams: [standing, older, listening], answer };
    };
    const [ada, bob] = [await everything("ada"), await everything("bob")];
    await serving.endSessions((principal) => principal === "bob");
    await Promise.all(bob.streams.map(({ ended }) => ended));
    expect((await bob.answer).text).toContain("error");
    expect((await bob.opened.post({ jsonrpc: "2.0", id: 9, method: "ping" })).status).toBe(404);
    expect((await ada.opened.post({ jsonrpc: "2.0", id: 9, method: "ping" })).status).toBe(200);
    const open = await Promise.race([
      ...ada.streams.map(({ ended }) => ended.then(() => "ended")),
      ada.answer.then(() => "answered"),
      new Promise((resolve) => setTimeout(resolve, 100, "open")),
    ]);
    expect(open).toBe("open");
    await serving.endSessions(() => true);
    await Promise.all([...ada.streams.map(({ ended }) => ended), ada.answer]);
  });

  it("refuses with its own status and headers, before the body is read", async () => {
    const { url } = await start(testServer(), { authenticate: byToken });
    const refused = await post(url, "{ not read");
    expect([refused.status, refused.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
  });

  it("that finds nobody refuses with 401; who may come without a name is let in by `anonymous`", async () => {
    for (const nobody of [undefined, null, "", false as never]) {
      const { url } = await start(testServer(), { authenticate: () => nobody });
      const refused = await post(url, "{ not read");
      expect([refused.status, refused.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    }
    const { url } = await start(testServer(), { authenticate: () => anonymous });
    const message = modern("tools/call", { name: "who" });
    expect((await post(url, message, modernHeaders(message))).status).toBe(200);
  });

  it("that returns an object of neither kind refuses with 500, and the log says what to return", async () => {
    const told: string[] = [];
    const server = testServer({ report: (_level, _message, details) => told.push(String(details?.["error"])) });
    const { url } = await start(server, { authenticate: () => ({ id: 7, name: "ada" }) as never });
    expect((await post(url, modern("tools/list"))).status).toBe(500);
    expect(told[0]).toContain("return the name of the user");
  });

  it("that throws refuses with 500 and tells only the log", async () => {
    const told: string[] = [];
    const server = testServer({ report: (_, message) => told.push(message) });
    const { url } = await start(server, {
      authenticate: () => {
        throw new LocalError("SECRET", "the key is 123");
      },
    });
    const refused = await post(url, modern("tools/list"));
    expect([refused.status, refused.text.includes("123"), told.length]).toEqual([500, false, 1]);
  });
});

describe("a foreign session", () => {
  it("is not found, whatever is done with it", async () => {
    const server = testServer();
    const { url } = await start(server, { authenticate: byToken });
    const ada = await session(url, "2025-11-25", { headers: as("ada") });
    const hers = await ada.post(call("steps", {}, 1, { progressToken: 1 }));
    const last = events(hers.text).at(-2)?.id as string;
    const asBob = { ...ada.headers, ...as("bob") };
    const messages = [
      "tools/list",
      "tools/call",
      "resources/list",
      "resources/read",
      "resources/subscribe",
      "prompts/list",
      "prompts/get",
      "logging/setLevel",
      "completion/complete",
      "ping",
      "initialize",
      "no/such",
      "tasks/get",
      "tasks/list",
      "server/discover",
    ].map((method) => ({ jsonrpc: "2.0", id: 1, method, params: {} }));
    const notifications = [
      "notifications/cancelled",
      "notifications/initialized",
      "notifications/progress",
      "notifications/roots/list_changed",
      "$/cancelRequest",
    ].map((method) => ({ jsonrpc: "2.0", method, params: { requestId: 1, id: 1 } }));
    const responses = [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } },
    ];
    for (const message of [...messages, ...notifications, ...responses, [], [call("who")], "{", "1"]) {
      const theirs = await post(url, message, asBob);
      const nobodys = await post(url, message, { ...asBob, "mcp-session-id": "A".repeat(43) });
      expect([theirs.status, theirs.text]).toEqual([404, nobodys.text]);
    }
    const gets = [{}, { "last-event-id": last }, { "last-event-id": "1-0" }, { "last-event-id": "9-9" }];
    for (const extra of gets)
      expect((await send(url, { method: "GET", headers: { ...asBob, ...extra } })).status).toBe(404);
    expect((await send(url, { method: "DELETE", headers: asBob })).status).toBe(404);
    expect((await send(url, { method: "DELETE", headers: ada.headers })).status).toBe(204);
  });
});

const CLIENTS = Number(process.env["MCP_HTTP_CLIENTS"] ?? repeated(8, 200));
const CALLS = Number(process.env["MCP_HTTP_CALLS"] ?? 10);

it(`${CLIENTS} clients with equal ids hear only what is theirs, one in ten calls cancelled`, async () => {
  const server = new Server({ name: "t", version: "1" });
  server.tool("mine", {
    input: {
      type: "object",
      properties: { secret: { type: "string" }, wait: { type: "boolean" } },
      required: ["secret"],
    },
    async run({ secret, wait }, ctx) {
      await ctx.progress(1, 2, secret);
      if (wait === true) await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      else await new Promise((resolve) => setImmediate(resolve));
      return secret;
    },
  });
  const { url } = await start(server);
  const crossed: string[] = [];
  const client = async (number: number): Promise<void> => {
    const opened = await session(url);
    for (let id = 1; id <= CALLS; id++) {
      const secret = `<${number}>`;
      const wait = id % 10 === 0;
      const asked = opened.post(call("mine", { secret, wait }, id, { progressToken: 1 }));
      if (wait) {
        const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } };
        const over = { yet: false };
        const ended = (): unknown => (over.yet = true);
        void asked.then(ended, ended);
        while (!over.yet) await opened.post(cancel);
      }
      const { text } = await asked;
      const seen = text.match(/<\d+>/g) ?? [];
      if (seen.some((one) => one !== secret) || (!wait && seen.length !== 2)) crossed.push(text);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  expect(crossed).toEqual([]);
});

const DISCONNECTS = Number(process.env["MCP_HTTP_DISCONNECTS"] ?? repeated(10, 300));

it(`${DISCONNECTS} disconnects in mid-stream leave nothing running`, async () => {
  const server = new Server({ name: "t", version: "1" });
  let running = 0;
  server.tool("long", {
    async run(_, ctx) {
      running++;
      await ctx.progress(1);
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      running--;
    },
  });
  const { url } = await start(server);
  const message = modern("tools/call", { name: "long" }, { progressToken: 1 });
  const one = async (): Promise<void> => {
    const stream = new OpenStream(url, {
      method: "POST",
      headers: { ...JSON_TYPES, ...modernHeaders(message) },
      body: JSON.stringify(message),
    });
    await stream.until(({ text }) => text.includes("progress"));
    stream.close();
  };
  for (let left = DISCONNECTS; left > 0; left -= 50) await Promise.all(Array.from({ length: Math.min(left, 50) }, one));
  await expect.poll(() => running).toBe(0);
});

it("in a session a client that goes away cancels nothing", async () => {
  const server = testServer();
  const waiting = gate();
  const ended = gate<boolean>();
  server.tool("long", {
    async run(_, ctx) {
      await ctx.progress(1);
      await waiting.opened;
      ended.open(ctx.signal.aborted);
    },
  });
  const { url } = await start(server);
  const opened = await session(url);
  const body = JSON.stringify(call("long", {}, 1, { progressToken: 1 }));
  const stream = new OpenStream(url, { method: "POST", headers: { ...JSON_TYPES, ...opened.headers }, body });
  await stream.until(({ text }) => text.includes("progress"));
  stream.close();
  await stream.ended;
  await opened.post({ jsonrpc: "2.0", id: 2, method: "ping" });
  waiting.open();
  expect(await ended.opened).toBe(false);
});
