// The processes that the gateway's bench starts: all of them end with it.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const SERVICES = fileURLToPath(new URL("services.mjs", import.meta.url));

/** Everything that was started, ended at the end whatever happens. */
export const children = new Set();

/** Folders that are taken away at the end. */
export const homes = new Set();

export function start(file, args, options = {}, flags = []) {
  const child = spawn(process.execPath, [...flags, file, ...args], { stdio: ["pipe", "pipe", "pipe"], ...options });
  children.add(child);
  child.once("exit", () => children.delete(child));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  child.said = () => said;
  return child;
}

/** A service of the bench; resolves to its process and URL. */
export async function service(role, options = {}, flags = []) {
  const child = start(SERVICES, [role, JSON.stringify(options)], {}, flags);
  const url = await new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").once("data", (text) => resolve(JSON.parse(text).url));
    child.once("exit", () => reject(new Error(`${role} ended: ${child.said().slice(0, 300)}`)));
  });
  /** Bytes of its heap that are still in use, of a service that was started with --expose-gc. */
  const heap = () =>
    new Promise((resolve) => {
      child.stdout.once("data", (text) => resolve(JSON.parse(text).heap));
      child.stdin.write("heap\n");
    });
  return { pid: child.pid, url, heap, close: () => child.kill() };
}

/** A service that speaks over its pipes. */
export function piped(role, options) {
  const child = start(SERVICES, [role, JSON.stringify(options)]);
  return { pid: child.pid, child, close: () => child.kill() };
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const taken = createServer();
    taken.on("error", reject);
    taken.listen(0, "127.0.0.1", () => {
      const { port } = taken.address();
      taken.close(() => resolve(port));
    });
  });
}

/** nginx before one server, with kept connections on both sides and no log; undefined where it is not installed. */
export async function nginx(url, folder) {
  const port = await freePort();
  const config = join(folder, "nginx.conf");
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${folder};`);
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit; events { worker_connections 1024; }
http { access_log off; ${places.join(" ")} keepalive_requests 10000000;
upstream up { server ${new URL(url).host}; keepalive 256; keepalive_requests 10000000; }
server { listen 127.0.0.1:${port};
location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
`,
  );
  const child = spawn("nginx", ["-c", config], { stdio: ["ignore", "ignore", "inherit"] });
  const started = await new Promise((resolve) => {
    child.once("spawn", () => resolve(true));
    child.once("error", () => resolve(false));
  });
  if (!started) return undefined;
  children.add(child);
  child.once("exit", () => children.delete(child));
  const asked = `http://127.0.0.1:${port}/mcp`;
  while (
    child.exitCode === null &&
    !(await fetch(asked).then(
      () => true,
      () => false,
    ))
  )
    await new Promise((resolve) => setTimeout(resolve, NGINX_STARTS_MS));
  return { pid: child.pid, url: asked, close: () => child.kill() };
}

/** Between two looks whether it listens. */
const NGINX_STARTS_MS = 50;
