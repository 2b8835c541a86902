// The descriptions the inspection is tried with: those beside its tests, and labelled collections of others on this machine.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const OWN = new URL("../../packages/inspection/test/", import.meta.url);

/** One a line in the file: name, two colons, description. */
export function ownDescriptions(file) {
  return readFileSync(new URL(`${file}.txt`, OWN), "utf8")
    .split("\n")
    .filter((line) => line.includes(" :: "))
    .map((line) => {
      const at = line.indexOf(" :: ");
      return { name: line.slice(0, at), description: line.slice(at + 4) };
    });
}

/** Honest tools with what their schemas say: below each tool its parameters, set in by two blanks. */
export function honestItems() {
  const tools = [];
  for (const line of readFileSync(new URL("honest-parameters.txt", OWN), "utf8").split("\n")) {
    const at = line.indexOf(" :: ");
    const description = line.slice(at + 4);
    if (at < 0) continue;
    if (!line.startsWith("  "))
      tools.push({ name: line.slice(0, at), description, inputSchema: { type: "object", properties: {} } });
    else tools.at(-1).inputSchema.properties[line.slice(2, at)] = { type: "string", description };
  }
  return tools;
}

/** Tools whose orders stand in schemas, titles and names. */
export function ownItems() {
  return JSON.parse(readFileSync(new URL("poisoned-items.json", OWN), "utf8"));
}

/**
 * Labelled samples of every JSON file below a path: `{ entries: [{ id, label, description | tool, server, peers }] }`. Everything but the
 * label `malicious` is honest.
 */
export function labelledSamples(path) {
  return jsonFiles(path).flatMap((file) => {
    const { entries } = parsed(file) ?? {};
    if (!Array.isArray(entries)) return [];
    return entries.map(({ id, label, description, tool, server = "server", peers = [] }) => ({
      file,
      id,
      poisoned: label === "malicious",
      server,
      tool: tool ?? { name: "tool", description },
      peers: peers
        .filter((peer) => peer.server !== server)
        .map((peer) => ({ server: peer.server, tools: [peer.tool] })),
      beside: peers.filter((peer) => peer.server === server).map((peer) => peer.tool),
    }));
  });
}

function jsonFiles(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true })
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(path, name));
}

function parsed(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
