// Asks one server what every client asks: by the official clients of both generations, by ours, and by the product's
// commands; and says where we do worse.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { connect } from "@secure-local/mcp/client/node";
import { runProgram } from "./run-program.mjs";

export const COMMAND = fileURLToPath(new URL("../packages/secure-local/dist/mcp-secure-local.cjs", import.meta.url));
/** A server that is installed starts within this, on a busy machine too. */
const START_MS = 60_000;
/** A server that nobody is known to start here is waited for as long as it takes to see that this is still so. */
const HOPELESS_MS = 15_000;
/** A dozen starts of the server, some of which wait for what it does not do. */
const DOCTOR_MS = 300_000;
/** Starts are timed this often, each client in turn; the median counts. */
const TIMED = 3;
/** What is quoted of an error. */
const QUOTED = 200;
const CLIENT = { name: "world", version: "1.0.0" };

/** What came of one server; `start` is { program, args, env, policy, scratch }. */
export async function askServer(start, { call, doctor, hopeless = false }) {
  const limit = hopeless ? HOPELESS_MS : START_MS;
  const row = { sdkV1: await listed(() => byOfficial(ClientV1, StdioV1, start, limit)) };
  row.sdkV2 = await listed(() => byOfficial(ClientV2, StdioV2, start, limit));
  row.ours = await listed(() => byOurs(start, limit));
  if (hopeless && !row.sdkV1.ok && !row.sdkV2.ok) return row;
  row.inspect = await byInspect(start);
  if (call !== undefined && row.sdkV1.ok) row.call = await sameCall(start, call);
  if (doctor) row.doctor = (await command(["doctor", "--json"], start, { timeoutMs: DOCTOR_MS })).code ?? "no end";
  if (row.ours.ok) {
    row.replay = await replayed(start, join(start.scratch, "session.jsonl"));
    row.sandbox = await sandboxed(start);
  }
  return row;
}

/** In words, where we do worse than an official client, or than ourselves; empty when nowhere. */
export function misses({ sdkV1, sdkV2, ours, inspect, call, replay, sandbox }, allowed = {}) {
  const list = [];
  const counts = [sdkV1, sdkV2].filter(({ ok }) => ok).map(({ tools }) => tools);
  if (counts.length > 0 && !ours.ok) list.push(`our client: ${ours.why}`);
  if (counts.length > 0 && ours.ok && !counts.includes(ours.tools))
    list.push(`${ours.tools} tools, not ${counts.join(" or ")}`);
  if (counts.length > 0 && inspect.code !== 0) list.push(`inspect: exit ${inspect.code}: ${inspect.why}`);
  if (call !== undefined && call !== "same") list.push(`call: ${call}`);
  if (replay !== undefined && replay !== "same") list.push(`replay: ${replay}`);
  if (sandbox !== undefined && sandbox !== "ok" && allowed.sandbox === undefined) list.push(`sandbox: ${sandbox}`);
  return list;
}

/** Milliseconds from the start of the program to its list of tools: SDK v2's client and ours, in turn. */
export async function medians(start) {
  const times = { sdkV2: [], ours: [] };
  for (let round = 0; round < TIMED; round += 1) {
    times.sdkV2.push((await listed(() => byOfficial(ClientV2, StdioV2, start, START_MS))).ms);
    times.ours.push((await listed(() => byOurs(start, START_MS))).ms);
  }
  const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
  return { sdkV2: median(times.sdkV2), ours: median(times.ours) };
}

/** What `ask` answers, with the time until then; what came after (the end of the server) is not counted. */
async function listed(ask) {
  try {
    return { ok: true, ...(await ask()) };
  } catch (error) {
    return { ok: false, why: quoted(String(error?.message ?? error)) };
  }
}

