// Finds a server by its name in the files where AI clients are told of their servers.
import { open } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { LocalError } from "@secure-local/mcp/client/node";
import type { ConfigServer, ServersConfig } from "@secure-local/mcp/host";
import type { Target } from "./target.js";

export interface Surroundings {
  /** The folder people work in. */
  readonly folder: string;
  readonly home: string;
  readonly platform: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Wanted {
  /** The only file to look at. */
  readonly file?: string | undefined;
  /** Names of variables and headers that are given in another way: what the file says of them does not count. */
  readonly given?: readonly string[];
  readonly around?: Surroundings;
}

/** Files with the history of many projects have a few megabytes. */
const MOST_BYTES = 32 * 1024 * 1024;

export function surroundings(): Surroundings {
  return { folder: process.cwd(), home: homedir(), platform: process.platform, environment: process.env };
}

/** Files of the folder first, then of the user. */
export function usualFiles({ folder, home, platform, environment }: Surroundings): string[] {
  const roaming = environment["APPDATA"] || join(home, "AppData", "Roaming");
  const support = new Map([
    ["darwin", join(home, "Library", "Application Support")],
    ["win32", roaming],
  ]);
  const applications = support.get(platform) ?? (environment["XDG_CONFIG_HOME"] || join(home, ".config"));
  return [
    ...[".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"].map((file) => join(folder, file)),
    ...[".claude.json", ".cursor/mcp.json", ".copilot/mcp-config.json"].map((file) => join(home, file)),
    join(applications, "Claude", "claude_desktop_config.json"),
    join(applications, "Code", "User", "mcp.json"),
  ];
}

/**
 * The target a name stands for, its variables filled in. Throws a LocalError USAGE that names the servers there are, or
 * what is wrong with the one that is meant.
 */
export async function configuredTarget(
  name: string,
  { file, given = [], around = surroundings() }: Wanted,
): Promise<Target> {
  const files = file === undefined ? usualFiles(around) : [resolve(around.folder, file)];
  const known: string[] = [];
  for (const path of files) {
    const configs = await configsIn(path, around, file !== undefined);
    for (const config of configs) {
      const server = config.servers.find((each) => each.name === name);
      if (server !== undefined) return await targetOf(withoutGiven(server, given), { config, path, around });
      const problem = config.problems.find((each) => each.name === name);
      if (problem !== undefined) throw usage(`${path}:${problem.line}:${problem.column}: ${problem.message}`);
      known.push(...config.servers.map((each) => each.name));
    }
  }
  const there = known.length === 0 ? "none is configured" : `there are ${[...new Set(known)].join(", ")}`;
  const places = file === undefined ? "in the usual configuration files" : `in ${file}`;
  throw usage(
    `there is no server "${name}" ${places} (${there}); give a URL, a command after --, or another file with --config FILE`,
  );
}

/** What a file says: of the folder first, where it has servers for many. A broken file nobody named stands in nobody's way. */
async function configsIn(path: string, { folder }: Surroundings, named: boolean): Promise<ServersConfig[]> {
  const { parseServersConfig } = await import("@secure-local/mcp/host");
  try {
    const text = await textOf(path);
    const own = serversOfFolder(text, folder);
    if (own === undefined) return [parseServersConfig(text, path)];
    const config = parseServersConfig(JSON.stringify({ mcpServers: own }), path);
    return claudeFile(text)?.mcpServers === undefined ? [config] : [config, parseServersConfig(text, path)];
  } catch (error) {
    if (!named) return [];
    throw usage((error as Error).message);
  }
}

async function textOf(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
      return await file.readFile("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    throw usage(`${path} cannot be read: ${(error as Error).message}`);
  }
}

interface ClaudeFile {
  readonly mcpServers?: unknown;
  readonly projects?: Readonly<Record<string, { readonly mcpServers?: object } | undefined>>;
}

/** The servers that `~/.claude.json` has for one folder alone. */
function serversOfFolder(text: string, folder: string): object | undefined {
  return claudeFile(text)?.projects?.[folder]?.mcpServers;
}

function claudeFile(text: string): ClaudeFile | undefined {
  if (!text.includes('"projects"')) return undefined;
  try {
    return JSON.parse(text) as ClaudeFile;
  } catch {
    return undefined;
  }
}

function withoutGiven(server: ConfigServer, given: readonly string[]): ConfigServer {
  const left = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !given.includes(name)));
  return { ...server, env: left(server.env), headers: left(server.headers) };
}

interface Found {
  readonly config: ServersConfig;
  readonly path: string;
  readonly around: Surroundings;
}

async function targetOf(written: ConfigServer, { config, path, around }: Found): Promise<Target> {
  const { folder, home, environment } = around;
  // The folder of `.vscode/mcp.json` and `.cursor/mcp.json` is the one above.
  const place = dirname(path);
  const beside = /[\\/]\.(?:vscode|cursor)$/.test(place) && dirname(place) !== home;
  const workspace = beside ? dirname(place) : folder;
  const input = (): Promise<undefined> => Promise.resolve(undefined);
  const variables = { env: environment, userHome: home, workspaceFolder: workspace, input };
  const { expandServer } = await import("@secure-local/mcp/host");
  const { server, missing } = await expandServer(written, config.format, variables);
  if (missing.length > 0) {
    throw usage(
      `VS Code asks for ${missing.join(", ")} of "${server.name}"; give the value with --env or --header instead`,
    );
  }
  const { command, args, env, envFile, cwd, url = "", headers } = server;
  if (command === undefined) return { kind: "url", url, headers };
  const fromFile = envFile === undefined ? {} : parseEnv(await textOf(resolve(workspace, envFile)));
  const all = { ...(fromFile as Record<string, string>), ...env };
  const where = cwd === undefined ? {} : { cwd: resolve(workspace, cwd) };
  const { sandboxEnabled, sandbox } = server.raw;
  const walled = config.format === "servers" && sandboxEnabled === true;
  const sandboxed = { name: server.name, file: resolve(path), workspace, sandbox };
  return { kind: "command", command, args, env: all, ...where, ...(walled ? { sandboxed } : {}) };
}

function usage(text: string): LocalError {
  return new LocalError("USAGE", text);
}
