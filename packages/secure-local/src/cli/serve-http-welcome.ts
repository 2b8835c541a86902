// What `serve` prints: where it serves, and for each client the configuration to paste.
import { PACKAGE, places, section, SERVER } from "./client-places.js";
import { styled } from "./terminal.js";
import { launch } from "./welcome.js";

export interface Served {
  /** As the library names it: `http://127.0.0.1:3333/mcp`. */
  readonly url: string;
  readonly socketPath: string | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string;
  readonly sse: boolean;
}

export function serveWelcome(
  served: Served,
  platform: string = process.platform,
  script: string = process.argv[1] ?? PACKAGE,
): string {
  const { token, tokenFile } = served;
  const kept = token === undefined ? [] : [`The token in it is kept in ${tokenFile}; whoever has it may call.`];
  const clients =
    served.socketPath === undefined ? forPort(served, platform, script) : forSocket(served, served.socketPath);
  return [styled("bold", `${PACKAGE} serves at ${urlOf(served)}`), ...others(served), ...kept, "", ...clients].join(
    "\n",
  );
}

function forPort(served: Served, platform: string, script: string): string[] {
  const { desktop, cursor, code } = places(platform);
  const entry = { type: "http", url: served.url, ...headersOf(served) };
  const mcpServers = JSON.stringify({ mcpServers: { [SERVER]: entry } }, null, 2);
  // It takes programs only, and drops entries of any other kind.
  const { command, args } = launch(platform, script);
  const kept = served.token === undefined ? [] : ["--token-file", served.tokenFile];
  const bridge = { command, args: [...args, "bridge", served.url, ...kept] };
  const header = served.token === undefined ? "" : ` --header "Authorization: Bearer ${served.token}"`;
  return [
    section("Claude Desktop", desktop),
    JSON.stringify({ mcpServers: { [SERVER]: bridge } }, null, 2),
    "",
    section("Claude Code", "in a terminal"),
    `claude mcp add --transport http ${SERVER} ${served.url}${header}`,
    "",
    section("Cursor", cursor),
    mcpServers,
    "",
    section("VS Code", code),
    JSON.stringify({ servers: { [SERVER]: entry } }, null, 2),
  ];
}

/** Of the clients named elsewhere only VS Code connects to a socket file. */
function forSocket(served: Served, path: string): string[] {
  const entry = { type: "http", url: `unix://${path}#/mcp`, ...headersOf(served) };
  return [
    section("VS Code", places(process.platform).code),
    JSON.stringify({ servers: { [SERVER]: entry } }, null, 2),
    "",
    section("Try it", "in a terminal"),
    `curl --unix-socket ${JSON.stringify(path)} http://localhost/healthz`,
  ];
}

function others(served: Served): string[] {
  if (served.socketPath !== undefined) return [];
  const { origin } = new URL(served.url);
  const sse = served.sse ? [`Clients of 2024-11-05 (HTTP+SSE): ${origin}/sse`] : [];
  return [...sse, `Health: ${origin}/healthz   Metrics: ${origin}/metrics`];
}

function urlOf({ url, socketPath }: Served): string {
  return socketPath === undefined ? url : `unix://${socketPath}#/mcp`;
}

function headersOf({ token }: Served): { headers?: Record<string, string> } {
  return token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } };
}
