// Where clients keep their configuration on each system, and the names we have in it.
import { homedir } from "node:os";
import { join } from "node:path";
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
