#!/usr/bin/env node
// Imports a CSV file of 1,000,000 rows (or as many as the first argument says) through the built command, counts the
// reports of progress, kills a second import half-way, and looks at what each has left behind.
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const command = join(root, "packages/secure-local/dist/mcp-secure-local.cjs");
const rows = Number(process.argv[2] ?? 1_000_000);
const folder = await mkdtemp(join(tmpdir(), "import-bench-"));

async function writeCsv(path) {
  const out = createWriteStream(path);
  out.write("id,name,amount,placed,note\n");
  for (let index = 0; index < rows; index += 1) {
    const line = `${index},"Person ${index}, esq.",${index / 4},2026-01-${String((index % 28) + 1).padStart(2, "0")},nothing to say\n`;
    if (!out.write(line)) await once(out, "drain");
  }
  out.end();
  await once(out, "close");
}

/** The served command, and a way to call its tools; `told` hears of progress. */
function serve() {
  const child = spawn(process.execPath, [command, "--policy", join(folder, "policy.yaml")], {
    env: { PATH: process.env.PATH, HOME: folder, MCP_SECURE_LOCAL_AUDIT: join(folder, "audit.log") },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting = new Map();
  let told = () => undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.method === "notifications/progress") told(message.params);
    else waiting.get(message.id)?.(message.result ?? message.error);
  });
  let last = 0;
  const request = (method, params) => {
    const id = (last += 1);
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  const clientInfo = { name: "bench", version: "1" };
  const ready = request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  const call = async (name, args, hear = () => undefined) => {
    await ready;
    told = hear;
    return request("tools/call", { name, arguments: args, _meta: { progressToken: "p" } });
  };
  return { child, call };
}

async function tables() {
  const { child, call } = serve();
  const { structuredContent } = await call("query_database", { sql: "SELECT name FROM sqlite_schema" });
  child.stdin.end();
  await once(child, "close");
  return structuredContent.rows.flat().join(", ");
}

try {
  await writeFile(
    join(folder, "policy.yaml"),
    `version: "1.0"
tools: { allowed: [query_database, import_csv], timeout: 600 }
filesystem: { readable_paths: ["${folder}/**"] }
databases: { main: { file: "${folder}/main.db", read_only: false } }
`,
  );
  const file = join(folder, "rows.csv");
  await writeCsv(file);
  console.log(`${rows} rows, ${((await stat(file)).size / 1e6).toFixed(1)} MB`);

  const first = serve();
  let reports = 0;
  const began = performance.now();
  const done = await first.call("import_csv", { file, table: "whole" }, () => (reports += 1));
  const seconds = (performance.now() - began) / 1000;
  console.log(done.content[0].text);
  console.log(`${seconds.toFixed(1)} s, ${Math.round(rows / seconds)} rows a second, ${reports} reports of progress`);
  const counted = await first.call("query_database", {
    sql: "SELECT count(*), sum(id), count(DISTINCT note) FROM whole",
  });
  console.log(`found again: ${counted.structuredContent.rows[0].join(", ")}`);

  const half = new Promise((resolve) => {
    const hear = ({ progress, total }) => progress > total / 2 && resolve();
    void first.call("import_csv", { file, table: "half" }, hear);
  });
  await half;
  first.child.kill("SIGKILL");
  await once(first.child, "close");
  console.log(`killed half-way; tables: ${await tables()}; files: ${(await readdir(folder)).sort().join(", ")}`);

  const second = serve();
  await second.call("import_csv", { file, table: "again" });
  second.child.stdin.end();
  await once(second.child, "close");
  console.log(`imported again; tables: ${await tables()}; files: ${(await readdir(folder)).sort().join(", ")}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
