// The walks that are measured: a warm call each, in a process of its own, on the sources compiled file by file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { root } from "../lib/run-command.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** Each is an entry; what it imports of ours is compiled into a file of its own beside it. */
const ENTRIES = {
  server: join(HERE, "stdio-server.mjs"),
  client: join(HERE, "client-call.mjs"),
  parked: join(HERE, "parked-question.mjs"),
  product: join(root, "packages/secure-local/src/cli/main.ts"),
};
const OURS = /^@secure-local\//;
const PACKAGE = /^(?:node:|@?[a-z])/;
/** Calls before the one that is measured: whatever is made once has been made by then. */
const WARM_CALLS = 3;
/** Calls that are measured: a file is on the way when each of them enters it. What runs beside a call is in some only. */
const MEASURED_CALLS = 30;

const REQUESTS = {
  "tools/call over stdio": { name: "greet", arguments: { name: "Ada" } },
  "calculate by the product": { name: "calculate", arguments: { expression: "6*7" } },
};

/** Name and files (paths from the root) of every walk. */
export async function walks() {
  const folder = mkdtempSync(join(root, "node_modules/.walks-"));
  try {
    const compiled = await compile(folder);
    return [
      await overStdio("tools/call over stdio", compiled.server, []),
      await byItself("client.call over stdio", compiled.client),
      await byItself("a parked question over HTTP", compiled.parked),
      await overStdio("calculate by the product", compiled.product, []),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compile(folder) {
  const build = await rolldown({
    input: ENTRIES,
    platform: "node",
    treeshake: false,
    external: (id) => PACKAGE.test(id) && !OURS.test(id),
    resolve: { conditionNames: ["@secure-local/source", "node", "import", "default"] },
    onLog: () => undefined,
  });
  const names = { entryFileNames: "[name].mjs", preserveModules: true, preserveModulesRoot: root };
  const { output } = await build.write({ dir: folder, format: "esm", ...names });
  await build.close();
  for (const name of ["packages/secure-local/package.json"]) copyFileSync(join(root, name), join(folder, name));
  const place = (source) => join(folder, output.find((file) => file.facadeModuleId === source).fileName);
  return Object.fromEntries(Object.entries(ENTRIES).map(([name, source]) => [name, place(source)]));
}

/** The walk of a server that reads standard input: it is asked by hand, and tells what ran over a channel of its own. */
async function overStdio(name, program, args) {
  const preload = ["--import", pathToFileURL(join(HERE, "coverage.mjs")).href];
  const child = spawn(process.execPath, [...preload, program, ...args], { stdio: ["pipe", "pipe", "inherit", "ipc"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const answer = async (id) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${name}: the server ended`);
      const message = JSON.parse(value);
      if (message.id !== id) continue;
      if (message.error || message.result.isError) throw new Error(`${name}: ${value}`);
      return message;
    }
  };
  const call = async (id) => {
    send({ id, method: "tools/call", params: REQUESTS[name] });
    await answer(id);
  };
  const taken = async () => {
    child.send("take");
    const [files] = await once(child, "message");
    return files;
  };
  const clientInfo = { name: "walk", version: "1" };
  send({ id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  await answer(0);
  send({ method: "notifications/initialized" });
  for (let id = 1; id <= WARM_CALLS; id += 1) await call(id);
  await taken();
  let files;
  for (let id = 1; id <= MEASURED_CALLS; id += 1) {
    await call(WARM_CALLS + id);
    const entered = new Set(await taken());
    files = files === undefined ? [...entered] : files.filter((file) => entered.has(file));
  }
  const over = once(child, "exit");
  child.disconnect();
  child.stdin.end();
  await over;
  return { name, files };
}

/** The walk of a program that makes its calls itself: it prints its files. */
async function byItself(name, program) {
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more) => (text += more));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  return { name, files: JSON.parse(text) };
}
