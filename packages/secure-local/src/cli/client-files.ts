// Where each client is told of its servers on each system, and how an entry looks there: what `install` writes,
// `uninstall` takes away, or a person is shown.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type ClientEnvironment, usualLocations } from "@secure-local/mcp-tools/config-locations";
import { styled } from "./terminal.js";

/** Our name among a client's servers. */
export const SERVER = "secure-local";
export const PACKAGE = "mcp-secure-local";

/** The files to paste into, as a person reads them. */
export interface ClientConfigPaths {
  readonly desktop: string;
  readonly cursor: string;
  readonly code: string;
}

export function clientConfigPaths(platform: string): ClientConfigPaths {
  const support = appSupport(platform);
  return {
    desktop: join(support, "Claude", "claude_desktop_config.json"),
    cursor: `${join(homedir(), ".cursor", "mcp.json")}, or .cursor/mcp.json in a project`,
    code: `.vscode/mcp.json, or ${join(support, "Code", "User", "mcp.json")}`,
  };
}

/** The line above what belongs to one client. */
export function section(title: string, where: string): string {
  return `${styled("cyan", title)} ${styled("dim", `(${where})`)}`;
}

function appSupport(platform: string): string {
  if (platform === "darwin") return join(homedir(), "Library", "Application Support");
  if (platform === "win32") return process.env["APPDATA"] ?? join(homedir(), "AppData", "Roaming");
  return process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
}

/** How a client starts this program. */
export interface ClientLaunch {
  readonly command: string;
  readonly args: readonly string[];
}

/** A client and the form of its file. */
export interface ClientFile {
  /** As it is named on a command line. */
  readonly id: string;
  /** As people know it. */
  readonly client: string;
  readonly form: "json" | "toml" | "yaml";
  /** The member that holds its servers by their names. */
  readonly member: string;
  /** The end of the name of its file, where it has several. */
  readonly file?: string;
  entry(launch: ClientLaunch): object;
}

const plain = ({ command, args }: ClientLaunch): object => ({ command, args });
const typed = ({ command, args }: ClientLaunch): object => ({ type: "stdio", command, args });

export const CLIENT_FILES: readonly ClientFile[] = [
  { id: "claude-desktop", client: "Claude Desktop", form: "json", member: "mcpServers", entry: plain },
  { id: "claude-code", client: "Claude Code", form: "json", member: "mcpServers", entry: typed },
  { id: "cursor", client: "Cursor", form: "json", member: "mcpServers", entry: plain },
  { id: "vscode", client: "VS Code", form: "json", member: "servers", file: "mcp.json", entry: typed },
  { id: "windsurf", client: "Windsurf", form: "json", member: "mcpServers", entry: plain },
  { id: "codex", client: "Codex", form: "toml", member: "mcp_servers", entry: plain },
  { id: "gemini", client: "Gemini CLI", form: "json", member: "mcpServers", entry: plain },
  { id: "zed", client: "Zed", form: "json", member: "context_servers", entry: plain },
  { id: "cline", client: "Cline", form: "json", member: "mcpServers", entry: plain },
  { id: "roo", client: "Roo Code", form: "json", member: "mcpServers", entry: plain },
  { id: "kilo", client: "Kilo Code", form: "json", member: "mcpServers", entry: plain },
  {
    id: "copilot",
    client: "Copilot CLI",
    form: "json",
    member: "mcpServers",
    entry: (launch) => ({ ...plain(launch), tools: ["*"] }),
  },
  {
    id: "opencode",
    client: "opencode",
    form: "json",
    member: "mcp",
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args] }),
  },
  { id: "continue", client: "Continue", form: "yaml", member: "mcpServers", entry: plain },
];

/** The name by which files are found, of a client as it is named on a command line; undefined for none of them. */
export function clientNamed(id: string): string | undefined {
  return CLIENT_FILES.find((each) => each.id === id.toLowerCase() || each.client === id)?.client;
}

/** The file a client reads: the one that is there, else the first it would look for. */
export function fileOf({ client, file = "" }: ClientFile, around: ClientEnvironment): string {
  const places = usualLocations(around).filter(
    (place) => place.owner === "user" && place.client === client && place.path.endsWith(file),
  );
  const found = places.find(({ path }) => existsSync(path)) ?? places[0];
  if (found === undefined) throw new Error(`${client} has no file on this system`);
  return found.path;
}

// What clients beside the best known ones want in their configuration, each in its own words.

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
