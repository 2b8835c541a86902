// Profiles of a running `serve`, by path and by option, and `attach`: many clients, one set of servers.
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once } from "node:events";
import { afterAll, afterEach, beforeEach, expect, it } from "vitest";
import { RawClient, run } from "../cli/command.js";
import { runInThread } from "../cli/command-in-thread.js";
import { send, Served, toolCall } from "../serve/served.js";
import { Household, said, tool, toolNames } from "./household.js";

const house = new Household();
const notes = house.program("notes", {
  tools: [tool("born"), tool("other"), tool("slow")],
  answers: { born: "() => (globalThis.born ??= process.hrtime.bigint())", slow: "() => new Promise(() => {})" },
});
const more = house.program("more", { tools: [tool("read")] });
/** Asks without saying within which call. */
const asking = join(house.folder, "programs/asking.mjs");
copyFileSync(fileURLToPath(new URL("../../../mcp/test/gateway/asking.mjs", import.meta.url)), asking);
const clients: RawClient[] = [];

const POLICY = `version: "1.0"
tools: { allowed: ["notes__*", "more__*", "asking__*", calculate] }
servers:
  notes: { command: [node, ${notes}], ${house.readable} }
  more: { command: [node, ${more}], ${house.readable} }
  asking: { command: [node, ${asking}], ${house.readable} }
profiles:
  work: { servers: [notes], tools: { allowed: ["notes__*"], denied: [notes__other] } }
  home: { servers: [more] }
`;
beforeEach(async () => {
  house.write(POLICY);
  expect(await house.approve()).toMatchObject({ code: 0 });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  await house.closeClients();
});
afterAll(() => house.close());

function serve(...words: string[]): Served {
  return new Served(["--quiet", "--policy", house.policy, ...words], house.folder);
}

async function attached(...words: string[]): Promise<RawClient> {
  const client = new RawClient(["attach", "--policy", house.policy, ...words], { home: house.folder });
  clients.push(client);
  await client.open();
  return client;
}

