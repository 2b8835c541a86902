// The fixture in several processes that share over a Redis of their own, behind a balancer that sends every request to one of
// them at random: node conformance/balanced.mjs [PROCESSES]
import { fork, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { connect, createServer as createNetServer } from "node:net";
import { fileURLToPath } from "node:url";
import { announce } from "./fixture/announce.mjs";

const count = Number(process.argv[2] ?? 3);
const key = randomBytes(32).toString("base64");
const children = [];
const members = [];
let telling = Promise.resolve();
process.once("SIGTERM", () => process.exit());
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

const ports = [];
const agent = new Agent({ keepAlive: true });
const balancer = createServer((incoming, outgoing) => pass(incoming, outgoing, ports[randomInt(ports.length)]));
await once(balancer.listen(0, "127.0.0.1"), "listening");
const { port } = balancer.address();
const redis = await startRedis();
ports.push(...(await Promise.all(Array.from({ length: count }, (_, n) => startMember(`m${n}`)))));
// The suite tries its foreign hosts against nothing but the name localhost.
announce(`http://localhost:${port}/mcp`);

/** Resolves with its port. */
function startMember(node) {
  // Requests keep the Host they came with, so that each process judges it.
  const child = fork(fileURLToPath(new URL("member.mjs", import.meta.url)), [redis, key, node, `localhost:${port}`]);
  children.push(child);
  members.push(child);
  child.on("message", ({ change }) => {
    if (change !== undefined) tellOthers(child, change);
  });
  return new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message.port));
    child.once("exit", (code) => reject(new Error(`${node} ended with ${code}`)));
  });
}

/** One change after the other: all other processes make it, then the one that began. */
function tellOthers(first, change) {
  telling = telling.then(async () => {
    const others = members.filter((each) => each !== first);
    await Promise.all(
      others.map((each) => {
        const changed = once(each, "message");
        each.send({ change });
        return changed;
      }),
    );
    first.send({});
  });
}

/** Resolves with its address. */
async function startRedis() {
  const free = createNetServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const at = free.address().port;
  await new Promise((resolve) => free.close(resolve));
  const options = ["--port", String(at), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  children.push(spawn("redis-server", options, { stdio: "ignore" }));
  while (!(await reached(at))) await new Promise((resolve) => setTimeout(resolve, 20));
  return `redis://127.0.0.1:${at}`;
}

function reached(at) {
  return new Promise((resolve) => {
    const socket = connect(at, "127.0.0.1", () => resolve(socket.destroy() && true));
    socket.on("error", () => resolve(false));
  });
}

function pass(incoming, outgoing, to) {
  const { method, url: path, headers } = incoming;
  const onward = request({ host: "127.0.0.1", port: to, method, path, headers, agent }, (reply) => {
    outgoing.writeHead(reply.statusCode, reply.headers);
    reply.pipe(outgoing);
    reply.on("error", () => outgoing.destroy());
  });
  onward.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
  outgoing.on("close", () => onward.destroy());
  incoming.pipe(onward);
}
