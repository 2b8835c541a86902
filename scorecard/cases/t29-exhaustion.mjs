// T29: peers that exhaust the real command over stdio: endless lines, floods of noise and of requests, nobody who reads.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const goal = { id: "T29", title: "Resource exhaustion by peers (stdio)", atLeast: 1_000, refusalMs: 2_000 };

const COMMAND = fileURLToPath(new URL("../../packages/secure-local/dist/mcp-secure-local.cjs", import.meta.url));
const MEGABYTE = 2 ** 20;
const WAIT_MS = 20_000;

export async function run(report) {
  await lines(report);
  await flood(report);
  await silentReader(report);
}

/** The built command under the built-in policy, with a folder of its own, and its answers by id. */
function start() {
  const home = mkdtempSync(join(tmpdir(), "scorecard-home-"));
  const child = spawn(process.execPath, [COMMAND], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: home },
    cwd: home,
  });
  const answers = [];
  const waiting = new Set();
  let rest = "";
  child.stdin.on("error", () => undefined);
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const pieces = (rest + text).split("\n");
    rest = pieces.pop();
    for (const piece of pieces) answers.push(JSON.parse(piece));
    for (const check of waiting) check();
  });
  const until = (accepts) =>
    new Promise((resolve, reject) => {
      const check = () => {
        const found = answers.find(accepts);
        if (found === undefined) return;
        waiting.delete(check);
        clearTimeout(timer);
        resolve(found);
      };
      const timer = setTimeout(() => {
        waiting.delete(check);
        reject(new Error("no answer"));
      }, WAIT_MS);
      waiting.add(check);
      check();
    });
  const send = (message) => child.stdin.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  const end = async () => {
    const ended = once(child, "exit");
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
    const [code] = await ended;
    clearTimeout(timer);
    rmSync(home, { recursive: true, force: true });
    return code;
  };
  return { child, answers, until, send, end };
}

async function open(server) {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "score", version: "1" } };
  server.send({ jsonrpc: "2.0", id: "open", method: "initialize", params });
  await server.until(({ id }) => id === "open");
  server.send({ jsonrpc: "2.0", method: "notifications/initialized" });
}

const rss = ({ child }) =>
  existsSync(`/proc/${child.pid}/statm`)
    ? Number(readFileSync(`/proc/${child.pid}/statm`, "utf8").split(" ")[1]) * 4_096
    : 0;
const ping = async (server, id) => {
  server.send({ jsonrpc: "2.0", id, method: "ping" });
  return (await server.until((answer) => answer.id === id)).result !== undefined;
};

/** After a flood the answer may be that there were too many requests. */
const answered = async (server, id) => {
  server.send({ jsonrpc: "2.0", id, method: "ping" });
  const { result, error } = await server.until((answer) => answer.id === id);
  return result !== undefined || /Too many requests/.test(error.message);
};

async function lines(report) {
  const server = start();
  await open(server);
  const before = rss(server);
  const huge = {
    "10 MB of noise": "x".repeat(10_000_000),
    "10 MB of a call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${"x".repeat(10_000_000)}"}}`,
    "64 MB of brackets": "[".repeat(64_000_000),
  };
  report.kind("lines without an end");
  for (const [name, text] of Object.entries(huge)) {
    await report.attack(name, async () => {
      const count = server.answers.length;
      if (!server.send(text)) await once(server.child.stdin, "drain");
      await server.until((answer) => answer.error !== undefined && server.answers.indexOf(answer) >= count);
      return true;
    });
    await report.benign(`a ping after ${name}`, () => ping(server, `after ${name}`));
  }
  const noise = [
    "",
    " ",
    "{}",
    "[]",
    "null",
    "1",
    '"x"',
    "{",
    "\u0000",
    "\ufeff{}",
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "Content-Length: 10",
    "\x1b[31m",
  ];
  report.kind("lines that are noise");
  for (let turn = 0; turn < 1_000; turn += 1) {
    const text = noise[turn % noise.length];
    await report.attack(`noise ${turn}`, () => {
      server.send(text);
      return true;
    });
  }
  await report.benign("a ping after noise", () => ping(server, "noise"));
  const grown = rss(server) - before;
  report.demand(
    "endless lines and noise grow the server by less than 64 MB",
    grown < 64 * MEGABYTE,
    `${(grown / MEGABYTE).toFixed(0)} MB`,
  );
  report.demand("and it ends with its client, code 0", (await server.end()) === 0);
}

/** Ten thousand requests at once: each is answered, served or refused. */
async function flood(report) {
  const server = start();
  await open(server);
  const count = 10_000;
  for (let id = 0; id < count; id += 1)
    server.send({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "calculate", arguments: { expression: "1+1" } },
    });
  const ids = () => new Set(server.answers.flatMap(({ id }) => (id === undefined ? [] : [id]))).size;
  await server.until((answer) => answer === server.answers[0] && server.answers.length > count && ids() > count);
  const served = server.answers.filter(
    ({ result }) => result !== undefined && result.isError !== true && result.content,
  ).length;
  report.kind("requests without an end");
  await report.attack("ten thousand requests at once", () => ids() === count + 1 || `${ids()} answers`);
  report.demand(
    "of ten thousand calls at once a minute's worth is served",
    served > 0 && served <= 1_000,
    `${served} served`,
  );
  await report.benign("an answer after the flood", () => answered(server, "flood"));
  await server.end();
}

/** A client that sends and never reads: intake stops, memory stays. */
async function silentReader(report) {
  const server = start();
  await open(server);
  const before = rss(server);
  server.child.stdout.pause();
  const line = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  let stopped = false;
  for (let id = 0; id < 300_000 && !stopped; id += 1) {
    if (server.send({ ...line, id })) continue;
    stopped = await Promise.race([once(server.child.stdin, "drain").then(() => false), pause(1_500).then(() => true)]);
  }
  const grown = rss(server) - before;
  report.kind("a client that does not read");
  await report.attack("a client that does not read", () => stopped || "its requests are taken without end");
  report.demand(
    "a client that does not read grows the server by less than 64 MB",
    grown < 64 * MEGABYTE,
    `${(grown / MEGABYTE).toFixed(0)} MB`,
  );
  server.child.stdout.resume();
  await report.benign("it reads again", () => answered(server, "again"));
  await server.end();
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
