#!/usr/bin/env node
// Runs other people's servers: with the official SDK, unmodified on `@secure-local/mcp/compat`, as `mcp-secure-local migrate`
// rewrites them, and those with `own` in the list as `migrate --own` does. Compares what the official client is answered:
// lists, calls and errors. A word as argument runs only servers with it in the name.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { installed, programOf } from "../world/install.mjs";
import { connect } from "../packages/mcp/dist/client-node.js";

const alias = fileURLToPath(new URL("compat/alias.mjs", import.meta.url));
const servers = JSON.parse(readFileSync(new URL("compat/servers.json", import.meta.url), "utf8"));
/** A server that reads its files from a slow disk. */
const TIMEOUT_MS = 60_000;
const verbose = process.argv.includes("--verbose");
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));

/** How to start a server: as its package does, or with its SDK taken from us. */
function commandOf(row, folder, scratch, how) {
  const ours = how === "alias";
  const fill = (value) => JSON.parse(JSON.stringify(value ?? null).replaceAll("{scratch}", scratch));
  const original = programOf(folder, row.package, row.bin);
  const rewritten = how === "migrated" || how === "own";
  const program = rewritten ? migratedProgram({ row, folder, program: original, how }) : original;
  return {
    command: process.execPath,
    args: [...(ours ? ["--import", alias] : []), program, ...(fill(row.args) ?? [])],
    env: { PATH: process.env.PATH, HOME: scratch, ...fill(row.env), ...(ours ? { MCP_COMPAT_ALIAS: "yes" } : {}) },
    cwd: scratch,
    calls: fill(row.calls),
  };
}

/** The program in a copy of its package whose imports were rewritten. */
function migratedProgram({ row, folder, program, how }) {
  const modules = join(folder, "node_modules");
  const copy = join(modules, `.${how}`, row.package);
  rmSync(copy, { recursive: true, force: true });
  cpSync(join(modules, row.package), copy, { recursive: true, filter: (path) => !path.endsWith("node_modules") });
  const own = join(modules, row.package, "node_modules");
  if (existsSync(own)) symlinkSync(own, join(copy, "node_modules"));
  mkdirSync(join(modules, "@secure-local"), { recursive: true });
  rmSync(join(modules, "@secure-local/mcp"), { force: true });
  symlinkSync(fileURLToPath(new URL("../packages/mcp", import.meta.url)), join(modules, "@secure-local/mcp"));
  const inside = program.slice(join(modules, row.package).length + 1);
  const sources = join(copy, inside.includes("/") ? inside.split("/")[0] : ".");
  const command = fileURLToPath(new URL("../packages/secure-local/dist/mcp-secure-local.cjs", import.meta.url));
  const words = ["migrate", ...(how === "own" ? ["--own"] : []), sources];
  const { stdout, stderr, status } = spawnSync(process.execPath, [command, ...words], { encoding: "utf8" });
  if (verbose) console.log(stdout);
  if (status === 2) throw new Error(stderr);
  if (how === "own") for (const edit of row.byHand ?? []) editByHand(sources, edit);
  return join(copy, inside);
}

/** What `migrate --own` leaves to a person, as the person would write it. */
function editByHand(folder, { file, from, to }) {
  const path = join(folder, file);
  const before = readFileSync(path, "utf8");
  const after = before.replace(new RegExp(from, "s"), () => to);
  if (after === before) throw new Error(`${file} has no ${from}`);
  writeFileSync(path, after);
}

function officialClient() {
  const client = new Client(
    { name: "compare", version: "1.0.0" },
    { capabilities: { elicitation: {}, sampling: {}, roots: { listChanged: true } } },
  );
  client.setRequestHandler(ElicitRequestSchema, async () => ({
    action: "accept",
    content: { name: "Ada", check: true },
  }));
  const said = { role: "assistant", content: { type: "text", text: "hi" }, model: "m" };
  client.setRequestHandler(CreateMessageRequestSchema, async () => said);
  client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [] }));
  return client;
}

