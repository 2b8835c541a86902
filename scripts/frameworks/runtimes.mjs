// Places for the probe outside of Node's own servers: other runtimes, from npm, and the shape of a function in a cloud.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { toFetch } from "@secure-local/mcp/fetch";
import { installed } from "../../world/install.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const { platform, arch } = process;

/** Where npm puts the program of a runtime: into a package for this kind of machine, whatever scripts would do with it. */
const PROGRAMS = {
  deno: { version: "2.9.6", program: `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}/deno` },
  bun: { version: "1.4.5", program: `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}/bin/bun` },
};

async function runtime(name, flags, how) {
  const { version, program } = PROGRAMS[name];
  const folder = await installed({ package: name, version });
  const command = join(folder, "node_modules", program);
  if (how === "stdio")
    return { command: { command, args: [...flags, here("serve-stdio.mjs")] }, close: () => undefined };
  const child = spawn(command, [...flags, here("serve-fetch.mjs")], { stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /^port (\d+)$/.exec(line)?.[1];
    if (port !== undefined) return { url: `http://127.0.0.1:${port}/mcp`, close: () => child.kill("SIGKILL") };
  }
  throw new Error(`${name} ended before it served`);
}

export function deno(how) {
  return runtime("deno", ["run", "-A", "--node-modules-dir=manual"], how);
}

export function bun(how) {
  return runtime("bun", ["run"], how);
}

const newest = (revision) => revision === "2026-07-28";
const never = () => false;

/** No request may touch what belongs to another, so nobody hears of changes, and none is told of another's cancellation. */
const ALONE = { asks: newest, cancels: never, listens: never };

/** Cloudflare's runtime itself, with the library as a bundler takes it. */
export async function workerd() {
  const folder = await installed({ package: "miniflare", version: "4.20260730.0" });
  const from = createRequire(join(folder, "package.json"));
  const { Miniflare } = await import(pathToFileURL(from.resolve("miniflare")).href);
  const options = { bundle: true, format: "esm", platform: "browser", write: false, logLevel: "error" };
  const { outputFiles } = await build({
    ...options,
    entryPoints: [here("worker.mjs")],
    conditions: ["workerd", "worker", "browser"],
  });
  const flags = { compatibilityDate: "2026-01-01", compatibilityFlags: ["enable_request_signal"] };
  const place = { host: "127.0.0.1", port: 0 };
  const runs = new Miniflare({ modules: true, script: outputFiles[0].text, ...flags, ...place });
  const url = new URL("/mcp", await runs.ready).href;
  return { url, able: { ...ALONE, cancels: newest, listens: newest }, close: () => runs.dispose() };
}

/** A function behind a gateway: an event for each request, one whole answer, and another instance for the next one. */
export async function lambda(server) {
  const answer = toFetch(server, { sessions: false, answers: "json" });
  const invoke = async ({ method, path, headers, body }) => {
    const request = new Request(`https://function.example${path}`, { method, headers, ...(body ? { body } : {}) });
    const reply = await answer(request);
    return { statusCode: reply.status, headers: Object.fromEntries(reply.headers), body: await reply.text() };
  };
  const gateway = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const event = { method: request.method, path: request.url, headers: request.headers, body };
    const { statusCode, headers, body: text } = await invoke(event);
    response.writeHead(statusCode, headers).end(text);
  });
  gateway.listen(0, "127.0.0.1");
  await once(gateway, "listening");
  const url = `http://127.0.0.1:${gateway.address().port}/mcp`;
  return { url, able: { ...ALONE, reports: false }, close: () => answer.close().then(() => gateway.close()) };
}
