// Puts servers behind the product, all of them under one policy, and asks it by the official clients of both generations what
// they are answered without it: the list of tools, a call, and an error must be the same.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { COMMAND } from "./ask-server.mjs";
import { approveServers } from "../scripts/lib/approve-servers.mjs";

/** A server behind the wall starts within this, on a busy machine too. */
const START_MS = 120_000;
/** All of them are started, one after the other. */
const REVIEW_MS = 600_000;
/** Servers asked directly at the same time. */
const AT_ONCE = 3;
/** Longer names are cut, with a fingerprint at the end. */
const LONGEST_NAME = 60;
const QUOTED = 300;
const CLIENT = { name: "world", version: "1.0.0" };
/** Some servers list more to a client that can be asked something; the gateway reads their lists as one that can. */
const ABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
/** What an entry lets its server ask: all that the clients can, or servers that ask would list less. */
const MAY_ASK = JSON.stringify(Object.keys(ABILITIES));
const OFFICIAL = { v1: [ClientV1, StdioV1], v2: [ClientV2, StdioV2] };

/**
 * Rows for servers that were started in folders of their own: `{ name, start, allowed }`. A row has `misses`, what is answered
 * otherwise through the gateway.
 */
export async function askGateway(servers, scratch) {
  const named = servers.map((server, index) => ({ ...server, id: `s${index}` }));
  const direct = new Map();
  const waiting = named.values();
  const one = async () => {
    for (const { id, start } of waiting) direct.set(id, await directly(start));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  const policy = join(scratch, "gateway.yaml");
  writeFileSync(policy, policyText(named, []), { mode: 0o600 });
  const env = { PATH: process.env.PATH, HOME: join(scratch, "home-of-gateway") };
  const reviewed = approveServers(COMMAND, policy, { env, timeout: REVIEW_MS });
  // They are judged by whether they answer the same; whether a description pleads too much is another question.
  const findings = [...reviewed.stdout.matchAll(/^ {2}hard {2}(\S+)/gm)].map(([, id]) => id);
  writeFileSync(policy, policyText(named, [...new Set(findings)]), { mode: 0o600 });
  const through = { command: process.execPath, args: [COMMAND, "--policy", policy], env };
  const rows = new Map(named.map(({ id, name, start }) => [id, { name, version: start.version, misses: [] }]));
  for (const way of Object.keys(OFFICIAL)) {
    await withClient(way, through, async (client) => {
      const all = await toolsOf(client);
      for (const { id, allowed } of named)
        rows.get(id).misses.push(...(await compare({ client, way, id, all, theirs: direct.get(id), allowed })));
    });
  }
  for (const { id } of named) {
    const row = rows.get(id);
    row.tools = direct.get(id).tools?.length;
    if (row.tools === undefined) Object.assign(row, { nobody: direct.get(id).why });
    if (row.misses.length > 0 && reviewed.code !== 0) row.misses.push(`review: ${reviewed.stderr.slice(0, QUOTED)}`);
  }
  return [...rows.values()];
}

function policyText(servers, accept) {
  const entries = servers.map(({ id, start }) => {
    const { program, args, env, folder, work } = start;
    const { PATH: _, HOME: __, ...set } = env;
    const paths = `filesystem: { readable_paths: ["${folder}/**"], allowed_paths: ["${work}/**"] }`;
    const command = JSON.stringify([process.execPath, program, ...args]);
    return `  ${id}: { command: ${command}, env: ${JSON.stringify(set)}, working_directory: "${work}", ${paths}, may_ask: ${MAY_ASK}, accept: ${JSON.stringify(accept)} }`;
  });
  return [
    'version: "1.0"',
    'tools: { allowed: ["*"], rate_limits: { default: 100000 }, timeout: 120 }',
    "output: { redact_secrets: false }",
    "sandbox: { file_mb: 512, memory_mb: 8192, processes: 512, cpu_seconds: 120 }",
    "servers:",
    ...entries,
    "",
  ].join("\n");
}

/** What the server answers the official clients itself; where they are answered differently, only its kind is compared. */
async function directly(start) {
  const target = { command: process.execPath, args: [start.program, ...start.args], env: start.env, cwd: start.work };
  try {
    const answers = {};
    for (const way of Object.keys(OFFICIAL)) {
      answers[way] = await withClient(way, target, async (client) => {
        const tools = await toolsOf(client);
        const [name, args] = start.call ?? [];
        return {
          tools,
          call: name === undefined ? undefined : await outcome(client, name, args),
          error: tools.length === 0 ? undefined : await outcome(client, wronged(tools).name, WRONG),
        };
      });
    }
    const { v1, v2 } = answers;
    const steady = (member) => isDeepStrictEqual(v1[member], v2[member]);
    return { ...v1, name: start.call, steady: { call: steady("call"), error: steady("error") } };
  } catch (error) {
    return { why: String(error?.message ?? error).slice(0, QUOTED) };
  }
}

/** Arguments that no tool takes: those with required ones say so. */
const WRONG = { "no such argument": [1] };

function wronged(tools) {
  return tools.find(({ inputSchema }) => (inputSchema.required ?? []).length > 0) ?? tools[0];
}

async function compare({ client, way, id, all, theirs, allowed = {} }) {
  if (theirs.tools === undefined) return [];
  const list = [];
  const own = new Map(all.filter(({ name }) => name.startsWith(`${id}__`)).map((tool) => [tool.name, tool]));
  const shown = (name) => outside(own, id, name);
  const missing = theirs.tools.filter(({ name }) => shown(name) === undefined).map(({ name }) => name);
  if (missing.length > 0) list.push(`${way}: not listed: ${missing.slice(0, 5).join(", ")}`);
  if (own.size > theirs.tools.length - missing.length) list.push(`${way}: lists ${own.size} tools`);
  for (const tool of theirs.tools) {
    const found = shown(tool.name);
    if (found === undefined) continue;
    const { title: _, ...rest } = found;
    // What a description says of the machine may be otherwise behind a wall, too.
    const told = allowed.gateway === undefined ? {} : { description: tool.description };
    const listed = { ...rest, title: found.title, name: tool.name, ...told };
    const same = isDeepStrictEqual(listed, { title: undefined, ...tool });
    if (!same) list.push(`${way}: ${tool.name} is listed otherwise: ${difference(found, tool)}`);
  }
  const ask = async (kind, name, args) => {
    const found = shown(name);
    if (found === undefined || theirs[kind] === undefined) return;
    const answer = await outcome(client, found.name, args);
    // What an error says of the machine may be otherwise behind a wall: `allowed.gateway` says why.
    const why = otherwise(answer, theirs[kind], theirs.steady[kind] && allowed.gateway === undefined);
    if (why !== undefined) list.push(`${way}: ${kind} of ${name}: ${why}`);
  };
  if (theirs.name !== undefined) await ask("call", ...theirs.name);
  await ask("error", wronged(theirs.tools).name, WRONG);
  return list;
}

function outside(own, id, name) {
  const whole = `${id}__${name}`;
  if (whole.length <= LONGEST_NAME) return own.get(whole);
  return [...own.values()].find((tool) => tool.title === name || tool.name.startsWith(whole.slice(0, 51)));
}

function difference(found, tool) {
  const keys = [...new Set([...Object.keys(found), ...Object.keys(tool)])].filter((key) => key !== "name");
  return keys.filter((key) => !isDeepStrictEqual(found[key], tool[key])).join(", ");
}

/** An error is a result or an error of the protocol; through the gateway it may begin with whose it is. */
function otherwise(answer, theirs, steady) {
  if (answer.failed !== theirs.failed)
    return `${answer.failed ? "fails" : "is answered"}: ${quoted(answer)}, not ${quoted(theirs)}`;
  if (answer.kinds !== theirs.kinds && !theirs.failed) return `has ${answer.kinds}, not ${theirs.kinds}`;
  if (steady && !answer.text.includes(theirs.text)) return `says ${quoted(answer)}, not ${quoted(theirs)}`;
  return undefined;
}

function quoted({ text }) {
  return JSON.stringify(text.slice(0, QUOTED));
}

async function outcome(client, name, args) {
  try {
    const { content = [], isError, structuredContent } = await client.callTool({ name, arguments: args });
    const text = content.map((block) => block.text ?? block.type).join("\n");
    const kinds = content.map(({ type }) => type).join(" ");
    return { failed: isError === true, kinds, text, structuredContent };
  } catch (error) {
    // The clients put the number of an error before its words.
    const text = String(error?.message ?? error).replace(/^MCP error -?\d+: /, "");
    return { failed: true, kinds: "", text };
  }
}

async function toolsOf(client) {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: START_MS });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

async function withClient(way, target, work) {
  const [Client, Transport] = OFFICIAL[way];
  const client = new Client(CLIENT, { capabilities: ABILITIES });
  try {
    await client.connect(new Transport({ ...target, stderr: "ignore" }), { timeout: START_MS });
    return await work(client);
  } finally {
    await client.close().catch(() => undefined);
  }
}