async function byOfficial(Client, Transport, { program, args, env }, timeout) {
  const began = performance.now();
  const client = new Client(CLIENT);
  const transport = new Transport({ command: process.execPath, args: [program, ...args], env, stderr: "ignore" });
  try {
    await client.connect(transport, { timeout });
    let tools = 0;
    let cursor;
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout });
      tools += page.tools.length;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return { tools, ms: performance.now() - began };
  } finally {
    await client.close().catch(() => undefined);
  }
}

async function byOurs({ program, args, env }, timeout) {
  const began = performance.now();
  const target = { command: process.execPath, args: [program, ...args], env };
  const client = await connect(target, { connectTimeoutMs: timeout, timeoutMs: timeout, verdicts: noVerdicts() });
  try {
    const tools = await counted(client.tools());
    const ms = performance.now() - began;
    // What a server says it has it may still refuse to list: that is no reason to do without its tools.
    const resources = client.capabilities.resources ? await counted(client.resources()).catch(() => 0) : 0;
    return { tools, resources, ms, revision: client.revision };
  } finally {
    await client.close();
  }
}

/** Each start finds out by itself what is spoken, as a new process of a user does. */
function noVerdicts() {
  return { get: () => undefined, set: () => undefined, delete: () => undefined };
}

async function counted(listing) {
  let count = 0;
  // eslint-disable-next-line no-unused-vars -- they are only counted
  for await (const _ of listing) count += 1;
  return count;
}

/** One of the product's commands on the server, which gets exactly these variables. */
function command(words, { program, args, env }, options = {}) {
  const set = variables(env);
  return runProgram(process.execPath, [COMMAND, ...words, ...set, "--", process.execPath, program, ...args], options);
}

function variables(env) {
  return Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
}

async function byInspect(start) {
  const { code, stderr } = await command(["inspect", "--json"], start);
  return { code, ...(code === 0 ? {} : { why: quoted(stderr) }) };
}

/** The same call by the official client and by our command: both serve it or both report an error, in as many blocks. */
async function sameCall(start, [name, parameters]) {
  const { program, args, env } = start;
  const client = new ClientV1(CLIENT);
  await client.connect(new StdioV1({ command: process.execPath, args: [program, ...args], env, stderr: "ignore" }), {
    timeout: START_MS,
  });
  const theirs = await client.callTool({ name, arguments: parameters }).finally(() => client.close());
  const ours = await command(["call", "--json", "--yes", name, JSON.stringify(parameters)], start);
  if ((ours.code === 0) === (theirs.isError === true)) return `exit ${ours.code}: ${quoted(ours.stderr)}`;
  const blocks = JSON.parse(ours.stdout).content.length;
  return blocks === theirs.content.length ? "same" : `${blocks} blocks, not ${theirs.content.length}`;
}

/** What the server says is recorded, and said again without the server. */
async function replayed(start, file) {
  const recorded = await tools(["record", "--force", file], start);
  const replay = ["tools", "--json", "--", process.execPath, COMMAND, "replay", file];
  const again = await runProgram(process.execPath, [COMMAND, ...replay]);
  if (recorded.code !== 0) return `recording failed: ${quoted(recorded.stderr)}`;
  if (again.code !== 0) return `the recording does not answer: ${quoted(again.stderr)}`;
  return recorded.stdout === again.stdout ? "same" : "the recording answers something else";
}

/** The product's own client on the server, which stands behind another of the product's commands. */
function tools(words, { program, args, env }) {
  const set = variables(env);
  const through = [process.execPath, COMMAND, ...words, ...set, "--", process.execPath, program, ...args];
  return runProgram(process.execPath, [COMMAND, "tools", "--json", ...set, "--", ...through]);
}

/** Behind the wall it has the home that the wall gives it, and no other. */
async function sandboxed(start) {
  const { HOME: _, ...env } = start.env;
  const { code, stderr } = await tools(["sandbox", "--policy", start.policy], { ...start, env });
  return code === 0 ? "ok" : quoted(stderr) || `exit ${code}`;
}

function quoted(text) {
  return text.trim().replaceAll(/\s+/g, " ").slice(-QUOTED);
}
