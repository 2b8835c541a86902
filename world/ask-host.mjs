// Puts every server that works under the library's host at once, as an agent does: all tools, under names of their own.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Host } from "@secure-local/mcp/host/node";
import { removeFolder } from "./remove-folder.mjs";

/** All of them together on two cores. */
const ALL_STARTED_MS = 300_000;
const POLL_MS = 500;

/**
 * The row of the host. `rows` are of servers that work by themselves, `startIn(row, folder)` prepares the start of one. What the host
 * lists is held against what our client listed of each by itself.
 */
export async function askHost(rows, startIn) {
  const base = mkdtempSync(join(tmpdir(), "world-host-"));
  const host = new Host({
    clientInfo: { name: "world", version: "1.0.0" },
    authorize: () => true,
    onCall: () => false,
    startTimeoutMs: ALL_STARTED_MS,
  });
  const began = performance.now();
  try {
    await Promise.all(
      rows.map(async (row, index) => {
        const { program, args, env } = await startIn(row, join(base, String(index)));
        await host.add(nameOf(index), { command: process.execPath, args: [program, ...args], env });
      }),
    );
    while (wrongOnes(host, rows).length > 0 && performance.now() - began < ALL_STARTED_MS) await pause(POLL_MS);
    const tools = host.tools();
    const names = new Set(tools.map(({ name }) => name));
    const misses = wrongOnes(host, rows);
    if (names.size !== tools.length) misses.push(`${tools.length} tools under ${names.size} names`);
    return { name: "host with all at once", version: `${rows.length} servers`, tools: tools.length, misses };
  } finally {
    await host.close();
    await removeFolder(base);
  }
}

function nameOf(index) {
  return `server${index}`;
}

/** Servers of which the host lists anything else than the client did. */
function wrongOnes(host, rows) {
  const count = (entries) => {
    const counts = new Map();
    for (const { server } of entries) counts.set(server, (counts.get(server) ?? 0) + 1);
    return counts;
  };
  const tools = count(host.tools());
  const resources = count(host.resources());
  const states = new Map(host.servers().map(({ name, state, reason }) => [name, reason ?? state]));
  return rows.flatMap(({ name, ours }, index) => {
    const id = nameOf(index);
    const [seen, read] = [tools.get(id) ?? 0, resources.get(id) ?? 0];
    if (seen === ours.tools && read === ours.resources) return [];
    return [`${name}: ${seen} tools of ${ours.tools}, ${read} resources of ${ours.resources} (${states.get(id)})`];
  });
}
