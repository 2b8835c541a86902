// Everything this product can offer under one policy, allowed or not.
import type { Offer } from "@secure-local/mcp/gateway";
import type {
  Call,
  Middleware,
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  Unlisted,
} from "@secure-local/mcp/server";
import { systemClock } from "../capabilities/clock.js";
import { commandUsages } from "../capabilities/command-usage.js";
import type { Databases } from "../capabilities/databases/databases.js";
import { FileRules } from "../capabilities/files/file-rules.js";
import type { ReadLog } from "../capabilities/files/file-system.js";
import { FileError } from "../capabilities/files/files.js";
import { isFileUri, pathOfUri, plainPath } from "../capabilities/files/plain-path.js";
import { gitAddress, isGitUri } from "../capabilities/git/git-folder.js";
import type { Run } from "../capabilities/policy-run.js";
import { RunError } from "../capabilities/refusals.js";
import type { SubjectKind } from "../guard/compiled-policy.js";
import { decide, type Decision } from "../policy/decide.js";
import {
  type FilesystemPolicy,
  MENU_TOOLS,
  type NetworkPolicy,
  type Policy,
  type WebSearchPolicy,
} from "../policy/policy.js";
import type { Rule } from "../policy/faults.js";
import { analyzeLogs } from "../prompts/analyze-logs.js";
import { codeReview } from "../prompts/code-review.js";
import {
  isTableUri,
  schemaResource,
  schemaUri,
  TABLE_TEMPLATE,
  tableTemplate,
} from "../resources/database-resources.js";
import {
  FILE_TEMPLATE,
  type FileResourceOptions,
  fileTemplate,
  folderResource,
  SERVER_INFO_URI,
  serverInfo,
} from "../resources/file-resources.js";
import { GIT_TEMPLATE, gitTemplate } from "../resources/git-resources.js";
import { calculate } from "../tools/calculate/calculate.js";
import { editFile, writeFile } from "../tools/files/change-files.js";
import { listDirectory, searchFiles, searchText } from "../tools/files/find-files.js";
import { getTimestamp } from "../tools/get-timestamp/get-timestamp.js";
import { importCsv, queryDatabase } from "../tools/query-database/query-database.js";
import { readFile } from "../tools/read-file/read-file.js";
import { runCommand } from "../tools/run-command/run-command.js";
import {
  CALL_TOOL,
  callTool,
  listCategories,
  type ListedTools,
  meantCall,
  searchTools,
} from "../tools/search-tools/search-tools.js";
import type { BuiltinTool, ToolNeed, ToolSchema } from "../tools/tool.js";
import { webFetch } from "../tools/web-fetch/web-fetch.js";
import { duckDuckGo, searxng, webSearch } from "../tools/web-search/web-search.js";
import type { PluginRegistrations } from "./plugin-registrations.js";

export type AnyTool = BuiltinTool<never>;
export type AnyPrompt = PromptDefinition<Record<string, { readonly description?: string }>>;

export interface Catalogue {
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly prompts: ReadonlyMap<string, AnyPrompt>;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
  /** By URI template. */
  readonly templates: ReadonlyMap<string, ResourceFamily>;
  /** What plugins would offer and may not, by kind and name as in `tool weather_now`, and why. */
  readonly withheld: ReadonlyMap<string, string>;
  /** The plugin behind something, by kind and name. */
  readonly owners: ReadonlyMap<string, string>;
  /** The server of the policy behind something; undefined for everything that is not a mounted server's. */
  readonly mountedOn: MountedOn;
}

/** Finds the server of the policy behind something that clients see. */
export type MountedOn = (kind: SubjectKind, name: string) => string | undefined;

export interface CatalogueOptions {
  readonly identity: { readonly name: string; readonly version: string };
  /** Tools beside the built-in ones. */
  readonly tools: readonly AnyTool[];
  /** How files become resources; without it they do not. */
  readonly files?: FileResourceOptions;
  /** How databases are asked for their schemas; without it those are no resources. */
  readonly databases?: Databases;
  /** What plugins offer; nothing of it takes the place of anything built in. */
  readonly plugins?: PluginRegistrations;
  /** Servers of the policy that are mounted beside all this. */
  readonly servers?: { readonly mountedOn: MountedOn };
  /** How commands are run; without it they are only listed. */
  readonly run?: Run;
  /** Reads the log that the policy names; without it no prompt carries one. */
  readonly readLog?: ReadLog;
  /** The tools that are listed, asked when somebody searches them. */
  readonly listed?: ListedTools;
  /** Whether the others are called by `call_tool`. Default: where the menu of the policy may want it. */
  readonly shortMenu?: boolean;
}

