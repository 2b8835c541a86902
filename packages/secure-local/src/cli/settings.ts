// Says which policy and audit log to use: option first, then environment, then the policy or the default place.
import { extname, join, resolve } from "node:path";
import { lstatSync, readFileSync } from "node:fs";
import type { Policy } from "../policy/policy.js";
import type { Rule } from "../policy/faults.js";
import type { CommandLine } from "./command-line.js";
import { FileRules, type Reader } from "../capabilities/files/file-rules.js";
import { ownFiles } from "../capabilities/files/own-files.js";
import type { Decision, FileOperation } from "../policy/decide.js";
import { cacheFolder, configFolder, dataFolder, stateFolder } from "../policy/own-places.js";
import { didYouMean } from "../policy/section.js";
import type { KnownTool } from "../policy/review-policy.js";
import type { JsonSchema } from "@secure-local/mcp/server";
import { type Catalogue, catalogueOf, has, lackingRule, unmetNeed } from "../server/catalogue.js";
import { lazyDatabases, lazyFileSystem } from "../server/lazy-parts.js";
import { objection, openArguments } from "../server/registrations.js";
import type { Logins } from "../server/open-server.js";
import { SERVER_NAME } from "../server/secure-server.js";

const LOG = "audit.log";

type Environment = Readonly<Record<string, string | undefined>>;

/** The policy that every command reads: the one that is named, else the one at its usual place. Undefined: the built-in policy. */
export function policyFile(
  { policy }: Pick<CommandLine, "policy">,
  environment: Environment = process.env,
): string | undefined {
  const named = policy ?? (environment["MCP_SECURE_LOCAL_POLICY"] || undefined);
  if (named !== undefined) return named;
  const usual = usualPolicyFile(environment);
  // Whatever lies there counts: one that cannot be read is an error, and not a reason to use another policy.
  return lstatSync(usual, { throwIfNoEntry: false }) === undefined ? undefined : usual;
}

/** Where `policy init` writes, and every command looks. */
export function usualPolicyFile(environment: Environment = process.env): string {
  return join(configFolder(environment), "policy.yaml");
}

export function auditFile(
  { audit }: Pick<CommandLine, "audit">,
  policy: Policy | undefined,
  environment: Environment = process.env,
): string {
  const named = audit ?? (environment["MCP_SECURE_LOCAL_AUDIT"] || undefined);
  return named ?? policy?.audit.logFile ?? usualAuditFile(environment);
}

/** Where it is where nobody names another. */
export function usualAuditFile(environment: Environment = process.env): string {
  return join(stateFolder(environment), LOG);
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
  readonly logs: string;
  /** What was found in the texts of approved servers. */
  readonly findings: string;
  /** Copies of the programs that servers are started from. */
  readonly programs: string;
  readonly logins: Logins;
} {
  const state = stateFolder(environment);
  return {
    storage: join(dataFolder(environment), "plugins"),
    copies: join(state, "plugins"),
    logs: join(state, "servers"),
    findings: join(state, "findings"),
    programs: join(state, "programs"),
    logins: async (url, fetch, secret) => {
      const { personAuthorizer } = await import("@secure-local/mcp-tools/target");
      return personAuthorizer(url, { tokensFile: clientTokensFile(environment), show: undefined, fetch, secret });
    },
  };
}

/** Everything this program keeps, which no tool may reach. */
export function ownPlaces(
  line: Pick<CommandLine, "audit"> & Partial<Pick<CommandLine, "tokens" | "shareKey" | "socket">>,
  environment: Environment = process.env,
): string[] {
  const log = auditFile(line, undefined, environment);
  // The other files of a log begin with its name up to the extension.
  const stem = log.slice(0, log.length - extname(log).length);
  const folders = [configFolder, stateFolder, dataFolder, cacheFolder].map((folder) => folder(environment));
  // Who has the tokens or the key is another, and who exchanges the socket hears what was meant for this program.
  const named = [line.tokens, line.shareKey, line.socket].flatMap((path) => (path ? [resolve(path)] : []));
  return [stem, ...named, tokenFile(environment), clientTokensFile(environment), ...folders];
}

