// The relay of a sandbox that may use the network: offers the proxy outside, which is a Unix socket, on loopback.
import { existsSync } from "node:fs";
import { PERL_RELAY } from "./relay-in-perl.js";
import { nodeReach } from "./relayed.js";
import type { Reach } from "./wall.js";

/** Where it listens. A sandbox has a loopback of its own, so nobody else is at this port. */
export const RELAY_PORT = 3_128;
const PERL = "/usr/bin/perl";

/** Run as `PROGRAM -e TEXT SOCKET PORT`; it says `up` once it listens, and closes its output. */
export interface Relay {
  readonly program: string;
  readonly text: string;
  readonly port: string;
  /** What has to be seen inside for it to run. */
  readonly reach: readonly Reach[];
}

/** In Perl where the system has it, else in the Node this runs on. */
export function relay(perl: string = PERL): Relay {
  const port = String(RELAY_PORT);
  if (existsSync(perl)) return { program: perl, text: PERL_RELAY, port, reach: [] };
  const node = nodeReach();
  return { program: node.path, text: `(${relayInNode.toString()})();`, port, reach: [node] };
}

/** Run as text: it uses nothing from around it. */
function relayInNode(): void {
  const { connect, createServer } = process.getBuiltinModule("node:net");
  const { closeSync, openSync, writeSync } = process.getBuiltinModule("node:fs");
  const [, socket = "", port = ""] = process.argv;
  const server = createServer({ allowHalfOpen: true }, (inside) => {
    const outside = connect({ path: socket, allowHalfOpen: true });
    inside.on("error", () => outside.destroy());
    outside.on("error", () => inside.destroy());
    inside.on("close", () => outside.destroy());
    outside.on("close", () => inside.destroy());
    inside.pipe(outside);
    outside.pipe(inside);
  });
  server.listen(Number(port), "127.0.0.1", () => {
    writeSync(1, "up");
    closeSync(1);
    // In its place, as no connection may get a number that stands for output.
    openSync("/dev/null", "w");
  });
}
