// Says which policy and audit log to use: option first, then environment, then the policy or the default place.
import { homedir } from "node:os";
import { extname, isAbsolute, join } from "node:path";
import { readFileSync } from "node:fs";
import type { Policy } from "../policy/policy.js";
import type { CommandLine } from "./command-line.js";
import { FileRules, ownFiles } from "../capabilities/files/file-rules.js";
import type { FileOperation } from "../policy/decide.js";
import { didYouMean } from "../policy/section.js";
import type { KnownTool } from "../policy/review-policy.js";
import type { Catalogue } from "../server/catalogue.js";
import { unmetNeed } from "../server/unmet-need.js";

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
function dataFolder(environment: Environment = process.env, platform: string = process.platform): string {
  const { XDG_DATA_HOME: data, LOCALAPPDATA: local } = environment;
  if (data !== undefined && isAbsolute(data)) return join(data, NAME);
  const home = homedir();
  if (platform === "darwin") return join(home, "Library", "Application Support", NAME);
  if (platform === "win32") return join(local || join(home, "AppData", "Local"), NAME, "Data");
  return join(home, ".local", "share", NAME);
}

// Finds the version of this program in its package.json, the only place where it is written.

/** Folders between this file and the package: one in the shipped bundle, two in the sources. */
const LEVELS = ["../package.json", "../../package.json"];

export function programVersion(): string {
  for (const level of LEVELS) {
    try {
      const text = readFileSync(join(import.meta.dirname, level), "utf8");
      const { name, version } = JSON.parse(text) as Record<string, string>;
      if (name === "mcp-secure-local" && version !== undefined) return version;
    } catch {
      // Not at this level.
    }
  }
  throw new Error("The package.json of mcp-secure-local is missing: install the package again");
}

// What a policy is asked in: the built-in tools, and the files of this machine under the names the policy has for them.

export interface Surroundings {
  /** What is known of a tool by its annotations; undefined for one there is not. */
  effects(tool: string): { readonly readOnly: boolean; readonly destructive: boolean } | undefined;
  /** Why a tool that the policy allows cannot be called all the same: there is none of that name, or nothing for it to work on. */
  idle(tool: string): string | undefined;
  /** Why a path, free of links, is refused; undefined when it is not. */
  judge(path: string, op: FileOperation): { readonly rule: string; readonly reason: string } | undefined;
}

export async function surroundingsOf(policy: Policy, line: CommandLine): Promise<Surroundings> {
  const tools = await knownTools(policy);
  const rules = await FileRules.of(policy, await ownFiles(policy, ownPlaces(line)));
  return {
    effects(name) {
      const annotations = tools.get(name)?.annotations;
      if (annotations === undefined) return undefined;
      const { readOnlyHint, destructiveHint } = annotations;
      return { readOnly: readOnlyHint, destructive: destructiveHint && !readOnlyHint };
    },
    idle(name) {
      const tool = tools.get(name);
      if (tool !== undefined) return unmetNeed(policy, tool.needs);
      if (policy.plugins.load.size > 0) return undefined;
      return `There is no tool "${name}"${didYouMean(name, [...tools.keys()])}.`.replace("?.", "?");
    },
    judge: (path, op) => rules.judge(path, op),
  };
}

/** The built-in tools, and what the policy lacks for each. */
export async function reviewedTools(policy: Policy): Promise<KnownTool[]> {
  return [...(await knownTools(policy)).values()].map(({ name, needs }) => ({ name, lack: unmetNeed(policy, needs) }));
}

/** The built-in tools by name; loaded only by commands that ask, because they cost a start more than the policy does. */
async function knownTools(policy: Policy): Promise<Catalogue["tools"]> {
  const { catalogueOf } = await import("../server/catalogue.js");
  const { SERVER_NAME } = await import("../server/secure-server.js");
  const identity = { name: SERVER_NAME, version: programVersion() };
  return catalogueOf(policy, { identity, tools: [] }).tools;
}
