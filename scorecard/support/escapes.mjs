// Runs the escape probes inside the sandbox, with canaries outside that count who comes; for the goals that judge them.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROBES = fileURLToPath(new URL("../../packages/secure-local/test/sandbox/escape-probes.py", import.meta.url));
const PYTHON = "/usr/bin/python3";

/** Whether they can be run here. */
export function canProbe({ hasWall }) {
  return existsSync(PYTHON) && hasWall();
}

/** Why each probe failed by its name, null for one that got out; and how many connections the canaries saw. */
export async function escapes({ runWalled }) {
  // In a home folder: a private /tmp alone must not be what hides it.
  const folder = mkdtempSync(join(homedir(), ".scorecard-"));
  const canary = join(folder, "canary.txt");
  writeFileSync(canary, "seen outside");
  const servers = [];
  let reached = 0;
  const listen = async (options) => {
    const server = createServer((socket) => {
      reached += 1;
      socket.destroy();
    });
    servers.push(server);
    await new Promise((resolve) => server.listen(options, resolve));
    return server.address().port;
  };
  try {
    const port = await listen({ port: 0, host: "127.0.0.1" });
    const unix = join(folder, "socket");
    await listen({ path: unix });
    const abstract = `scorecard-${process.pid}`;
    await listen({ path: `\0${abstract}` });
    const probes = "/run/mcp-secure-local/probes.py";
    const ended = await runWalled({
      executable: PYTHON,
      args: [probes, canary, String(port), String(process.pid), unix, abstract],
      handed: [{ path: probes, bytes: readFileSync(PROBES) }],
    });
    const untouched = readFileSync(canary, "utf8") === "seen outside";
    return { held: JSON.parse(ended.stdout), reached, untouched };
  } finally {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true });
  }
}

/** Whether a probe is about the network. */
export function isOfNetwork(name) {
  return /^connect |packets|look up|connections|netlink|sockets?\b/.test(name);
}
