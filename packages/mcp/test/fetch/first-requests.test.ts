// The first requests of a fetch server: what they need is loaded while others come, and nothing is served before.
import { expect, it } from "vitest";
import { toFetch, type HttpOptions } from "../../src/entries/fetch.js";
import { LeanServer } from "../../src/entries/server.js";
import { coreOf } from "../../src/server/lean-server.js";
import { fetchRequest } from "./fetch-request.js";

function request(id: number, method: string, params: object, headers: Record<string, string> = {}): Request {
  return fetchRequest(id, method, params, { headers });
}

function call(id: number, name: string, headers: Record<string, string> = {}): Request {
  return request(id, "tools/call", { name, arguments: {} }, headers);
}

function served(options: HttpOptions = {}): { server: LeanServer; answer: ReturnType<typeof toFetch>; seen: string[] } {
  const server = new LeanServer({ name: "first", version: "1.0.0" });
  const seen: string[] = [];
  server.tool("who", { run: (_, { principal = "nobody" }) => (seen.push(principal), principal) });
  return { server, answer: toFetch(server, options), seen };
}

it("are each asked who sent them, and served in their order", async () => {
  const names = ["ada", "bob", "cyd", "dan"];
  const { answer, seen } = served({ authenticate: (head) => head.header("x-name") });
  const sent = names.map((name, id) => answer(call(id, "who", { "x-name": name })));
  const strange = answer(call(9, "who"));
  expect((await strange).status).toBe(401);
  const texts = (await Promise.all(sent.map(async (reply) => (await reply).json()))) as {
    result: { content: [{ text: string }] };
  }[];
  expect(texts.map(({ result }) => result.content[0].text)).toEqual(names);
  expect(seen).toEqual(names);
});

it("of web pages are answered with what lets them read the replies", async () => {
  const { answer } = served({ cors: true, allowedOrigins: ["https://app.example"] });
  const replies = await Promise.all([1, 2].map((id) => answer(call(id, "who", { origin: "https://app.example" }))));
  expect(replies.map(({ headers }) => headers.get("access-control-allow-origin"))).toEqual([
    "https://app.example",
    "https://app.example",
  ]);
});

/** One that needs scopes although nobody has any: no registration leads there, so that the entry itself is changed. */
function withSecret(): ReturnType<typeof served> {
  const server = new LeanServer({ name: "first", version: "1.0.0" });
  const seen: string[] = [];
  server.tool("secret", { run: () => (seen.push("secret"), "told") });
  server.tool("who", { run: (_, { principal = "nobody" }) => (seen.push(principal), principal) });
  const answer = toFetch(server);
  Object.assign(coreOf(server).tools.get("secret") ?? {}, { scopes: ["write"] });
  return { server, answer, seen };
}

it("do not get what needs scopes where nobody is asked who sent them", async () => {
  const { answer, seen } = withSecret();
  const [refused, open] = await Promise.all([answer(call(1, "secret")), answer(call(2, "who"))]);
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
    403,
    expect.stringContaining('scope="write"'),
  ]);
  expect(open.status).toBe(200);
  expect(seen).toEqual(["nobody"]);
});

it("are not led to what needs scopes by middleware either", async () => {
  const { server, answer, seen } = withSecret();
  server.use((call, next) => {
    call.redirect({ ...call.params, name: "secret" });
    return next();
  });
  const { error } = (await (await answer(call(1, "who"))).json()) as { error: { message: string } };
  expect(error.message).toBe("This needs the scopes write");
  expect(seen).toEqual([]);
});

it("have nothing that needs scopes to ask for, where it is registered while nobody is asked who sent them", async () => {
  const { server, answer } = served();
  const secret = { scopes: ["write"], run: () => "told" };
  const told = '"secret" needs scopes, but nobody says who is asking over HTTP: give "authorization", or an ';
  expect(() => server.tool("secret", secret)).toThrow(told);
  const open = server.tool("open", { run: () => "told" });
  expect(() => open.update({ scopes: ["write"] })).toThrow('"open" needs scopes, but nobody says');
  const away = new LeanServer({ name: "away", version: "1.0.0" });
  const kept = away.tool("secret", secret);
  kept.disable();
  toFetch(away);
  expect(() => kept.enable()).toThrow(told);
  expect(() => toFetch(server, { authenticate: () => "ada" })).not.toThrow();
  expect(() => server.tool("secret", secret)).toThrow(told);
  await answer.close();
  server.tool("secret", secret);
});

it("whose body was read before are answered that it was, and the developer is told", async () => {
  const reports: string[] = [];
  const server = new LeanServer({
    name: "first",
    version: "1.0.0",
    report: (_, message) => void reports.push(message),
  });
  server.tool("who", { run: () => "nobody" });
  const answer = toFetch(server);
  const used = call(1, "who");
  await used.text();
  const locked = call(2, "who");
  locked.body?.getReader();
  for (const request of [used, locked]) {
    const reply = await answer(request);
    const text = await reply.text();
    expect([reply.status, text]).toEqual([500, expect.stringContaining("was read already")]);
    expect(reports.pop()).toBe(text);
  }
  const kept = call(3, "who");
  const clone = kept.clone();
  await kept.text();
  expect((await answer(clone)).status).toBe(200);
});

it("that listen hear of what changes from their acknowledgement on", async () => {
  const { server, answer } = served();
  const notifications = { toolsListChanged: true };
  const reply = await answer(request(1, "subscriptions/listen", { notifications }));
  const reader = (reply.body as ReadableStream<Uint8Array>).getReader();
  const next = async (): Promise<string> => Buffer.from((await reader.read()).value ?? []).toString();
  expect(await next()).toContain("notifications/subscriptions/acknowledged");
  server.tool("later", { run: () => "" });
  expect(await next()).toContain("notifications/tools/list_changed");
  await answer.close();
});
