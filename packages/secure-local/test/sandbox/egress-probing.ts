// Runs the egress probes inside a sandbox that may use the network, with a proxy under a small policy and canaries that count.
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { DecideEgress } from "../../src/capabilities/egress-target.js";
import { EgressProxy } from "../../src/capabilities/egress-proxy.js";
import { HANDED_FOLDER } from "../../src/sandbox/wall.js";
import { hasWall, runWalled } from "./walls.js";

const PYTHON = "/usr/bin/python3";
const GOOD = "allowed.test";

export interface EgressOutcome {
  /** Of each attack why it failed; null where it got through. */
  readonly attacks: Readonly<Record<string, string | null>>;
  /** Of each honest use whether it worked, else why not. */
  readonly uses: Readonly<Record<string, true | string>>;
  /** Connections that a canary saw. */
  readonly reached: number;
  /** Names that were looked up. */
  readonly lookedUp: readonly string[];
  readonly stderr: string;
}

export function canProbeEgress(): boolean {
  if (!hasWall()) return false;
  if (existsSync(PYTHON)) return true;
  if (process.env["CI"]) throw new Error(`${PYTHON} is required in CI`);
  console.warn(`skipped: ${PYTHON} is not installed`);
  return false;
}

/** @param file Where the probes are, when this runs from a bundle */
export async function probeEgress(
  file: string = fileURLToPath(new URL("egress-probes.py", import.meta.url)),
): Promise<EgressOutcome> {
  let reached = 0;
  const lookedUp: string[] = [];
  const secure = createServer(answerOnce);
  const plain = createHttpServer((_, answer) => answer.setHeader("connection", "close").end("plain answer"));
  const count = (socket: Socket): void => {
    reached += 1;
    socket.destroy();
  };
  const [canary, hidden] = [createServer(count), createServer(count)];
  const abstract = `egress-${process.pid}-${performance.now()}`;
  const servers: Server[] = [secure, plain, canary, hidden];
  await Promise.all([secure, plain, canary].map((server) => once(server.listen(0, "127.0.0.1"), "listening")));
  await once(hidden.listen(`\0${abstract}`), "listening");
  const [tls, web, trap] = [secure, plain, canary].map((server) => (server.address() as { port: number }).port);
  const decide: DecideEgress = ({ host, port }) => {
    const allowed = host === "rebound.test" || (host === GOOD && (port === tls || port === web));
    return { allowed, rule: "probe", allowPrivate: host === GOOD };
  };
  const resolve = async (host: string): Promise<string[]> => {
    lookedUp.push(host);
    return ["127.0.0.1"];
  };
  const proxy = await EgressProxy.open({ decide, resolve });
  try {
    const probes = `${HANDED_FOLDER}/probes.py`;
    const args = [probes, GOOD, ...[tls, web, trap].map(String), proxy.socket, abstract];
    const handed = [{ path: probes, bytes: readFileSync(file) }];
    const ended = await runWalled({ executable: PYTHON, args, egress: proxy.socket, handed });
    const said = JSON.parse(ended.stdout || "{}") as Partial<Pick<EgressOutcome, "attacks" | "uses">>;
    return { attacks: {}, uses: {}, ...said, reached, lookedUp: [...new Set(lookedUp)], stderr: ended.stderr };
  } finally {
    await proxy.close();
    for (const server of servers) server.close();
  }
}

/** Shows what got through: whatever comes is answered. */
function answerOnce(socket: Socket): void {
  socket.on("error", () => undefined);
  socket.once("data", () => socket.end("answered"));
}
