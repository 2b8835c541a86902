// What clients beside the best known ones want in their configuration, each in its own words.
import { homedir } from "node:os";
import { join } from "node:path";
import { section, SERVER } from "./client-files.js";

/** How a client gets at this server. */
export type Reached =
  | { readonly command: string; readonly args: readonly string[] }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** A line that says which file, and one that goes into it, for each client. */
export function moreClients(reached: Reached): string[] {
  return CLIENTS.flatMap(({ name, file, text }) => [section(name, join(homedir(), ...file)), text(reached), ""]);
}

/** A client, its file below the home folder, and what belongs there; also for the test that reads it back. */
export interface MoreClient {
  readonly name: string;
  readonly file: readonly string[];
  text(reached: Reached): string;
}

export const CLIENTS: readonly MoreClient[] = [
  { name: "Codex", file: [".codex", "config.toml"], text: toml },
  {
    name: "Gemini CLI",
    file: [".gemini", "settings.json"],
    text: (reached) =>
      under(
        "mcpServers",
        remote(reached, ({ url, headers }) => ({ httpUrl: url, headers })),
      ),
  },
  {
    name: "Copilot CLI",
    file: [".copilot", "mcp-config.json"],
    text: (reached) =>
      under("mcpServers", { ...remote(reached, (entry) => ({ type: "http", ...entry })), tools: ["*"] }),
  },
  {
    name: "opencode",
    file: [".config", "opencode", "opencode.json"],
    text: (reached) =>
      under(
        "mcp",
        "url" in reached
          ? { type: "remote", ...reached }
          : { type: "local", command: [reached.command, ...reached.args] },
      ),
  },
  {
    name: "Windsurf",
    file: [".codeium", "windsurf", "mcp_config.json"],
    text: (reached) =>
      under(
        "mcpServers",
        remote(reached, ({ url, headers }) => ({ serverUrl: url, headers })),
      ),
  },
  {
    name: "Zed",
    file: [".config", "zed", "settings.json"],
    text: (reached) =>
      under(
        "context_servers",
        remote(reached, (entry) => entry),
      ),
  },
];

function under(key: string, entry: object): string {
  return JSON.stringify({ [key]: { [SERVER]: entry } });
}

function remote(reached: Reached, entry: (reached: Extract<Reached, { url: string }>) => object): object {
  return "url" in reached ? entry(reached) : reached;
}

/** Its strings are written as JSON writes them. */
function toml(reached: Reached): string {
  const lines =
    "url" in reached
      ? [`url = ${JSON.stringify(reached.url)}`, `http_headers = ${table(reached.headers)}`]
      : [`command = ${JSON.stringify(reached.command)}`, `args = ${JSON.stringify(reached.args)}`];
  return [`[mcp_servers.${SERVER}]`, ...lines].join("\n");
}

function table(values: Readonly<Record<string, string>>): string {
  const members = Object.entries(values).map(([name, value]) => `${JSON.stringify(name)} = ${JSON.stringify(value)}`);
  return `{ ${members.join(", ")} }`;
}
