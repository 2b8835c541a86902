// Lets other people's clients, bridges and agents use our server, over stdio and over HTTP, as clients.json says.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { COMMAND } from "./ask-server.mjs";
import { installed, programOf, versionOf } from "./install.mjs";
import { removeFolder } from "./remove-folder.mjs";
import { runProgram } from "./run-program.mjs";

const LIBRARY_CLIENT = fileURLToPath(new URL("clients/library-client.mjs", import.meta.url));
/** What the clients have calculated, and its result, which stands nowhere by chance. */
const EXPRESSION = "1234*5678";
const RESULT = "7006652";
/** A bridge with a model's whole tool set behind it, on a busy machine. */
const STARTED_MS = 60_000;
const POLL_MS = 100;
const QUOTED = 240;
/** Of what a program in the background says, to find its word in. */
const KEPT = 100_000;

/**
 * The rows of clients. Each way of one is a line of clients.json: `files` that it wants in its home, a program in the `background` that
 * listens on `{port}`, commands to `run` one after the other, which all have to end with 0, and what the last `shows`.
 */
export async function askClients(clients, { each, versionWanted, notHad }) {
  if (clients.length === 0) return [];
  const base = mkdtempSync(join(tmpdir(), "world-clients-"));
  const servers = [];
  try {
    for (const more of [[], ["--no-auth"]]) servers.push(await served(join(base, `served${more.join("")}`), more));
    const ours = { served: servers[0], open: servers[1], base };
    return await each(clients, (client) => clientRow(client, ours, { versionWanted, notHad }));
  } finally {
    for (const { child } of servers) await ended(child);
    await removeFolder(base);
  }
}

/** Our server over HTTP with a home of its own: where it listens, and the token it wants. */
async function served(home, more) {
  mkdirSync(home, { recursive: true });
  const args = [COMMAND, "serve", "--port", "0", "--sse", "--quiet", "--rate", "1000", ...more];
  const child = spawn(process.execPath, args, {
    env: cleanEnv(home),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const address = await until(
    () => /http:\/\/[\d.:]+\/mcp/.exec(said)?.[0],
    () => `serve did not start: ${said}`,
  );
  const token = more.length > 0 ? "" : readFileSync(join(home, ".config", "mcp-secure-local", "token"), "utf8").trim();
  return { child, url: address, token };
}

async function clientRow(client, ours, { versionWanted, notHad }) {
  const { package: name, as, ways, skip } = client;
  const shown = as ?? name;
  const pinned = client.version ?? "";
  const major = Number(process.versions.node.split(".", 1)[0]);
  if (skip !== undefined) return { name: shown, version: pinned, skipped: skip };
  if (major < (client.node ?? 0)) return { name: shown, version: pinned, skipped: `needs Node ${client.node}` };
  let folder;
  try {
    folder = await installed({ ...client, version: versionWanted(client) });
  } catch (error) {
    return notHad(shown, pinned, error);
  }
  const cells = [];
  for (const way of ways) cells.push({ way: way.way, ...(await asked(client, way, { folder, ours })) });
  const misses = cells.filter(({ ok }) => !ok).map(({ way, why }) => `${way}: ${why}`);
  return { name: shown, version: versionOf(folder, name), cells, misses };
}

/** Whether one way works; if not, why. */
async function asked(client, way, { folder, ours }) {
  const home = mkdtempSync(join(ours.base, "home-"));
  const port = String(await freePort());
  const fill = filler({ client, folder, ours, home, port });
  let background;
  try {
    for (const [path, content] of Object.entries(way.files ?? {})) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), typeof content === "string" ? fill(content) : fill(JSON.stringify(content)));
    }
    const env = { ...cleanEnv(home), ...variables(ours), ...JSON.parse(fill(JSON.stringify(way.env ?? {}))) };
    if (way.background !== undefined)
      background = await inBackground(filled(way.background, fill), { env, home, port, ready: way.ready });
    let last = { stdout: "", stderr: "" };
    for (const words of way.run) {
      const [command, ...args] = filled(words, fill);
      last = await runProgram(command, args, { env: withUrl(env, way, fill), cwd: home });
      if (last.code !== 0) return { ok: false, why: `exit ${last.code}: ${quoted(last.stderr || last.stdout)}` };
    }
    const shows = fill(way.shows ?? "{result}");
    const found = (last.stdout + last.stderr).includes(shows);
    return found ? { ok: true } : { ok: false, why: `does not show ${shows}: ${quoted(last.stdout + last.stderr)}` };
  } catch (error) {
    return { ok: false, why: quoted(String(error.message)) };
  } finally {
    if (background !== undefined) await ended(background);
  }
}

