#!/usr/bin/env node
// Mounts one server in other people's frameworks and asks the same of each: every revision, a call, progress, a question,
// cancellation, a subscription, a task, and the official clients of v1 and v2. Prints a table. A word as argument runs only
// frameworks with it in the name. What is not a development dependency is installed once, without running its scripts.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { connect } from "../packages/mcp/dist/client-node.js";
import { toFetch } from "../packages/mcp/dist/fetch.js";
import { serveHttp, toNodeHandler } from "../packages/mcp/dist/http.js";
import { installed } from "../world/install.mjs";
import { probeServer } from "./frameworks/probe-server.mjs";
import { bun, deno, lambda, workerd } from "./frameworks/runtimes.mjs";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
/** Whatever hangs is a failure: nothing here waits for anything but this machine. */
const CELL_MS = 20_000;

// What is asked of each.

const textOf = ({ content }) => content[0]?.text;

/** What a place can do: some have no sessions, or answer once and whole. */
const always = () => true;
const EVERYTHING = { asks: always, cancels: always, listens: always };

async function ours(target, revision, able = EVERYTHING) {
  const asking = ["2025-06-18", "2025-11-25", "2026-07-28"].includes(revision);
  const elicit = () => ({ action: "accept", content: { name: "Ada" } });
  const client = await connect(target, { revision, ...(asking ? { elicit } : {}) });
  const call = async (name, args, options) => textOf(await client.call(name, args, options));
  try {
    is(client.revision, revision);
    is(await call("add", { a: 2, b: 3 }), "5");
    let last = 0;
    await call("count", {}, { onProgress: ({ progress }) => (last = progress) });
    is(last, able.reports === false ? 0 : 3);
    if (asking && able.asks(revision)) is(await call("ask"), "Ada");
    is(textOf(await (await client.callTask("work")).result()), "worked");
    if (able.cancels(revision)) await cancellation(client, call);
    if (able.listens(revision)) await subscription(client, call);
  } finally {
    await client.close();
  }
}

async function cancellation(client, call) {
  const before = await call("stopped");
  const controller = new AbortController();
  const waiting = client.call("wait", {}, { signal: controller.signal, onProgress: () => controller.abort() });
  is(await waiting.catch(({ code }) => code), "CANCELLED");
  // Told without an answer: asked until it has arrived, and the cell's own limit ends that.
  while ((await call("stopped")) === before) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function subscription(client, call) {
  const changes = client.subscribe({ resources: ["probe://thing"] });
  await changes.ready;
  await call("touch");
  for await (const change of changes) {
    is(change.uri, "probe://thing");
    break;
  }
}

async function official(url, Client, Transport) {
  const client = new Client({ name: "official", version: "1" }, { capabilities: { elicitation: {} } });
  await client.connect(new Transport(new URL(url)));
  try {
    is(textOf(await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })), "5");
  } finally {
    await client.close();
  }
}

