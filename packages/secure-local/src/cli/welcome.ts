// What a person sees who starts the command in a terminal: what it is, and how to connect a client to it.
import { homedir } from "node:os";
import { join } from "node:path";
import { styled } from "./terminal.js";

const NAME = "secure-local";
const PACKAGE = "mcp-secure-local";

/** How a client starts this program. */
interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/** The text, for the system this runs on. `script` is the file of this program. */
export function welcome(platform: string = process.platform, script: string = process.argv[1] ?? PACKAGE): string {
  const start = launch(platform, script);
  const command = [start.command, ...start.args].map(quoted).join(" ");
  const mcpServers = JSON.stringify({ mcpServers: { [NAME]: start } }, null, 2);
  const servers = JSON.stringify({ servers: { [NAME]: { type: "stdio", ...start } } }, null, 2);
  return [
    `${styled("bold", PACKAGE)} gives an AI client safe tools on this machine, under one policy that denies what it does not name.`,
    "It speaks MCP over stdin and stdout: your client starts it.",
    "",
    section("Claude Desktop", join(appSupport(platform), "Claude", "claude_desktop_config.json")),
    mcpServers,
    "",
    section("Claude Code", "in a terminal"),
    `claude mcp add ${NAME} -- ${command}`,
    "",
    section("Cursor", `${join(homedir(), ".cursor", "mcp.json")}, or .cursor/mcp.json in a project`),
    mcpServers,
    "",
    section("VS Code", `.vscode/mcp.json, or ${join(appSupport(platform), "Code", "User", "mcp.json")}`),
    servers,
    "",
    section("Try it", "without a client"),
    `${command} tools`,
    `${command} call calculate "expression=2 + 3 * 4"`,
    `${command} policy show > policy.yaml`,
    "",
    `If the file has other servers already, add "${NAME}" to them. A policy of your own: add "--policy", "FILE" to args.`,
    `All commands: ${command} --help`,
  ].join("\n");
}

function section(title: string, where: string): string {
  return `${styled("cyan", title)} ${styled("dim", `(${where})`)}`;
}

/** Installed, npx finds it under its name; a copy that is not is named by its path. */
function launch(platform: string, script: string): Launch {
  if (!/[\\/]node_modules[\\/]/.test(script)) return { command: "node", args: [script] };
  if (platform === "win32") return { command: "cmd", args: ["/c", "npx", "-y", PACKAGE] };
  return { command: "npx", args: ["-y", PACKAGE] };
}

function appSupport(platform: string): string {
  if (platform === "darwin") return join(homedir(), "Library", "Application Support");
  if (platform === "win32") return process.env["APPDATA"] ?? join(homedir(), "AppData", "Roaming");
  return process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word);
}
