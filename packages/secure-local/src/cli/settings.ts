// Says which policy and audit log to use: option first, then environment, then the policy or the default place.
import { homedir } from "node:os";
import { extname, isAbsolute, join } from "node:path";
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

/** Where the tokens are kept that other servers gave to this program as a client. */
export function clientTokensFile(environment: Environment = process.env): string {
  return environment["MCP_SECURE_LOCAL_CLIENT_TOKENS"] || join(dataFolder(environment), "tokens.json");
}

/** Folders for what plugins keep between their starts, and for the copies of plugins that are started. */
export function pluginFolders(environment: Environment = process.env): {
  readonly storage: string;
  readonly copies: string;
} {
  return { storage: join(dataFolder(environment), "plugins"), copies: join(stateFolder(environment), "plugins") };
}

/** Everything this program keeps, which no tool may reach. */
export function ownPlaces(line: Pick<CommandLine, "audit">, environment: Environment = process.env): string[] {
  const log = auditFile(line, undefined, environment);
  // The other files of a log begin with its name up to the extension.
  const stem = log.slice(0, log.length - extname(log).length);
  const folders = [configFolder, stateFolder, dataFolder, cacheFolder].map((folder) => folder(environment));
  return [stem, tokenFile(environment), clientTokensFile(environment), ...folders];
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

/** The folder for the code V8 made of this program, as the launcher has it. */
export function cacheFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const home = platform === "darwin" ? join(homedir(), "Library", "Caches") : join(homedir(), ".cache");
  const { XDG_CACHE_HOME: cache } = environment;
  return join(cache !== undefined && isAbsolute(cache) ? cache : home, NAME);
}

/** The folder for what this program keeps for its user, as each system has it. */
export function dataFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const { XDG_DATA_HOME: data, LOCALAPPDATA: local } = environment;
  if (data !== undefined && isAbsolute(data)) return join(data, NAME);
  const home = homedir();
  if (platform === "darwin") return join(home, "Library", "Application Support", NAME);
  if (platform === "win32") return join(local || join(home, "AppData", "Local"), NAME, "Data");
  return join(home, ".local", "share", NAME);
}