function is(got, wanted) {
  if (got !== wanted) throw new Error(`got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
}

// Where it is mounted: each gives a URL and a way to end.

/** A package that is installed on demand, with others beside it. */
async function foreign(name, version, more = []) {
  const folder = await installed({ package: name, version, with: more });
  const from = createRequire(join(folder, "package.json"));
  return (other = name) => import(pathToFileURL(from.resolve(other)).href).then((module) => module.default ?? module);
}

async function listening(listener) {
  const http = createServer(listener);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return { url: `http://127.0.0.1:${http.address().port}`, close: () => http.close() };
}

async function express(server, before) {
  const load = await foreign("express", "5.3.0");
  const make = await load();
  const app = make();
  if (before) app.use(make.json());
  const handler = toNodeHandler(server, { pathPrefix: "/api" });
  app.use("/api", handler);
  app.use((_, response) => response.status(418).end());
  const { url, close } = await listening(app);
  return { url: `${url}/api/mcp`, close: () => handler.close().then(close) };
}

async function fastify(server) {
  const load = await foreign("fastify", "5.12.8");
  const app = (await load())();
  const handler = toNodeHandler(server);
  app.all("/mcp", (request, reply) => {
    reply.hijack();
    return handler(request.raw, reply.raw, request.body ?? undefined);
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  return { url: `${url}/mcp`, close: () => handler.close().then(() => app.close()) };
}

async function koa(server, before) {
  const load = await foreign("koa", "3.3.0", ["@koa/bodyparser@6.1.0"]);
  const app = new (await load())();
  const parser = await load("@koa/bodyparser");
  if (before) app.use((parser.bodyParser ?? parser)());
  const handler = toNodeHandler(server);
  app.use((context) => {
    context.respond = false;
    return handler(context.req, context.res, before ? context.request.body : undefined);
  });
  const { url, close } = await listening(app.callback());
  return { url: `${url}/mcp`, close: () => handler.close().then(close) };
}

async function nest(server) {
  const beside = ["@nestjs/common@11.2.10", "@nestjs/platform-express@11.2.10", "reflect-metadata@0.2.2", "rxjs@7.8.2"];
  const load = await foreign("@nestjs/core", "11.2.10", beside);
  await load("reflect-metadata");
  const { NestFactory } = await load();
  const { Module } = await load("@nestjs/common");
  // oxlint-disable-next-line no-extraneous-class -- a Nest module is a class, whatever it holds
  class App {}
  Module({})(App);
  const app = await NestFactory.create(App, { logger: false });
  const handler = toNodeHandler(server);
  app.use(handler);
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address();
  return { url: `http://127.0.0.1:${port}/mcp`, close: () => handler.close().then(() => app.close()) };
}

async function hono(server) {
  const answer = toFetch(server);
  const app = new Hono();
  app.all("/mcp", (context) => answer(context.req.raw));
  const { url, close } = await listening(getRequestListener(app.fetch));
  return { url: `${url}/mcp`, close: () => answer.close().then(close) };
}

async function next(server) {
  const answer = toFetch(server, { path: "/api/mcp" });
  const route = { GET: answer, POST: answer, DELETE: answer };
  const { url, close } = await listening(getRequestListener((request) => route[request.method](request)));
  return { url: `${url}/api/mcp`, close: () => answer.close().then(close) };
}

async function bare(server) {
  const handler = toNodeHandler(server);
  const { url, close } = await listening(handler);
  return { url: `${url}/mcp`, close: () => handler.close().then(close) };
}

async function own(server) {
  const serving = await serveHttp(server, { signals: false });
  return { url: serving.url, close: () => serving.close() };
}

const PLACES = {
  serveHttp: own,
  "node:http": bare,
  "Express 5": (server) => express(server, false),
  "Express 5, express.json()": (server) => express(server, true),
  "Fastify 5, its parser": fastify,
  "Koa 3": (server) => koa(server, false),
  "Koa 3, @koa/bodyparser": (server) => koa(server, true),
  "NestJS 11, its parser": nest,
  Hono: hono,
  "Next.js route handlers": next,
  "AWS Lambda shape": lambda,
  "Deno, fetch": () => deno("fetch"),
  "Deno, stdio": () => deno("stdio"),
  "Bun, fetch": () => bun("fetch"),
  "Bun, stdio": () => bun("stdio"),
  workerd,
};

async function within(work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("did not end")), CELL_MS);
  });
  try {
    await Promise.race([work(), late]);
    return "ok";
  } catch (error) {
    return `FAILED: ${String(error.message).split("\n")[0].slice(0, 120)}`;
  } finally {
    clearTimeout(timer);
  }
}

const wanted = process.argv.slice(2);
const heads = [...REVISIONS, "client v1", "client v2"];
console.log(`| where | ${heads.join(" | ")} |\n| --- |${" --- |".repeat(heads.length)}`);
let failed = 0;
for (const [name, mount] of Object.entries(PLACES)) {
  if (wanted.length > 0 && !wanted.some((word) => name.toLowerCase().includes(word.toLowerCase()))) continue;
  const cells = [];
  try {
    const { url, command, able, close } = await mount(probeServer());
    for (const revision of REVISIONS) cells.push(await within(() => ours(url ?? command, revision, able)));
    if (url === undefined) cells.push("–", "–");
    else {
      cells.push(await within(() => official(url, ClientV1, TransportV1)));
      cells.push(await within(() => official(url, ClientV2, TransportV2)));
    }
    await close();
  } catch (error) {
    cells.push(`FAILED to start: ${error.message.split("\n")[0]}`);
  }
  failed += cells.filter((cell) => cell.startsWith("FAILED")).length;
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}
process.exit(failed > 0 ? 1 : 0);
