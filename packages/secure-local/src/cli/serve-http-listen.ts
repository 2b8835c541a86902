// Begins to listen, on a port or on a socket file for its owner only, and says in one line why that cannot be.
import { lstatSync, rmSync } from "node:fs";
import { connect } from "node:net";
import type { HttpServing, ServeHttpOptions } from "@secure-local/mcp/http";
import { serveHttp } from "@secure-local/mcp/http";
import type { Server } from "@secure-local/mcp/server";
import { ServeError } from "./serve-error.js";
import type { ServeSettings } from "./serve-http-settings.js";

/** Everything but the owner's rights. */
const OWNER_ONLY = 0o177;

type Place = Pick<ServeSettings, "host" | "port" | "socketPath">;

/** @throws ServeError */
export async function listen(
  server: Server,
  { host, port, socketPath }: Place,
  options: ServeHttpOptions,
): Promise<HttpServing> {
  try {
    if (socketPath === undefined) return await serveHttp(server, { ...options, host, port });
    await removeDeadSocket(socketPath);
    return await forOwner(() => serveHttp(server, { ...options, socketPath }));
  } catch (error) {
    const reason = reasonOf(error as NodeJS.ErrnoException, { host, port, socketPath });
    throw reason === undefined ? error : new ServeError(reason, { cause: error });
  }
}

/** The socket file is made before the first wait in `begin`, and must never have had other rights. */
function forOwner<T>(begin: () => Promise<T>): Promise<T> {
  const before = process.umask(OWNER_ONLY);
  try {
    return begin();
  } finally {
    process.umask(before);
  }
}

/** A server that was killed leaves its socket file; nobody answers there. */
async function removeDeadSocket(path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSocket() && !(await answers(path))) rmSync(path, { force: true });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED"));
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException, { host, port, socketPath }: Place): string | undefined {
  if (socketPath !== undefined) {
    if (code === "EADDRINUSE")
      return `${socketPath} is taken: stop the server that listens there, or name another --socket`;
    return code === undefined ? undefined : `the socket ${socketPath} cannot be made: ${message}`;
  }
  switch (code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is taken: stop the program that listens there, or choose another with --port`;
    case "EACCES":
      return `port ${port} may not be listened on by you: choose one above 1023 with --port`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `this machine has no address ${host}: choose another with --host, such as 127.0.0.1`;
    default:
      return code === undefined ? undefined : `${host} port ${port} cannot be listened on: ${message}`;
  }
}
