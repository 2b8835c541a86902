// Questions of servers, answered over several rounds through the gateway: replayed, forged, declined, never answered.
import { afterEach, expect, it } from "vitest";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { RpcError } from "../../src/jsonrpc/errors.js";
import { Server } from "../../src/server/server.js";
import { texts } from "../interop-client/features.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const NAME = { name: { type: "string" as const } };

/** A server of sessions that asks once in a call, behind a gateway over HTTP; and how often it was called. */
async function asking(
  limits: object = {},
  authenticate?: (request: { header(name: string): string | undefined }) => string | undefined,
) {
  const counts = { called: 0, cancelled: 0, answered: 0, actions: [] as string[] };
  const upstream = new Server({ name: "up", version: "1" });
  for (const name of ["ask", "other"])
    upstream.tool(name, {
      input: { type: "object", properties: { n: { type: "integer" } } },
      async run({ n }, context) {
        counts.called++;
        context.signal.addEventListener("abort", () => counts.cancelled++);
        const { action, content } = await context.elicit({ message: `Who, for ${String(n)}?`, schema: NAME });
        counts.actions.push(action);
        counts.answered++;
        return `${action} ${String(content?.name)} ${String(n)}`;
      },
    });
  const gateway = stage.gateway({ limits });
  await gateway.mount("up", open(await stage.serve(upstream), { revision: "2025-11-25" }));
  const url = await stage.serve(gateway, authenticate === undefined ? {} : { authenticate });
  return { counts, url };
}

interface Round {
  readonly params: JsonObject;
  readonly retry: JsonObject;
}