const notRun: Run = () => Promise.reject(new RunError("no-wall", "No commands are run here."));

const FILE_TOOLS: readonly AnyTool[] = [readFile, writeFile, editFile, listDirectory, searchFiles, searchText];

export function catalogueOf(policy: Policy, options: CatalogueOptions): Catalogue {
  const { identity, tools, files, databases, plugins, servers, run = notRun, listed = () => [] } = options;
  const { shortMenu = policy.menu.mode !== "full" } = options;
  const readLog = policy.prompts.analyzeLogsFile === undefined ? undefined : options.readLog;
  const offered = fileRegistrations(policy, files);
  const schemas = databaseRegistrations(policy, databases);
  const builtIn: readonly AnyTool[] = [
    searchTool(policy.tools.webSearch),
    webFetch,
    calculate,
    getTimestamp,
    ...FILE_TOOLS,
    runCommand({ run, commands: commandUsages(policy) }),
    queryDatabase,
    importCsv,
    searchTools(listed),
    listCategories(listed),
    ...(shortMenu ? [callTool] : []),
  ];
  return {
    tools: new Map([...(plugins?.tools ?? []), ...builtIn, ...tools].map((tool) => [tool.name, tool])),
    prompts: new Map<string, AnyPrompt>([
      ...(plugins?.prompts ?? []),
      ["code_review", codeReview],
      ["analyze_logs", analyzeLogs({ readLog, clock: systemClock })],
    ]),
    resources: new Map([
      ...(plugins?.resources ?? []),
      [SERVER_INFO_URI, serverInfo(identity)],
      ...offered.resources,
      ...schemas.resources,
    ]),
    templates: new Map([...offered.templates, ...gitRegistrations(policy, files), ...schemas.templates]),
    withheld: plugins?.withheld ?? new Map<string, string>(),
    mountedOn: servers?.mountedOn ?? (() => undefined),
    owners: plugins?.owners ?? new Map<string, string>(),
  };
}

/** Whether the catalogue has this tool, prompt or resource. */
export function has(catalogue: Catalogue, kind: SubjectKind, name: string): boolean {
  return offers(catalogue, kind, name) || catalogue.withheld.has(`${kind} ${name}`);
}

/** Why something is not offered that is there; undefined when something else of its name is offered. */
export function withheldReason(catalogue: Catalogue, kind: SubjectKind, name: string): string | undefined {
  return offers(catalogue, kind, name) ? undefined : catalogue.withheld.get(`${kind} ${name}`);
}

function offers(catalogue: Catalogue, kind: SubjectKind, name: string): boolean {
  if (catalogue.mountedOn(kind, name) !== undefined) return true;
  switch (kind) {
    case "tool":
      return catalogue.tools.has(name);
    case "prompt":
      return catalogue.prompts.has(name);
    case "resource":
      return catalogue.resources.has(name) || catalogue.templates.has(name) || familyOf(catalogue, name) !== undefined;
  }
}

/** The family a URI belongs to. */
export function familyOf({ templates }: Catalogue, uri: string): ResourceFamily | undefined {
  for (const family of templates.values()) if (family.claims(uri)) return family;
  return undefined;
}

function searchTool({ provider, endpoint }: WebSearchPolicy): AnyTool {
  if (provider === "searxng") return webSearch(searxng({ endpoint: endpoint ?? "" }));
  return webSearch(duckDuckGo(endpoint === undefined ? {} : { endpoint }));
}

// Joins the files as resources to the policy: which are offered, and what stands against a URI before it is touched.

const RULES = new WeakMap<Policy, FileRules>();

export interface FileRegistrations {
  readonly templates: ReadonlyMap<string, ResourceFamily>;
  readonly resources: readonly (readonly [string, ResourceDefinition])[];
}

const NOTHING: FileRegistrations = { templates: new Map(), resources: [] };

/** The template and the folders to begin with; nothing where the policy lets no file be read. */
export function fileRegistrations(policy: Policy, options: FileResourceOptions | undefined): FileRegistrations {
  if (options === undefined || unmetNeed(policy, ["readable-files"]) !== undefined) return NOTHING;
  const family: ResourceFamily = { definition: fileTemplate(options), claims: isFileUri, objection: fileObjection };
  return {
    templates: new Map([[FILE_TEMPLATE, family]]),
    resources: rulesOf(policy).folders.map((folder) => folderResource(folder, options)),
  };
}

