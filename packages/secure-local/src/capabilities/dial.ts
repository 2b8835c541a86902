// Connects to one of the checked addresses of a target and proves that the socket ended there.
import type { Socket } from "node:net";
import { FetchError } from "./fetch-error.js";
import { parseIp } from "./ip-address.js";
import type { EgressTarget } from "./egress-target.js";

/** An address that does not answer leaves the others their share of the time. */
const CONNECT_MS = 5_000;

/** What stands before an IPv4 address that is written as IPv6. */
const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];

/**
 * Returns a connected socket (TLS done and certificate checked for https). Addresses are dialled as literals, so nothing is
 * resolved a second time and no proxy is asked. @throws FetchError `connect`; the signal's reason when aborted
 */
export async function dial(target: EgressTarget, addresses: readonly string[], signal: AbortSignal): Promise<Socket> {
  let reason = "no address";
  for (const address of addresses) {
    signal.throwIfAborted();
    try {
      const socket = await connect(target, address, signal);
      if (sameAddress(socket.remoteAddress, address)) return socket;
      socket.destroy();
      reason = "connected elsewhere";
    } catch (error) {
      signal.throwIfAborted();
      reason = (error as NodeJS.ErrnoException).code ?? "no answer";
    }
  }
  throw new FetchError("connect", `Could not connect to ${target.host} on port ${target.port} (${reason}).`);
}

async function connect(target: EgressTarget, address: string, signal: AbortSignal): Promise<Socket> {
  const { socket, ready } = await open(target, address);
  return await new Promise((resolve, reject) => {
    const stopWaiting = (): void => {
      socket.setTimeout(0);
      socket.off("timeout", late);
      socket.off(ready, succeed);
      signal.removeEventListener("abort", abort);
    };
    const succeed = (): void => {
      stopWaiting();
      resolve(socket);
    };
    const fail = (error: Error): void => {
      stopWaiting();
      socket.destroy();
      reject(error);
    };
    const late = (): void => fail(Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT" }));
    const abort = (): void => fail(new Error("aborted"));
    socket.on("error", fail); // stays: a socket that fails later must not end the process
    socket.setTimeout(CONNECT_MS, late);
    socket.once(ready, succeed);
    signal.addEventListener("abort", abort, { once: true });
  });
}

async function open(
  { scheme, host, port, literal }: EgressTarget,
  address: string,
): Promise<{ socket: Socket; ready: string }> {
  if (scheme === "http") {
    const net = await import("node:net");
    return { socket: net.connect({ host: address, port }), ready: "connect" };
  }
  const tls = await import("node:tls");
  // Names go into the handshake and are checked against the certificate; for a literal that is the address itself.
  const names = literal ? {} : { servername: host };
  return {
    socket: tls.connect({ host: address, port, ALPNProtocols: ["http/1.1"], ...names }),
    ready: "secureConnect",
  };
}

/** Compares bytes, since one address has several spellings; IPv4 may come back mapped into IPv6. */
function sameAddress(actual: string | undefined, dialled: string): boolean {
  const seen = parseIp(actual?.replace(/%.*$/, "") ?? "");
  const meant = parseIp(dialled);
  if (seen === undefined || meant === undefined) return false;
  return asIpv6(seen) === asIpv6(meant);
}

function asIpv6(bytes: readonly number[]): string {
  return (bytes.length === 4 ? [...MAPPED, ...bytes] : bytes).join();
}