/** Puts in what differs from run to run: `{node}`, `{program}`, `{server}` (our program), `{url}`, `{token}` and the like. */
function filler({ client, folder, ours, home, port }) {
  const library = join(folder, "library-client.mjs");
  if (uses(client, "{library}")) copyFileSync(LIBRARY_CLIENT, library);
  const values = {
    modules: join(folder, "node_modules"),
    platform: `${process.platform}-${process.arch}`,
    node: process.execPath,
    program: uses(client, "{program}") ? programOf(folder, client.package, client.bin) : "",
    library,
    server: COMMAND,
    url: ours.served.url,
    sse: ours.served.url.replace(/mcp$/, "sse"),
    token: ours.served.token,
    openUrl: ours.open.url,
    openSse: ours.open.url.replace(/mcp$/, "sse"),
    expression: EXPRESSION,
    result: RESULT,
    home,
    port,
  };
  return (text) => text.replaceAll(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Whether a placeholder stands in any of its ways. */
function uses(client, placeholder) {
  return JSON.stringify(client.ways).includes(placeholder);
}

function filled(words, fill) {
  return words.map((word) => fill(word));
}

/** What library-client.mjs reads. */
function variables(ours) {
  const { url, token } = ours.served;
  const server = JSON.stringify([process.execPath, COMMAND]);
  return { WORLD_SERVER: server, WORLD_URL: url, WORLD_TOKEN: token, WORLD_EXPRESSION: EXPRESSION };
}

/** `server` and `url` of a way say what the library's client talks to, where it is not our server itself. */
function withUrl(env, { server, url }, fill) {
  const other = { ...env };
  if (server !== undefined) other.WORLD_SERVER = JSON.stringify(filled(server, fill));
  if (url !== undefined) other.WORLD_URL = fill(url);
  return other;
}

/** Started, and listening; one with a word for it (`ready`) has said so too. */
async function inBackground([command, ...args], { env, home, port, ready = "" }) {
  const child = spawn(command, args, { env, cwd: home, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-KEPT)));
  try {
    await until(
      async () => (await listens(port)) && said.includes(ready),
      () => `it is not ready: ${quoted(said)}`,
    );
  } catch (error) {
    await ended(child);
    throw error;
  }
  return child;
}

async function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    return;
  }
  await once(child, "exit");
}

/** What `ask` answers as soon as it answers; rejects with the words of `otherwise` when it does not. */
async function until(ask, otherwise) {
  for (const began = performance.now(); performance.now() - began < STARTED_MS; await pause(POLL_MS)) {
    const answer = await ask();
    if (answer) return answer;
  }
  throw new Error(otherwise());
}

async function listens(port) {
  for (const host of ["127.0.0.1", "::1"]) {
    const socket = createConnection({ host, port: Number(port) });
    const open = await new Promise((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    if (open) return true;
  }
  return false;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** A home of its own, and nothing of ours. */
function cleanEnv(home) {
  return { PATH: process.env.PATH, HOME: home, TMPDIR: home, CI: "1", NO_COLOR: "1", NO_UPDATE_NOTIFIER: "1" };
}

function quoted(text) {
  return text.trim().replaceAll(/\s+/g, " ").slice(-QUOTED);
}