/** By the words of the path alone, so that it is the same whether there is such a file or not. */
function fileObjection(policy: Policy, uri: string): Decision | undefined {
  if (uri === FILE_TEMPLATE) return undefined;
  try {
    const path = plainPath(pathOfUri(uri));
    const refusal = rulesOf(policy).judge(path, "read");
    if (refusal === undefined || rulesOf(policy).judge(path, "list") === undefined) return undefined;
    return { allowed: false, rule: { text: refusal.rule }, reason: `"${uri}" may not be read. ${refusal.reason}` };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { allowed: false, rule: { text: "built-in rule: only plain file URIs" }, reason: error.message };
  }
}

/** The rules of a policy by names alone, made once for each. */
export function rulesOf(policy: Policy): FileRules {
  let rules = RULES.get(policy);
  if (rules === undefined) RULES.set(policy, (rules = FileRules.byName(policy)));
  return rules;
}

// Joins git repositories as resources to the policy: whether they are offered, and what stands against a URI before it is touched.

/** The template; nothing where the policy lets no file be read. */
export function gitRegistrations(
  policy: Policy,
  options: Pick<FileResourceOptions, "files"> | undefined,
): ReadonlyMap<string, ResourceFamily> {
  if (options === undefined || unmetNeed(policy, ["readable-files"]) !== undefined) return new Map();
  return new Map([
    [GIT_TEMPLATE, { definition: gitTemplate(options.files), claims: isGitUri, objection: gitObjection }],
  ]);
}

/** By the words of the address alone: as the file of that name in the work tree. */
function gitObjection(policy: Policy, uri: string): Decision | undefined {
  if (uri === GIT_TEMPLATE) return undefined;
  try {
    const { repository, path } = gitAddress(uri);
    const [rules, file] = [rulesOf(policy), plainPath(`${repository}/${path}`)];
    const refusal = rules.judge(plainPath(repository), "list") ?? rules.judge(file, "read");
    if (refusal === undefined || rules.judge(file, "list") === undefined) return undefined;
    return { allowed: false, rule: { text: refusal.rule }, reason: `"${uri}" may not be read. ${refusal.reason}` };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { allowed: false, rule: { text: "built-in rule: only plain git URIs" }, reason: error.message };
  }
}

// Says what the policy lacks for a tool to be of any use.

/** What is lacking and which key of the policy gives it; undefined when nothing is. */
export function unmetNeed(policy: Policy, needs: readonly ToolNeed[] = []): string | undefined {
  for (const need of needs) {
    const lack = LACKS[need](policy);
    if (lack !== undefined) return lack;
  }
  return undefined;
}

const DEFAULT_DENY: Rule = Object.freeze({ text: "default deny" });

/** The rule that takes away what is lacking: where no line does, none gives it. */
export function lackingRule({ filesystem, network }: Policy, needs: readonly ToolNeed[] = []): Rule {
  const { allowed, readOnly } = filesystem;
  if (needs.includes("writable-files") && allowed.rules.length > 0 && readOnly !== undefined) return readOnly;
  return (needs.includes("network") ? network.offline : undefined) ?? DEFAULT_DENY;
}

const LACKS: Readonly<Record<ToolNeed, (policy: Policy) => string | undefined>> = {
  "readable-files": ({ filesystem }) =>
    mayRead(filesystem) ? undefined : "The policy lets no file be read; add folders to filesystem.allowed_paths.",
  "writable-files": ({ filesystem }) =>
    mayWrite(filesystem)
      ? undefined
      : "The policy lets no file be written; add folders to filesystem.allowed_paths, without filesystem.read_only.",
  databases: ({ databases }) =>
    databases.size > 0 ? undefined : "The policy names no database; add one under databases.",
  "fillable-databases": ({ databases }) =>
    [...databases.values()].some(({ store, readOnly }) => store.kind === "sqlite" && !readOnly)
      ? undefined
      : "The policy names no database that may be filled; add one under databases, with a file and read_only: false.",
  commands: ({ commands }) =>
    commands.allowed.size > 0 ? undefined : "The policy names no command; add some to commands.allowed.",
  "search-service": () => undefined,
  network: ({ network }) =>
    mayConnect(network) ? undefined : "The policy lets no host be reached; add some to network.allowed_endpoints.",
};

function mayRead({ allowed, readable }: FilesystemPolicy): boolean {
  return allowed.rules.length + readable.rules.length > 0;
}

function mayWrite({ allowed, readOnly }: FilesystemPolicy): boolean {
  return allowed.rules.length > 0 && readOnly === undefined;
}

function mayConnect({ offline, allowedEndpoints, allowedRanges }: NetworkPolicy): boolean {
  return offline === undefined && allowedEndpoints.rules.length + allowedRanges.rules.length > 0;
}