/** Everything that is asked of a server, with what it answered. */
async function conversation({ command, args, env, cwd, calls }) {
  const client = officialClient();
  const transport = new StdioClientTransport({ command, args, env, cwd, stderr: verbose ? "inherit" : "ignore" });
  await client.connect(transport, { timeout: TIMEOUT_MS });
  const answers = [];
  const ask = async (what, run) =>
    answers.push([what, await run().catch((error) => ({ error: error.code ?? String(error) }))]);
  try {
    // What a server registers once it knows its client is there when two messages have gone both ways.
    await client.ping();
    await client.ping();
    const has = client.getServerCapabilities();
    if (has.tools) await ask("tools/list", () => client.listTools());
    if (has.prompts) await ask("prompts/list", () => client.listPrompts());
    if (has.resources) await ask("resources/list", () => client.listResources());
    if (has.resources) await ask("resources/templates/list", () => client.listResourceTemplates());
    for (const [name, input] of calls) {
      await ask(`${name} ${JSON.stringify(input)}`, () => client.callTool({ name, arguments: input }));
    }
  } finally {
    await client.close();
  }
  return new Map(answers);
}

const SORTED = new Set(["tools", "prompts", "resources", "resourceTemplates", "required"]);

/** What may differ: order of lists, times, and what a schema says that means the same. */
function normal(value, key = "") {
  if (Array.isArray(value)) {
    const items = value.map((item) => normal(item));
    return SORTED.has(key) ? items.sort(byText) : items;
  }
  if (typeof value === "string")
    return value.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, "TIME").replaceAll(/\d{1,2}:\d\d:\d\d( [AP]M)?/g, "TIME");
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name, each]) => !means(name, each));
  return Object.fromEntries(kept.map(([name, each]) => [name, normal(each, name)]));
}

/** Members that say what is so without them. */
function means(name, value) {
  if (name === "$schema" || name === "execution" || name === "_meta") return true;
  if (name === "isError") return value === false;
  if (name === "additionalProperties") return value === false || JSON.stringify(value) === "{}";
  if (name === "maximum" || name === "minimum") return Math.abs(value) === Number.MAX_SAFE_INTEGER;
  return name === "required" && Array.isArray(value) && value.length === 0;
}

const byText = (a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

/** same; refused by both in other words; or what differs. */
function verdict(before, after) {
  if (isDeepStrictEqual(normal(before), normal(after))) return "same";
  const refused = (answer) => answer?.error !== undefined || answer?.isError === true;
  return refused(before) && refused(after) ? "refused by both" : "different";
}

/** Lists and one call by our own client in the newest revision, which no such server speaks by itself. */
async function newest({ command, args, env, cwd }) {
  const client = await connect({ command, args, env, cwd }, { connectTimeoutMs: TIMEOUT_MS });
  try {
    return `${client.revision} ${(await client.tools().all()).length} tools`;
  } finally {
    await client.close();
  }
}

async function compare(row) {
  const folder = await installed(row);
  const scratch = mkdtempSync(join(tmpdir(), "compat-"));
  const run = (how) => {
    rmSync(scratch, { recursive: true, force: true });
    mkdirSync(scratch, { recursive: true });
    return conversation(commandOf(row, folder, scratch, how));
  };
  try {
    const before = await run("official");
    const counts = { same: 0, "refused by both": 0, different: 0 };
    const differing = [];
    for (const how of ["alias", "migrated", ...(row.own ? ["own"] : [])]) {
      const after = await run(how);
      for (const [what, answer] of before) {
        const found = verdict(answer, after.get(what));
        counts[found]++;
        if (found === "different") differing.push({ what: `${how}: ${what}`, before: answer, after: after.get(what) });
      }
    }
    return { counts, differing, newest: await newest(commandOf(row, folder, scratch, "alias")) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

let failed = 0;
console.log(
  "| server | same | refused by both | different | in the newest revision |\n| --- | --- | --- | --- | --- |",
);
for (const row of servers.filter(
  ({ package: name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)),
)) {
  try {
    const { counts, differing, newest: spoken } = await compare(row);
    console.log(
      `| ${row.package} ${row.version} | ${counts.same} | ${counts["refused by both"]} | ${counts.different} | ${spoken} |`,
    );
    for (const { what, before, after } of differing) {
      failed++;
      if (verbose)
        console.log(what, "\n  before", JSON.stringify(normal(before)), "\n  after ", JSON.stringify(normal(after)));
      else console.log(`  ${what}`);
    }
  } catch (error) {
    failed++;
    console.log(`| ${row.package} ${row.version} | failed: ${error.message.split("\n")[0]} |`);
  }
}
process.exitCode = failed > 0 ? 1 : 0;
