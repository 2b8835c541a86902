// The processes that the gateway's bench starts: all of them end with it.
import { spawn } from "node:child_process";
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