// The menu: every tool in the list, or two that find and call the others. Decided by the policy and what was approved alone,
// so that no list changes because of what somebody did.

/** What models are said to bear before they choose worse; a token is about four bytes. */
const MOST_TOKENS = 12_000;
const TOKEN_BYTES = 4;

export class Menu {
  readonly #say: (line: string) => void;
  #short = false;
  #told = "";

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** Whether lists show the two alone. */
  get short(): boolean {
    return this.#short;
  }

  /** To be asked before what is offered changes: `tools` are all that may be called under this policy, as lists show them. */
  adopt(policy: Policy, tools: () => readonly object[]): void {
    const { mode } = policy.menu;
    if (mode === "full") {
      this.#short = false;
      this.#told = "";
      return;
    }
    const denied = MENU_TOOLS.find((name) => !decide(policy, { kind: "tool", name }).allowed);
    const all = tools();
    const bytes = all.reduce<number>((sum, tool) => sum + Buffer.byteLength(JSON.stringify(tool)), 0);
    const tokens = Math.ceil(bytes / TOKEN_BYTES);
    this.#short = denied === undefined && (mode === "search" || tokens > MOST_TOKENS);
    if (denied !== undefined) this.#tell(`menu: ${mode}: the policy denies ${denied}, so lists show every tool`);
    else if (this.#short && mode === "auto")
      this.#tell(
        `menu: auto: ${all.length} tools take about ${tokens} tokens, more than ${MOST_TOKENS}, so lists show ${MENU_TOOLS.join(" and ")} alone`,
      );
    else this.#told = "";
  }

  /** What lists leave out. */
  readonly unlisted: Unlisted = (kind, name) => kind === "tool" && this.#short && !MENU_TOOLS.includes(name);

  /** Makes a call through `call_tool` the call that is meant, before anything judges, counts or records it. */
  readonly middleware: Middleware = (call, next) => {
    if (this.#short && isCallTool(call)) {
      const meant = meantCall(call.params);
      if (meant !== undefined) call.redirect(meant);
    }
    return next();
  };

  #tell(line: string): void {
    if (line !== this.#told) this.#say(line);
    this.#told = line;
  }
}

function isCallTool({ method, params }: Call): boolean {
  return method === "tools/call" && params["name"] === CALL_TOOL;
}

// Joins families of resources, the schemas of databases first, to the policy: which are offered.

/** A family of resources, and which URIs it claims. */
interface ResourceFamily {
  readonly definition: ResourceTemplateDefinition;
  claims(uri: string): boolean;
  /** What stands against one of its URIs though the policy allows it as a name; undefined when nothing does. */
  objection?(policy: Policy, uri: string): Decision | undefined;
}

export interface DatabaseRegistrations {
  readonly templates: ReadonlyMap<string, ResourceFamily>;
  readonly resources: readonly (readonly [string, ResourceDefinition])[];
}

/** A schema for each database the policy names, and the template of their tables; nothing where it names none. */
function databaseRegistrations(policy: Policy, databases: Databases | undefined): DatabaseRegistrations {
  if (databases === undefined || policy.databases.size === 0) return { templates: new Map(), resources: [] };
  const family: ResourceFamily = { definition: tableTemplate(databases), claims: isTableUri };
  return {
    templates: new Map([[TABLE_TEMPLATE, family]]),
    resources: [...policy.databases.keys()].map((name) => schemaResource(name, databases)),
  };
}

/** Schemas of servers, which nobody can watch: they may be others wherever the policy is. */
export function unwatchedSchemas(policy: Policy): string[] {
  return [...policy.databases.values()]
    .filter(({ store }) => store.kind !== "sqlite")
    .map(({ name }) => schemaUri(name));
}

// A tool of a server of the policy, as those of our own are described.

export type MountedTool = Omit<BuiltinTool<never>, "run">;

/** `name`: as it is called outside. */
export function mountedTool(name: string, server: string, tool: Offer["tools"][number]): MountedTool {
  const { name: own, title, description = "", inputSchema: input, outputSchema: output, annotations = {} } = tool;
  const { readOnlyHint = false, idempotentHint = false, openWorldHint = true } = annotations;
  const destructiveHint = !readOnlyHint && annotations.destructiveHint !== false;
  return {
    name,
    title: title ?? annotations.title ?? own,
    description,
    category: server,
    input,
    ...(output?.["type"] === "object" ? { output: output as ToolSchema } : {}),
    annotations: { readOnlyHint, destructiveHint, idempotentHint, openWorldHint },
  };
}
