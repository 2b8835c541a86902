// What a person sees who starts the command in a terminal: what it is, and how to connect a client to it.
import { resolve } from "node:path";
import { PACKAGE, places, section, SERVER } from "./client-places.js";
import { styled } from "./terminal.js";

const OWN_POLICY = ' A policy of your own: add "--policy", "FILE" to args.';

/** How a client starts this program. */
interface Launch {
  readonly command: string;
  readonly args: string[];
}

/** The text, for the system this runs on. `script` is the file of this program, `policy` the one it was started with. */
export function welcome(
  platform: string = process.platform,
  script: string = process.argv[1] ?? PACKAGE,
  policy?: string,
): string {
  const { desktop, cursor, code } = places(platform);
  const start = launch(platform, script);
  // A client starts it in a folder of its own.
  if (policy !== undefined) start.args.push("--policy", resolve(policy));
  const command = [start.command, ...start.args].map(quoted).join(" ");
  const mcpServers = JSON.stringify({ mcpServers: { [SERVER]: start } }, null, 2);
  const servers = JSON.stringify({ servers: { [SERVER]: { type: "stdio", ...start } } }, null, 2);
  return [
    `${styled("bold", PACKAGE)} gives an AI client safe tools on this machine, under one policy that denies what it does not name.`,
    "It speaks MCP over stdin and stdout: your client starts it.",
    "",
    section("Claude Desktop", desktop),
    mcpServers,
    "",
    section("Claude Code", "in a terminal"),
    `claude mcp add ${SERVER} -- ${command}`,
    "",
    section("Cursor", cursor),
    mcpServers,
    "",
    section("VS Code", code),
    servers,
    "",
    section("Try it", "without a client"),
    `${command} tools`,
    `${command} call calculate "expression=2 + 3 * 4"`,
    ...(policy === undefined ? [`${command} policy init policy.yaml`] : []),
    "",
    `If the file has other servers already, add "${SERVER}" to them.${policy === undefined ? OWN_POLICY : ""}`,
    `All commands: ${command} --help`,
  ].join("\n");
}

/**
 * `-p` says which package: without it npx takes the `bin` of a `package.json` in the folder it is started in, and a client may be
 * started in a folder that tools write to.
 */
const START: readonly string[] = ["-y", "-p", PACKAGE, PACKAGE];

/** Installed, npx finds it under its name; a copy that is not is named by its path. */
export function launch(platform: string, script: string): Launch {
  // In full: what a desktop starts has a short PATH.
  if (!/[\\/]node_modules[\\/]/.test(script)) return { command: process.execPath, args: [script] };
  if (platform === "win32") return { command: "cmd", args: ["/c", "npx", ...START] };
  return { command: "npx", args: [...START] };
}

function quoted(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word);
}
