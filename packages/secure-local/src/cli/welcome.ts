// What a person sees who starts the command in a terminal: what it is, and how to connect a client to it.
import { resolve } from "node:path";
import { clientConfigPaths, moreClients, PACKAGE, section, SERVER } from "./client-files.js";
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
  const { desktop, cursor, code } = clientConfigPaths(platform);
  const start = launch(script);
  // A client starts it in a folder of its own.
  if (policy !== undefined) start.args.push("--policy", resolve(policy));
  const command = [start.command, ...start.args].map(quoted).join(" ");
  const short = `${PACKAGE}${policy === undefined ? "" : ` --policy ${quoted(resolve(policy))}`}`;
  const mcpServers = JSON.stringify({ mcpServers: { [SERVER]: start } }, null, 2);
  const servers = JSON.stringify({ servers: { [SERVER]: { type: "stdio", ...start } } }, null, 2);
  return [
    `${styled("bold", PACKAGE)} gives an AI client safe tools on this machine, under one policy that denies what it does not name.`,
    "It speaks MCP over stdin and stdout: your client starts it.",
    "",
    section("To tell a client of it", "shows the change first, and can be undone"),
    `${short} install cursor          # or claude-desktop, claude-code, vscode, …`,
    `${short} install cursor --move   # and bring the servers it has under the policy`,
    "",
    "Or paste it yourself:",
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
    ...moreClients(start),
    section("Try it", "without a client"),
    `${command} tools`,
    `${command} call calculate "expression=2 + 3 * 4"`,
    ...(policy === undefined ? [`${command} policy init`] : []),
    "",
    `If the file has other servers already, add "${SERVER}" to them.${policy === undefined ? OWN_POLICY : ""}`,
    `All commands: ${command} --help`,
  ].join("\n");
}

/**
 * Both paths in full: what a desktop starts has a short PATH, and a name would be looked up where somebody else may have put
 * a program of that name.
 */
export function launch(script: string): Launch {
  return { command: process.execPath, args: [resolve(script)] };
}

function quoted(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word);
}