/** Where running servers are found by `console`; no tool may reach it: it lies in the program's own folder. */
export function controlFolder(environment: Environment = process.env): string {
  return join(stateFolder(environment), "run");
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

export interface PolicyContext {
  /** What is known of a tool by its annotations; undefined for one there is not. */
  effects(tool: string): { readonly readOnly: boolean; readonly destructive: boolean } | undefined;
  /** Why a tool that the policy allows cannot be called all the same: there is none of that name, or nothing for it to work on. */
  idle(tool: string): string | undefined;
  /** The rule of the policy for that. */
  lacking(tool: string): Rule;
  /** Why a tool can only be misspelt; undefined where there is one of that name, or a plugin may have it. */
  unknown(tool: string): string | undefined;
  /** The server of the policy that a tool belongs to; undefined for our own. */
  serverOf?(tool: string): string | undefined;
  /** What clients call a tool of a server, where the whole of its name was given and is too long for them. */
  calledByClients?(tool: string): string | undefined;
  /** What of a tool that the policy allows nobody knows before its plugin is started. */
  note?(tool: string): string | undefined;
  /** What a server's own entry says against one of its tools. */
  denial?(tool: string): Decision | undefined;
  /** Where a prompt or resource can only be misspelt: that there is none; undefined where there is one, or a plugin or server may have it. */
  absent?(kind: "prompt" | "resource", name: string): string | undefined;
  /** What stands against a resource for where its links lead, and what else the server looks at before it reads. */
  objection?(uri: string): Decision | undefined;
  /** Arguments of a tool that it finds by itself when it runs, and those it takes where they are left out. */
  inputs?(tool: string): { readonly open: ReadonlySet<string>; readonly defaults: Readonly<Record<string, unknown>> };
  /** What is allowed of the file system, as people are told. */
  folders?(): readonly string[];
  /** Why a path, free of links, is refused; undefined when it is not. */
  judge(
    path: string,
    op: FileOperation,
    reader?: Reader,
  ): { readonly rule: string; readonly reason: string } | undefined;
}

export async function policyContext(policy: Policy, line: CommandLine): Promise<PolicyContext> {
  const catalogue = knownCatalogue(policy);
  const { tools } = catalogue;
  const mounted = policy.servers.size === 0 ? undefined : (await import("./server-context.js")).serverContext(policy);
  const plugins =
    policy.plugins.load.size === 0 ? undefined : await (await import("./server-state.js")).pluginContext(policy);
  const unknown = (name: string): string | undefined => {
    if (tools.has(name) || policy.plugins.load.size > 0) return undefined;
    if ([...policy.servers.keys()].some((server) => name.startsWith(`${server}__`))) return undefined;
    return `There is no tool "${name}"${didYouMean(name, [...tools.keys()])}.`.replace("?.", "?");
  };
  const rules = await FileRules.of(policy, ownFiles(policy, ownPlaces(line)));
  return {
    effects(name) {
      const annotations = tools.get(name)?.annotations;
      if (annotations === undefined) return mounted?.effects(name);
      const { readOnlyHint, destructiveHint } = annotations;
      return { readOnly: readOnlyHint, destructive: destructiveHint && !readOnlyHint };
    },
    idle(name) {
      const tool = tools.get(name);
      if (tool !== undefined) return unmetNeed(policy, tool.needs);
      return unknown(name) ?? mounted?.idle(name) ?? plugins?.idle(name);
    },
    lacking: (name) => lackingRule(policy, tools.get(name)?.needs),
    serverOf: (name) => mounted?.serverOf(name),
    calledByClients: (name) => mounted?.calledByClients(name),
    denial: (name) => mounted?.denial(name),
    note: (name) => (tools.has(name) ? undefined : plugins?.note(name)),
    unknown,
    absent(kind, name) {
      const servers = [...policy.servers.keys()];
      // Prompts of a server have its name before theirs; whose a URI is nobody knows beforehand.
      const theirs = kind === "prompt" ? servers.some((server) => name.startsWith(`${server}__`)) : servers.length > 0;
      const others = policy.plugins.load.size > 0 || theirs;
      return others || has(catalogue, kind, name) ? undefined : `There is no ${kind} "${name}".`;
    },
    objection: (uri) => objection(policy, catalogue, { kind: "resource", name: uri }),
    inputs: (name) => inputsOf(tools.get(name)?.input),
    judge: (path, op, reader) => rules.judge(path, op, reader),
    folders: () => rules.shown,
  };
}

/** The built-in tools, and what the policy lacks for each. */
export function reviewedTools(policy: Policy): KnownTool[] {
  return [...knownCatalogue(policy).tools.values()].map(({ name, needs, input, annotations }) => ({
    name,
    destructive: annotations.destructiveHint && !annotations.readOnlyHint,
    lack: unmetNeed(policy, needs),
    arguments: Object.keys((input["properties"] as object | undefined) ?? {}),
  }));
}

/** All that is built in. Nothing of it is run. */
function knownCatalogue(policy: Policy): Catalogue {
  const identity = { name: SERVER_NAME, version: programVersion() };
  const current = (): Policy => policy;
  const [files, databases] = [lazyFileSystem(current, []), lazyDatabases(current, [])];
  return catalogueOf(policy, { identity, tools: [], files, databases });
}

function inputsOf(input: JsonSchema | undefined): ReturnType<NonNullable<PolicyContext["inputs"]>> {
  const { properties = {} } = (input ?? {}) as { readonly properties?: Readonly<Record<string, unknown>> };
  const defaults = Object.entries(properties).flatMap(([name, schema]): [string, unknown][] =>
    typeof schema === "object" && schema !== null && "default" in schema ? [[name, schema.default]] : [],
  );
  return { open: openArguments(input), defaults: Object.fromEntries(defaults) };
}