const records = (): Record<string, unknown>[] =>
  readFileSync(join(house.folder, "state/mcp-secure-local/audit.log"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

it("serves each profile at its own path behind the same token", async () => {
  const served = serve();
  const url = await served.ready();
  await served.complained("the profile home at ");
  const ask = async (path: string, name: string): Promise<string> =>
    (await send(`${url}${path}`, toolCall(name, { expression: "6*7" }, served.bearer))).text;
  expect(await ask("", "calculate")).toContain("42");
  expect(await ask("/work", "calculate")).toContain("profiles.work.tools.allowed");
  expect(await ask("/work", "notes__born")).toContain('"text"');
  expect(await ask("/work", "notes__other")).toContain("The profile work denies");
  expect(await ask("/work", "more__read")).toContain("more__read");
  expect(await ask("/work", "more__read")).not.toContain("did read");
  expect(await ask("/home", "more__read")).toContain("did read");
  expect((await send(`${url}/work`, toolCall("notes__born", {}))).status).toBe(401);
  expect((await send(`${url}/nobody`, toolCall("notes__born", {}, served.bearer))).status).toBe(404);
  const calls = records().filter(({ kind }) => kind === "call.result");
  expect(calls.map(({ tool: name, profile }) => [name, profile])).toEqual([
    ["calculate", undefined],
    ["notes__born", "work"],
    ["more__read", "home"],
  ]);
  const { stdout } = await house.run(["audit", "query", "profile=work", "--json"]);
  expect(stdout).toContain("notes__born");
  expect(stdout).not.toMatch(/"profile":"home"|did read/);
});

it("takes from a profile what the policy takes from it while it runs, and all of it with the profile itself", async () => {
  const served = serve();
  const url = await served.ready();
  const ask = async (name: string): Promise<string> =>
    (await send(`${url}/work`, toolCall(name, {}, served.bearer))).text;
  expect(await ask("notes__born")).toContain('"text"');
  house.write(POLICY.replace("denied: [notes__other]", "denied: [notes__born]"));
  served.child.kill("SIGHUP");
  await served.complained("is in force");
  expect(await ask("notes__born")).toContain("The profile work denies");
  served.stderr = "";
  house.write(POLICY.replace(/profiles:[^]*/, ""));
  served.child.kill("SIGHUP");
  await served.complained("is in force");
  for (const name of ["notes__born", "notes__other", "calculate"])
    expect(await ask(name)).toContain("The profile work is not in the policy any more");
  const told = /profiles\.work: not in the policy any more/g;
  expect(served.stderr.match(told)).toHaveLength(1);
  served.child.kill("SIGHUP");
  // The file may be noticed by itself beside the signal: then it is read once more.
  await expect.poll(() => served.stderr.match(/is in force/g)?.length).toBeGreaterThanOrEqual(2);
  expect(served.stderr.match(told)).toHaveLength(1);
  house.write(POLICY);
  served.child.kill("SIGHUP");
  await expect.poll(() => ask("notes__born"), { timeout: 30_000 }).toContain('"text"');
});

it("gives each profile processes and rate limits of its own, and a new one its path with the next start", async () => {
  const limited = POLICY.replace("calculate] }", "calculate], rate_limits: { notes__born: 1 } }");
  const longer = `${limited}  late: { servers: [notes] }\n`;
  house.write(limited);
  const served = serve();
  const url = await served.ready();
  const ask = async (at: string, by = served): Promise<string> =>
    (await send(at, toolCall("notes__born", {}, by.bearer))).text;
  const born = (text: string): string | undefined => /"text":"(\d+)"/.exec(text)?.[1];
  const [own, work] = [await ask(url), await ask(`${url}/work`)];
  expect(born(own)).toBeDefined();
  expect(born(work)).toBeDefined();
  expect(born(work)).not.toBe(born(own));
  // Each has had the one call that its minute has.
  for (const at of [url, `${url}/work`]) expect(await ask(at)).toContain("Too many calls of notes__born");
  house.write(longer);
  served.child.kill("SIGHUP");
  await served.complained("is in force");
  expect((await send(`${url}/late`, toolCall("notes__born", {}, served.bearer))).status).toBe(404);
  served.child.kill("SIGTERM");
  await once(served.child, "close");
  const next = serve();
  expect(born(await ask(`${await next.ready()}/late`, next))).toBeDefined();
});

it("knows --profile in each command that asks the policy, and names those there are for one that is misspelt", async () => {
  expect((await house.run(["tools", "--profile", "work"])).stdout).toMatch(/notes__born/);
  expect((await house.run(["tools", "--profile", "work"])).stdout).not.toMatch(/calculate|more__|notes__other/);
  const called = await house.run(["call", "calculate", "expression=1+1", "--profile", "work"]);
  expect(called.code).not.toBe(0);
  expect(`${called.stdout}${called.stderr}`).toContain("profiles.work.tools.allowed");
  const explained = await house.run(["policy", "explain", "notes__other", "--profile", "work"]);
  expect(explained.stdout).toMatch(/denied[^]*profiles\.work\.tools\.denied: notes__other \(.*policy\.yaml:8:/);
  const printed = await house.run(["install", "cursor", "--print", "--attach", "--profile", "work"]);
  expect(printed.stdout).toMatch(/"attach",\s+"--policy",\s+".*policy\.yaml",\s+"--profile",\s+"work"/);
  const wrong = await house.run(["tools", "--profile", "wrok"]);
  expect(wrong).toMatchObject({ code: 2 });
  expect(wrong.stderr).toContain('there is no profile "wrok"; did you mean "work"?');
  const client = new RawClient(["--policy", house.policy, "--profile", "work"], { home: house.folder });
  clients.push(client);
  await client.open();
  expect(await toolNames(client)).toEqual(["notes__born", "notes__slow"]);
});

it("joins many clients to one set of servers, over a socket that nobody else can open", async () => {
  const served = serve();
  await served.ready();
  const folder = join(house.folder, "state/mcp-secure-local/run");
  const [first, ...others] = await Promise.all(Array.from({ length: 10 }, () => attached()));
  const born = await said(first as RawClient, "notes__born");
  expect(Number(born)).toBeGreaterThan(0);
  expect(await Promise.all(others.map((client) => said(client, "notes__born")))).toEqual(others.map(() => born));
  const sockets = readdirSync(folder).filter((name) => name.endsWith(".attach"));
  expect(sockets).toHaveLength(1);
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(statSync(join(folder, sockets[0] as string)).mode & 0o077).toBe(0);
  const work = await attached("--profile", "work");
  expect(await toolNames(work)).toEqual(["notes__born", "notes__slow"]);
  served.child.kill("SIGTERM");
  await once(served.child, "close");
  expect(existsSync(join(folder, sockets[0] as string))).toBe(false);
});

it("puts no question to another of the clients without sessions that are attached, and none on record as another call's", async () => {
  const served = serve();
  await served.ready();
  const [a, b] = [0, 1].map(() => {
    const client = new RawClient(["attach", "--policy", house.policy], { home: house.folder });
    clients.push(client);
    return client;
  }) as [RawClient, RawClient];
  const meta = "io.modelcontextprotocol/";
  const _meta = {
    [`${meta}protocolVersion`]: "2026-07-28",
    [`${meta}clientInfo`]: { name: "alike", version: "1" },
    [`${meta}clientCapabilities`]: { elicitation: { form: {} } },
  };
  const call = async (client: RawClient, name: string, tag: string): Promise<string> =>
    JSON.stringify(await client.request("tools/call", { name: `asking__${name}`, arguments: { tag }, _meta }));
  expect(await call(a, "later", "of A")).toContain("later");
  // A's call is over, and B's alone is under way.
  expect(await call(b, "fire", "")).toContain("of A -> refused");
  for (const [client, tag] of [
    [a, "of A"],
    [b, "of B"],
  ] as const)
    expect(await call(client, "ask", tag)).toMatch(new RegExp(`input_required.*The server asking asks: ${tag}`));
  const asked = records().filter(({ kind }) => kind === "server.asked");
  const calls = records().filter(({ kind, tool: name }) => kind === "call.intent" && name === "asking__ask");
  expect(asked.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
});

it("goes on when the server is started anew, and says what to do while there is none", async () => {
  const before = serve();
  await before.ready();
  const client = await attached();
  const born = await said(client, "notes__born");
  const open = said(client, "notes__slow");
  before.child.kill("SIGKILL");
  await once(before.child, "close");
  expect(await open).toMatch(/it may have served the request.*mcp-secure-local serve --policy/s);
  expect(await said(client, "notes__born")).toMatch(/did not answer.*Start it, and leave it running/s);
  const after = serve();
  await after.ready();
  const again = await said(client, "notes__born");
  expect(Number(again)).toBeGreaterThan(0);
  expect(again).not.toBe(born);
  expect(await client.close()).toBe(0);
});

it("answers every request with what to do while nothing runs to attach to, and goes on once something does", async () => {
  const client = new RawClient(["attach", "--policy", house.policy], { home: house.folder });
  try {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    for (const [method, given] of [
      ["initialize", params],
      ["tools/list", {}],
      ["ping", {}],
    ] as const) {
      const { error } = (await client.request(method, given)) as { error: { message: string } };
      expect(error.message).toContain(
        "Not run: there is no running server to attach to. Start it, and leave it running:",
      );
    }
    const after = serve();
    await after.ready();
    expect(await client.request("initialize", params)).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
  } finally {
    await client.close();
  }
});

it("advises nothing for a profile that there is not", async () => {
  const ran = await house.run(["attach", "--profile", "wrk"]);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(`${house.policy}: there is no profile "wrk"; did you mean "work"?`);
  expect(ran.stderr).not.toContain("Start it");
});

it("does not begin where nothing runs to attach to", async () => {
  const ran = await run(["attach", "--policy", house.policy], { home: house.folder });
  expect(ran).toMatchObject({ code: 4, stdout: "" });
  expect(ran.stderr).toContain(`Start it, and leave it running: mcp-secure-local serve --policy ${house.policy}`);
});

it.each([
  [["attach"], "let the client start this program itself: mcp-secure-local install CLIENT"],
  [["install", "cursor", "--attach"], "let the client start this program itself: mcp-secure-local install CLIENT"],
  [["servers", "restart", "notes"], "end and start again what runs by"],
  [["servers", "stop", "notes"], "write enabled: false into its entry"],
])("%j says on Windows that it is not to be had there, and what to do instead", async (words, instead) => {
  const { platform } = process;
  Object.defineProperty(process, "platform", { value: "win32" });
  try {
    const ran = await runInThread([...words, "--policy", house.policy], { home: house.folder });
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toMatch(
      /^mcp-secure-local: .* on Windows, where there is no socket that only you can open; .*\n$/,
    );
    expect(ran.stderr).toContain(instead);
  } finally {
    Object.defineProperty(process, "platform", { value: platform });
  }
});
