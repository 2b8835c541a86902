// Two processes behind a round robin: sessions, questions and news work whichever of them a request meets, and go on when one is
// killed or restarted. Behind nginx where it is installed, else behind a round robin of a few lines.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect as dial, createServer as listen } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect } from "@secure-local/mcp/client";

const installed = (program) => {
  try {
    execFileSync(program, ["-v"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

/** What was to be started has ended, and why in its own words. */
class NotStarted extends Error {}

if (!installed("redis-server")) console.log("scale: skipped, redis-server is not installed here");
else
  await check().catch((error) => {
    if (!(error instanceof NotStarted)) throw error;
    console.error(`scale: ${error.message}`);
    process.exitCode = 1;
  });

async function check() {
  const folder = mkdtempSync(join(tmpdir(), "scale-"));
  const children = [];
  // Whoever ends this check ends what it started.
  const endAll = async () => {
    for (const child of children.toReversed()) await end(child);
  };
  process.once("SIGTERM", () => void endAll().then(() => process.exit(143)));
  const start = (command, args, { env = {}, stderr = "inherit" } = {}) => {
    const child = spawn(command, args, {
      cwd: folder,
      stdio: ["ignore", "pipe", stderr],
      env: { ...process.env, ...env },
    });
    children.push(child);
    return child;
  };
  try {
    const redisPort = await freePort();
    const redis = ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--dir", folder];
    start("redis-server", redis).stdout.resume();
    await reached(redisPort);
    const env = { REDIS_URL: `redis://127.0.0.1:${redisPort}`, MCP_KEY: randomBytes(32).toString("base64") };
    const ports = [await freePort(), await freePort()];
    const front = await freePort();
    const script = fileURLToPath(new URL("server.mjs", import.meta.url));
    const hosts = [front, ...ports].map((port) => `127.0.0.1:${port}`).join();
    const begin = async (port) => {
      const member = start(process.execPath, [script, String(port)], { env: { ...env, MCP_HOSTS: hosts } });
      const listens = once(createInterface({ input: member.stdout }), "line");
      await Promise.race([listens, endedEarly(member, "server.mjs")]);
      return member;
    };
    const members = await Promise.all(ports.map(begin));
    const behind = installed("nginx") ? behindNginx : behindFewLines;
    const balancer = await behind({ front, ports, folder, start });
    const url = `http://127.0.0.1:${front}/mcp`;
    await talk(url);
    if (behind === behindNginx) await large(url, folder);
    for (const [at, port] of ports.entries()) members[at] = await restarted(url, members[at], () => begin(port));
    await killed(url, members);
    balancer?.close();
    balancer?.closeAllConnections();
    console.log(
      `scale: two processes behind ${behind === behindNginx ? "nginx" : "a round robin"} served as one, lost nothing when restarted, and one went on`,
    );
  } finally {
    await endAll();
    rmSync(folder, { recursive: true, force: true });
  }
}

// What nginx started ends with it only when it is asked to end: what it leaves would hold its output open.
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 5000);
  await ended;
  clearTimeout(late);
}

async function talk(url) {
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const elicit = () => ({ action: "accept", content: { sure: true } });
    const client = await connect(url, { revision, elicit, verdicts: false });
    for (let n = 0; n < 3; n++) {
      const { content } = await client.call("confirm");
      assert.match(content[0].text, /^accept, says process \d+$/);
    }
    await client.close();
  }
}

/** A body that nginx puts into a file: into one of this folder, and not of a place that belongs to somebody else. */
async function large(url, folder) {
  const client = await connect(url, { verdicts: false });
  const { content } = await client.call("length", { text: "x".repeat(100_000) });
  assert.equal(content[0].text, "100000");
  await client.close();
  assert.ok(readdirSync(folder).includes("nginx-body"));
}

/** As operators do it: told to end, ended, started again. What reads only may be repeated, and then nothing is lost. */
async function restarted(url, member, begin) {
  const client = await connect(url, { revision: "2026-07-28", verdicts: false });
  const call = () => client.call("where");
  const ending = end(member);
  while (member.exitCode === null && member.signalCode === null) await call().catch(call);
  await ending;
  // Each turn of the round robin comes to where nobody listens now, and what is sent there has not left: none fails.
  for (let n = 0; n < 6; n++) await call();
  const again = await begin();
  for (let n = 0; n < 2; n++) await call();
  await client.close();
  return again;
}

async function killed(url, members) {
  const client = await connect(url, { revision: "2025-11-25", verdicts: false });
  const [{ text }] = (await client.call("where")).content;
  const owner = members.find(({ pid }) => text === `process ${pid}`);
  owner.kill("SIGKILL");
  await once(owner, "exit");
  const other = members.find((each) => each !== owner);
  // The balancer may still send some to the one that is gone; those that arrive are answered by the other.
  for (let answered = 0; answered < 3;) {
    const again = await client.call("where").catch(() => undefined);
    if (again === undefined) continue;
    assert.equal(again.content[0].text, `process ${other.pid}`);
    answered++;
  }
  await client.close();
}

async function behindNginx({ front, ports, folder, start }) {
  const text = readFileSync(new URL("nginx.conf", import.meta.url), "utf8");
  const own = [
    ["3000", front],
    ["3001", ports[0]],
    ["3002", ports[1]],
  ];
  writeFileSync(
    join(folder, "nginx.conf"),
    own.reduce((all, [from, to]) => all.replaceAll(`:${from}`, `:${to}`), text),
  );
  // Where root starts nginx, what it writes is written by another user, who has to come into the folder.
  chmodSync(folder, 0o711);
  const nginx = start("nginx", ["-e", "stderr", "-p", folder, "-c", "nginx.conf"], { stderr: "pipe" });
  const early = endedEarly(nginx, "nginx");
  const alive = () => nginx.exitCode === null && nginx.signalCode === null;
  const listens = reached(front, alive).catch((error) => (alive() ? Promise.reject(error) : early));
  await Promise.race([listens, early]);
}

/** Rejects with the program's own words as soon as it ends, which it should not yet. */
function endedEarly(child, name) {
  let words = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => (words += text));
  const ended = once(child, "close").then(() => {
    throw new NotStarted(`${name} has ended${words === "" ? "" : `: ${words.trim()}`}`);
  });
  ended.catch(() => undefined);
  return ended;
}

/** As that nginx does: what surely did not leave, because nobody listens where it was to go, goes to the next process. */
async function behindFewLines({ front, ports }) {
  let next = 0;
  const forward = (asked, body, answer, tries) => {
    const { method, url: path } = asked;
    const headers = { ...asked.headers, host: `127.0.0.1:${front}` };
    const onward = request({ port: ports[next++ % 2], host: "127.0.0.1", method, path, headers }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    });
    onward.on("error", ({ code }) => {
      if (code === "ECONNREFUSED" && tries > 1) forward(asked, body, answer, tries - 1);
      else if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end();
    });
    answer.on("close", () => onward.destroy());
    onward.end(body);
  };
  const balancer = createServer(async (asked, answer) => {
    forward(asked, Buffer.concat(await asked.toArray()), answer, ports.length);
  });
  balancer.listen(front, "127.0.0.1");
  await once(balancer, "listening");
  return balancer;
}

async function freePort() {
  const server = listen().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function reached(port, alive = () => true) {
  for (const began = Date.now(); Date.now() - began < 20_000 && alive();) {
    const socket = dial(port, "127.0.0.1");
    const there = await new Promise((resolve) =>
      socket.on("connect", () => resolve(true)).on("error", () => resolve(false)),
    );
    socket.destroy();
    if (there) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`nothing listens at port ${port}: what was started there says why`);
}