async function firstRound(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Round> {
  const params = { name: "up__ask", arguments: { n: 1 } };
  const { result } = await stage.post(url, "tools/call", params, headers);
  expect(result).toMatchObject({ resultType: "input_required" });
  const { inputRequests, requestState } = result as { inputRequests: JsonObject; requestState: string };
  const answer = { action: "accept", content: { name: "Ada" } };
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
  return { params, retry: { ...params, inputResponses, requestState } };
}

it("a retry that comes twice gets the answer that was kept, or a refusal, and the server one call (case 4)", async () => {
  const { counts, url } = await asking();
  const { retry } = await firstRound(url);
  const once = await stage.post(url, "tools/call", retry);
  expect(JSON.stringify(once.result)).toContain("accept Ada 1");
  for (let again = 0; again < 3; again++) {
    const { result, error } = await stage.post(url, "tools/call", retry);
    if (error === undefined) expect(JSON.stringify(result)).toContain("accept Ada 1");
    else expect(error.code).toBe(-32602);
  }
  expect(counts).toMatchObject({ called: 1, answered: 1 });
});

it.each(["first", "second"])(
  "a retry that comes twice at once is answered where its connection lives (the %s dies)",
  async (dies) => {
    let goOn = (): void => undefined;
    const letGo = new Promise<void>((resolve) => (goOn = resolve));
    const seen = { running: 0, aborted: 0 };
    const upstream = new Server({ name: "up", version: "1" });
    upstream.tool("ask", {
      input: { type: "object", properties: { n: { type: "integer" } } },
      async run(_given, context) {
        context.signal.addEventListener("abort", () => seen.aborted++);
        const { content } = await context.elicit({ message: "Who?", schema: NAME });
        seen.running++;
        await letGo;
        return String(content?.name);
      },
    });
    const gateway = stage.gateway();
    // The retries whose end is of interest to the handler, and how many have died.
    const served = new Set<unknown>();
    let gone = 0;
    gateway.use((call, next) => {
      if (call.params["requestState"] === undefined) return next();
      const listen = call.whenCancelled;
      call.whenCancelled(() => void gone++);
      call.whenCancelled = (listener) => {
        served.add(call);
        listen.call(call, listener);
      };
      return next();
    });
    await gateway.mount("up", open(await stage.serve(upstream), { revision: "2025-11-25" }));
    const url = await stage.serve(gateway);
    const { retry } = await firstRound(url);
    const leave = new AbortController();
    const send = (signal?: AbortSignal) => stage.post(url, "tools/call", retry, {}, signal);
    const one = send(dies === "first" ? leave.signal : undefined);
    await expect.poll(() => seen.running).toBe(1);
    const two = send(dies === "first" ? undefined : leave.signal);
    const [dead, living] = dies === "first" ? [one, two] : [two, one];
    await expect.poll(() => served.size).toBe(2);
    leave.abort();
    await expect(dead).rejects.toThrow();
    await expect.poll(() => gone).toBe(1);
    goOn();
    expect(JSON.stringify((await living).result)).toContain("Ada");
    expect(seen).toEqual({ running: 1, aborted: 0 });
  },
);

it("a retry with another call's arguments, person, state or key is refused, and its server hears nothing (case 5)", async () => {
  const { counts, url } = await asking({}, (request) => request.header("authorization")?.slice("Bearer ".length));
  const ada = { authorization: "Bearer ada" };
  const { retry } = await firstRound(url, ada);
  const state = retry["requestState"] as string;
  const other = await asking({}, (request) => request.header("authorization")?.slice("Bearer ".length));
  const foreign = (await firstRound(other.url, ada)).retry["requestState"] as string;
  const edited = `${state.slice(0, -3)}${state.at(-3) === "A" ? "B" : "A"}${state.slice(-2)}`;
  const odd: readonly [string, JsonObject, Readonly<Record<string, string>>][] = [
    ["other arguments", { ...retry, arguments: { n: 2 } }, ada],
    ["another tool", { ...retry, name: "up__other" }, ada],
    ["another person", retry, { authorization: "Bearer bob" }],
    ["an edited state", { ...retry, requestState: edited }, ada],
    ["the state of another gateway", { ...retry, requestState: foreign }, ada],
    ["no state at all, but a text", { ...retry, requestState: "s1.AAAA" }, ada],
  ];
  for (const [what, params, headers] of odd) {
    const { error } = await stage.post(url, "tools/call", params, headers);
    expect([what, error?.code]).toEqual([what, -32602]);
  }
  expect(counts).toMatchObject({ called: 1, answered: 0 });
  // None of them has used it up.
  expect(JSON.stringify((await stage.post(url, "tools/call", retry, ada)).result)).toContain("accept Ada 1");
  expect(counts).toMatchObject({ called: 1, answered: 1 });
});

it("a person who never comes back leaves nothing behind: the server's call is cancelled, a late retry is refused (case 8)", async () => {
  const { counts, url } = await asking({ parkedMs: 50 });
  const { retry } = await firstRound(url);
  while (counts.cancelled === 0) await new Promise((resolve) => setImmediate(resolve));
  expect((await stage.post(url, "tools/call", retry)).error).toMatchObject({ code: -32602 });
  expect(counts.called).toBe(1);
});

it("what a client declines reaches the server as that, and what it refuses ends the call in words (case 10)", async () => {
  const question = {
    method: "elicitation/create",
    params: { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: NAME } },
  };
  const up = await stage.strange({
    "tools/call": ({ params }) =>
      params["inputResponses"] === undefined
        ? { resultType: "input_required", inputRequests: { q: question }, requestState: "s" }
        : { content: [{ type: "text", text: JSON.stringify(params["inputResponses"]) }] },
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(up.url), { prefix: "" });
  const declining = await stage.client(gateway, { revision: "2025-11-25", elicit: () => ({ action: "decline" }) });
  expect(texts(await declining.call("read"))).toBe('{"q":{"action":"decline"}}');
  const before = up.asked.length;
  const refusing = await stage.client(gateway, {
    revision: "2025-11-25",
    elicit: () => {
      throw new RpcError(-1, "The user has no time");
    },
  });
  const ended = await refusing.call("read");
  expect(ended.isError).toBe(true);
  expect(texts(ended)).toMatch(/elicitation/);
  // The call was made once, and not gone on with.
  expect(up.asked.slice(before).filter(({ method }) => method === "tools/call")).toHaveLength(1);
});

it("roots that are asked for when nobody has called do not hold the server up (case 24)", async () => {
  const program = `
    let rest = "";
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    let roots, waiting;
    const tell = () => roots && waiting && say({ id: waiting, result: { content: [{ type: "text", text: roots }] } });
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const { id, method, result, error } of lines.map((line) => JSON.parse(line))) {
        if (id === "roots") { roots = JSON.stringify(result ?? error); tell(); }
        else if (method === "notifications/initialized") say({ id: "roots", method: "roots/list" });
        else if (method === "tools/call") { waiting = id; tell(); }
        else if (method === "initialize")
          say({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "d", version: "1" } } });
        else if (method === "tools/list") say({ id, result: { tools: [{ name: "read", inputSchema: { type: "object" } }] } });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no " + method } });
      }
    });`;
  const { connect } = await import("../../src/serve/connect-node.js");
  const gateway = stage.gateway();
  await gateway.mount("up", (options) =>
    connect({ command: process.execPath, args: ["-e", program] }, { ...options, verdicts: false }),
  );
  const client = await stage.client(gateway, { roots: [{ uri: "file:///home/ada", name: "home" }] });
  // Whatever it was told, it was told something, and its call is answered.
  expect(texts(await client.call("up__read"))).toMatch(/roots|code/);
});

it("pages that a server demands by an error are shown to whoever can open them, and told to the others (case 25)", async () => {
  let calls = 0;
  const elicitations = [{ mode: "url", elicitationId: "1", url: "https://example.com/sign-in", message: "Sign in" }];
  const upstream = new Server({ name: "up", version: "1" });
  upstream.tool("read", {
    run: () => {
      calls++;
      if (calls > 1) return "read";
      throw new RpcError(-32042, "Sign in first", { elicitations });
    },
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(await stage.serve(upstream), { revision: "2025-11-25" }), { prefix: "" });
  const old = await stage.client(gateway, { revision: "2025-06-18", elicit: () => ({ action: "accept" }) });
  const told = await old.call("read").then(texts, (error: unknown) => String(error));
  expect(told).toContain("https://example.com/sign-in");
  calls = 0;
  const { error, result } = await stage.post(await stage.serve(gateway), "tools/call", { name: "read", arguments: {} });
  expect(JSON.stringify(result ?? error)).toContain("https://example.com/sign-in");
});
