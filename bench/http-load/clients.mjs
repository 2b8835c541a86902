// What the load tests share: a server in its own process, and clients of it with sessions or without.
import { connect } from "node:net";
import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ChildService } from "../measure/child-service.mjs";
import { Requests } from "../measure/mcp-requests.mjs";
import { headerOf, HttpConnection } from "../measure/raw-http.mjs";

const SERVER = fileURLToPath(new URL("server.mjs", import.meta.url));

/** Starts the server, gives `use` its process and port, and ends it. */
export async function withServer(use) {
  const service = new ChildService(SERVER, { execArgv: ["--expose-gc"] });
  try {
    const { port } = await service.hear();
    return await use({ service, port });
  } catch (error) {
    throw new Error(`${error.message}${service.complaint()}`, { cause: error });
  } finally {
    await service.stop();
  }
}

/** A connection and the requests of one client; in mode "session" it has shaken hands. */
export async function client(port, mode) {
  const connection = new HttpConnection(port);
  const requests = new Requests({ port, modern: mode === "modern" });
  if (mode === "modern") return { connection, requests };
  const reply = await connection.exchange(requests.initialize());
  const session = headerOf(reply, "mcp-session-id");
  if (session === undefined) throw new Error(`initialize was answered with status ${reply.status}`);
  requests.joined(session, "2025-11-25");
  await connection.exchange(requests.notification("notifications/initialized"));
  return { connection, requests };
}

/** Opens a socket, sends `request` and resolves to the socket once the first bytes of the reply are there. */
export function begin(port, request) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("data", (first) => {
      socket.off("error", reject);
      socket.on("error", () => {});
      socket.pause();
      resolve({ socket, first });
    });
    socket.write(request, "latin1");
  });
}

/** Does `work(index)` for every index below `count`, never more than `width` at a time. */
export async function inParallel(count, width, work) {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
}

/** Descriptors a process has open. */
export function descriptors(pid) {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Waits until `isSo()` holds, at most `limitMs`; returns whether it does. */
export async function until(isSo, limitMs) {
  const end = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > end) return false;
    await delay(STEP_MS);
  }
  return true;
}

const STEP_MS = 50;
