// Says which policy and audit log to use: option first, then environment, then the policy or the default place.
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Policy } from "../policy/policy.js";
import type { CommandLine } from "./command-line.js";

const NAME = "mcp-secure-local";
const LOG = "audit.log";

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined: the built-in policy. */
export function policyFile(
  { policy }: Pick<CommandLine, "policy">,
  environment: Environment = process.env,
): string | undefined {
  return policy ?? (environment["MCP_SECURE_LOCAL_POLICY"] || undefined);
}

export function auditFile(
  { audit }: Pick<CommandLine, "audit">,
  policy: Policy | undefined,
  environment: Environment = process.env,
): string {
  const named = audit ?? (environment["MCP_SECURE_LOCAL_AUDIT"] || undefined);
  return named ?? policy?.audit.logFile ?? join(stateFolder(environment), LOG);
}

/** Where the token of `serve` is kept. */
export function tokenFile(environment: Environment = process.env): string {
  return environment["MCP_SECURE_LOCAL_TOKEN_FILE"] || join(configFolder(environment), "token");
}

/** The folder for what this program is set up with, as each system has it. */
export function configFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const { XDG_CONFIG_HOME: config, APPDATA: roaming } = environment;
  if (config !== undefined && isAbsolute(config)) return join(config, NAME);
  const home = homedir();
  if (platform === "darwin") return join(home, "Library", "Preferences", NAME);
  if (platform === "win32") return join(roaming || join(home, "AppData", "Roaming"), NAME, "Config");
  return join(home, ".config", NAME);
}

/** The folder for what this program remembers, as each system has it. */
export function stateFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const { XDG_STATE_HOME: state, LOCALAPPDATA: local } = environment;
  if (state !== undefined && isAbsolute(state)) return join(state, NAME);
  const home = homedir();
  if (platform === "darwin") return join(home, "Library", "Logs", NAME);
  if (platform === "win32") return join(local || join(home, "AppData", "Local"), NAME, "Log");
  return join(home, ".local", "state", NAME);
}
