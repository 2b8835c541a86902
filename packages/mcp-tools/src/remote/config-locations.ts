// The files in which AI clients are told of their servers: a person's own, and those that lie in a folder and may come from anybody.
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

export interface ClientEnvironment {
  /** The folder people work in. */
  readonly folder: string;
  readonly home: string;
  readonly platform: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * `user`: a file only the person and their clients write. `folder`: one that clients read in whatever folder they are
 * opened, so that it comes with what somebody else made. `named`: any other file, named by hand.
 */
export type Owner = "user" | "folder" | "named";

export interface ConfigLocation {
  /** The client, as people know it. */
  readonly client: string;
  readonly path: string;
  readonly owner: Owner;
}

/** Below the folder one works in. */
const IN_FOLDERS: readonly (readonly [client: string, file: string])[] = [
  ["Claude Code", ".mcp.json"],
  ["VS Code", ".vscode/mcp.json"],
  ["Cursor", ".cursor/mcp.json"],
  ["VS Code", ".vscode/settings.json"],
  ["Gemini CLI", ".gemini/settings.json"],
  ["Codex", ".codex/config.toml"],
  ["opencode", "opencode.json"],
  ["opencode", "opencode.jsonc"],
  ["Zed", ".zed/settings.json"],
  ["Roo Code", ".roo/mcp.json"],
  ["Kilo Code", ".kilocode/mcp.json"],
  ["Continue", ".continue/config.yaml"],
];

/** Cline and its kin keep their servers with VS Code's extensions. */
const EXTENSIONS: readonly (readonly [client: string, file: string])[] = [
  ["Cline", "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"],
  ["Roo Code", "rooveterinaryinc.roo-cline/settings/mcp_settings.json"],
  ["Kilo Code", "kilocode.kilo-code/settings/mcp_settings.json"],
];

export function clientEnvironment(): ClientEnvironment {
  return { folder: process.cwd(), home: homedir(), platform: process.platform, environment: process.env };
}

/** A person's own first, so that no folder puts another server in the place of one of theirs. */
export function usualLocations(around: ClientEnvironment): ConfigLocation[] {
  const own = userFiles(around).map(([client, path]): ConfigLocation => ({ client, path, owner: "user" }));
  const known = new Set(own.map(({ path }) => path));
  const beside = IN_FOLDERS.map(([client, file]): ConfigLocation => {
    return { client, path: join(around.folder, file), owner: "folder" };
  });
  return [...own, ...beside.filter(({ path }) => !known.has(path))];
}

/** Whose file it is that somebody named; links count as what they lead to, and as what they are called. */
export function namedLocation(file: string, around: ClientEnvironment): ConfigLocation {
  const path = resolve(around.folder, file);
  const real = realPath(path);
  const own = userFiles(around).find(([, each]) => each === path || realPath(each) === real);
  if (own !== undefined) return { client: own[0], path, owner: "user" };
  const strange = IN_FOLDERS.find(([, each]) => isCalled(path, each) || isCalled(real, each));
  if (strange !== undefined) return { client: strange[0], path, owner: "folder" };
  return { client: clientOf(path), path, owner: "named" };
}

/** The folder that a file of this place speaks of: the one it lies in, or the one its dotted folder lies in. */
export function workspaceOf({ path, owner }: ConfigLocation, { folder }: ClientEnvironment): string {
  if (owner === "user") return folder;
  const place = dirname(path);
  return /^\.[a-z]+$/i.test(basename(place)) ? dirname(place) : place;
}

function userFiles({ home, platform, environment }: ClientEnvironment): [client: string, path: string][] {
  const roaming = environment["APPDATA"] || join(home, "AppData", "Roaming");
  const config = environment["XDG_CONFIG_HOME"] || join(home, ".config");
  const support = new Map([
    ["darwin", join(home, "Library", "Application Support")],
    ["win32", roaming],
  ]);
  const applications = support.get(platform) ?? config;
  const code = join(applications, "Code", "User");
  const zed = platform === "win32" ? join(roaming, "Zed") : join(config, "zed");
  return [
    ["Claude Code", join(home, ".claude.json")],
    ["Cursor", join(home, ".cursor", "mcp.json")],
    ["Copilot CLI", join(home, ".copilot", "mcp-config.json")],
    ["Claude Desktop", join(applications, "Claude", "claude_desktop_config.json")],
    ["VS Code", join(code, "mcp.json")],
    ["VS Code", join(code, "settings.json")],
    ["Codex", join(environment["CODEX_HOME"] || join(home, ".codex"), "config.toml")],
    ["Gemini CLI", join(home, ".gemini", "settings.json")],
    ["opencode", join(config, "opencode", "opencode.json")],
    ["opencode", join(config, "opencode", "opencode.jsonc")],
    ["Zed", join(zed, "settings.json")],
    ["Windsurf", join(home, ".codeium", "windsurf", "mcp_config.json")],
    ["Cline", join(home, ".cline", "data", "settings", "cline_mcp_settings.json")],
    ...EXTENSIONS.map(([client, file]): [string, string] => [client, join(code, "globalStorage", file)]),
    ["Continue", join(home, ".continue", "config.yaml")],
  ];
}

/** What a file is called says whose form it has, wherever it lies. */
function clientOf(path: string): string {
  const known: readonly (readonly [string, string])[] = [
    ...EXTENSIONS,
    ["Cline", "cline_mcp_settings.json"],
    ["Windsurf", "mcp_config.json"],
    ["Claude Desktop", "claude_desktop_config.json"],
  ];
  return known.find(([, file]) => isCalled(path, file))?.[0] ?? "a file";
}

/** File systems that know no case find a file in any. */
function isCalled(path: string, ending: string): boolean {
  return path.replaceAll("\\", "/").toLowerCase().endsWith(`/${ending}`);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
