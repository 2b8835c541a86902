// `npm run bench -- import-csv [ROWS]`: imports a CSV file of 1,000,000 rows through the built command, counts the reports of
// progress, kills one import half-way and cancels another, and looks at what each has left behind.
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
const ROWS = 1_000_000;
/** One report for each per cent; of short imports several are told at once. */
const REPORTS = 100;
/** What lies in the folder when nothing is under way. */
const FILES = /^(?:audit\.log.*|main\.db|policy\.yaml|rows\.csv|\.\w+)$/;
const COPY = / \.mcp-secure-local-copy-[\w-]+\.tmp was left$/;

/** Exit code 0 when every import was whole or left nothing. */
export async function main([rows = String(ROWS)]) {
  const folder = await mkdtemp(join(tmpdir(), "import-bench-"));
  try {
    return await imports(folder, Number(rows));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function imports(folder, rows) {
  const file = join(folder, "rows.csv");
  await writeFile(
    join(folder, "policy.yaml"),
    `version: "1.0"
tools: { allowed: [query_database, import_csv], timeout: 600 }
filesystem: { readable_paths: ["${folder}/**"] }
databases: { main: { file: "${folder}/main.db", read_only: false } }
`,
  );
  await writeCsv(file, rows);
  console.log(`${rows} rows, ${((await stat(file)).size / 1e6).toFixed(1)} MB`);
  const faults = [];
  const server = serve(folder);
  faults.push(...(await whole(server, { file, rows })));
  await half(server, file);
  server.child.kill("SIGKILL");
  await once(server.child, "close");
  // The copy that was being filled is cleared away by the next import.
  faults.push(...(await found(folder, "killed half-way", "whole")).filter((fault) => !COPY.test(fault)));
  const other = serve(folder);
  await half(other, file);
  other.cancel();
  await other.call("query_database", { sql: "SELECT 1" });
  await other.end();
  faults.push(...(await found(folder, "cancelled half-way", "whole")));
  const again = serve(folder);
  await again.call("import_csv", { file, table: "again" });
  await again.end();
  faults.push(...(await found(folder, "imported again", "again, whole")));
  for (const fault of faults) console.log(`FAULT: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

async function whole({ call }, { file, rows }) {
  let reports = 0;
  const began = performance.now();
  const done = await call("import_csv", { file, table: "whole" }, () => (reports += 1));
  const seconds = (performance.now() - began) / 1_000;
  console.log(done.content[0].text);
  console.log(`${seconds.toFixed(1)} s, ${Math.round(rows / seconds)} rows a second, ${reports} reports of progress`);
  const sql = "SELECT count(*), sum(id), count(DISTINCT name) FROM whole";
  const { structuredContent } = await call("query_database", { sql });
  const [counted] = structuredContent.rows;
  const wanted = [rows, (rows * (rows - 1)) / 2, rows];
  console.log(`found again: ${counted.join(", ")}`);
  return [
    ...(String(counted) === String(wanted) ? [] : [`found ${counted.join(", ")}, not ${wanted.join(", ")}`]),
    ...(reports >= REPORTS || rows < ROWS ? [] : [`${reports} reports of progress, not ${REPORTS}`]),
  ];
}

/** Resolves when half of an import is done. */
function half({ call }, file) {
  return new Promise((resolve) => {
    void call("import_csv", { file, table: "half" }, ({ progress, total }) => progress > total / 2 && resolve());
  });
}

/** What is wrong with the tables and files there are. A new start clears away what a killed one left. */
async function found(folder, when, tables) {
  const { call, end } = serve(folder);
  const sql = "SELECT name FROM sqlite_schema ORDER BY 1";
  const { structuredContent } = await call("query_database", { sql });
  await end();
  const names = structuredContent.rows.flat().join(", ");
  const files = (await readdir(folder)).sort();
  console.log(`${when}; tables: ${names}; files: ${files.join(", ")}`);
  const strange = files.filter((name) => !FILES.test(name));
  return [
    ...(names === tables ? [] : [`${when}: the tables are ${names}, not ${tables}`]),
    ...strange.map((name) => `${when}: ${name} was left`),
  ];
}

async function writeCsv(path, rows) {
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
function serve(folder) {
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
  const cancel = () => {
    const params = { requestId: last, reason: "no longer wanted" };
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })}\n`);
  };
  const end = async () => {
    child.stdin.end();
    await once(child, "close");
  };
  return { child, call, cancel, end };
}
