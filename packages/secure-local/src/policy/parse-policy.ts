// Turns the text of a policy file into a policy, or tells every fault in it.
import { hash } from "node:crypto";
import { join } from "node:path";
import { decide } from "./decide.js";
import { Faults, type Place, type Rule, patternRule, ruleAt } from "./faults.js";
import {
  didYouMean,
  oneOf,
  type Placed,
  secondsUpTo,
  Section,
  TEXT,
  type Expectation,
  wholeNumber,
  YES_NO,
} from "./section.js";
import {
  DEFAULT_PORT,
  endpoint,
  type Environment,
  expandPath,
  readAnyPath,
  readAudit,
  readEndpoint,
  readFilePath,
  readFilesystem,
  readNetwork,
  readPath,
  readPathList,
} from "./read-paths.js";
import {
  type ApprovalRule,
  type Approver,
  type ArgumentCondition,
  type DatabasePolicy,
  CALLING_TOOL,
  DEFAULT_SANDBOX,
  FunctionNames,
  MAX_POLICY_BYTES,
  nextRevision,
  NO_CALL_OF_ITS_OWN,
  type OutputPolicy,
  type PluginGrant,
  type PluginsPolicy,
  type Policy,
  type Remember,
  type SandboxPolicy,
  type SecretPolicy,
  type ToolsPolicy,
} from "./policy.js";
import {
  checkProfiles,
  NAME_PATTERN,
  OUTPUT_BYTES,
  readMenu,
  readProfiles,
  readPrompts,
  readResources,
  readTools,
  withMenuTools,
} from "./read-names.js";
import { checkServers, readServers } from "./read-servers.js";
import { type MapTree, readTree, type Tree } from "./policy-tree.js";
import { ENTRY_NAME, readCommands, SHA256 } from "./read-commands.js";
import { PRESET_NAMES, PRESETS, type PresetValue } from "./policy-text.js";
import { type EndpointRule, HostMatcher, NameMatcher } from "./host-matcher.js";
import { checkOwnPlaces, placeLines } from "./own-places.js";
import { pathPatternFault } from "./path-matcher.js";

export interface ParseOptions {
  /** The name of the file, for messages and rules. */
  readonly file: string;
  /** Where `${NAME}` is looked up; `process.env` when absent. */
  readonly environment?: Environment;
}

const VERSION: Expectation<"1.0"> = {
  words: 'the text "1.0", in quotes',
  read: (value) => (value === "1.0" ? value : undefined),
};

/** @throws PolicyError with every fault of the text. */
export async function parsePolicy(text: string, options: ParseOptions): Promise<Policy> {
  const faults = new Faults(options.file);
  const plain = text.startsWith("\ufeff") ? text.slice(1) : text;
  if (Buffer.byteLength(plain) > MAX_POLICY_BYTES) {
    faults.add({ line: 1, column: 1 }, `the file is longer than ${MAX_POLICY_BYTES} bytes; shorten it`);
    faults.throwIfAny();
  }
  const tree = await readTree(plain, faults);
  faults.throwIfAny();
  if (!tree) faults.add({ line: 1, column: 1 }, 'the policy is empty; begin it with version: "1.0"');
  faults.throwIfAny();
  const extended = extendTree(tree!, faults);
  const root = new Section(extended.tree, "", faults);
  const environment = options.environment ?? process.env;
  const policy = await readPolicy(root, { text, file: options.file, environment, presets: extended.presets });
  checkSearchEndpoint(root, policy);
  checkReferences(root, policy);
  checkServers(faults, policy);
  checkProfiles(faults, policy);
  checkOwnPlaces(faults, policy, environment);
  faults.throwIfAny();
  return policy;
}

interface Source {
  readonly text: string;
  readonly file: string;
  readonly environment: Environment;
  readonly presets: readonly string[];
}

async function readPolicy(root: Section, from: Source): Promise<Policy> {
  const { environment } = from;
  if (root.tree("version") === undefined)
    root.faults.add(root.place, 'version is missing; begin the policy with version: "1.0"');
  else root.value("version", VERSION);
  // Its presets are in the tree already.
  root.tree("extends");
  const tools = readTools(root.section("tools"));
  const bothLimits = root.section("tools").tree("max_output_bytes") !== undefined;
  const output = readOutput(root.section("output"), tools, bothLimits);
  const menu = readMenu(root);
  const policy: Policy = {
    version: "1.0",
    file: from.file,
    hash: hash("sha256", from.text),
    revision: nextRevision(),
    presets: from.presets,
    network: readNetwork(root.section("network")),
    filesystem: readFilesystem(root.section("filesystem"), environment),
    commands: await readCommands(root.section("commands"), environment),
    // Both names of the limit have the same value.
    tools: { ...tools, allowed: withMenuTools(tools.allowed, menu), maxOutputBytes: output.maxBytes },
    resources: readResources(root.section("resources")),
    prompts: readPrompts(root.section("prompts"), environment),
    audit: readAudit(root.section("audit"), environment),
    approvals: readApprovals(root, environment),
    secrets: readSecrets(root.section("secrets"), environment),
    databases: readDatabases(root.section("databases"), environment),
    plugins: readPlugins(root.section("plugins"), environment),
    servers: readServers(root.section("servers"), environment),
    profiles: readProfiles(root.section("profiles")),
    profile: undefined,
    menu,
    sandbox: readSandbox(root, environment),
    lines: placeLines(root),
    output,
  };
  root.finish();
  return policy;
}

/** A search page that the network section forbids would fail at every call; better to say so now. */
function checkSearchEndpoint(root: Section, policy: Policy): void {
  const { endpoint } = policy.tools.webSearch;
  if (endpoint === undefined || root.faults.count > 0) return;
  const url = new URL(endpoint);
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const { allowed } = decide(policy, { kind: "network", host: url.hostname, port });
  const mayResolve = policy.network.dnsNames?.find(url.hostname, port) !== undefined;
  if (allowed || mayResolve) return;
  const place =
    root.section("tools").section("web_search").value("endpoint", { words: "", read: String })?.place ?? root.place;
  root.faults.add(
    place,
    `the network section does not allow ${url.hostname} port ${port}; add it to network.allowed_endpoints`,
  );
}

/** A name that nothing has would be found out at the first call; better to say so now. */
function checkReferences(root: Section, { commands, databases, plugins, secrets }: Policy): void {
  const check = (rule: Rule, what: string, name: string, known: ReadonlyMap<string, unknown>): void => {
    if (known.has(name)) return;
    const hint = didYouMean(name, known.keys()) || `; add it to ${what}`;
    root.faults.add(
      { line: rule.line ?? 1, column: rule.column ?? 1 },
      `${rule.text} names "${name}", which ${what} does not have${hint}`,
    );
  };
  for (const { rule, store } of databases.values()) {
    if (store.kind === "postgresql") check(rule, "secrets", store.secret, secrets);
  }
  for (const { rule, ...plugin } of plugins.load.values()) {
    for (const name of plugin.commands) check(rule, "commands.allowed", name, commands.allowed);
    for (const name of plugin.secrets) check(rule, "secrets", name, secrets);
  }
}

// Puts the presets that a policy extends under its own lines.

/** The policy with its presets in it, and their names in the order they were named. */
export interface Extended {
  readonly tree: Tree;
  readonly presets: readonly string[];
}

/**
 * Lists add up: a denial of a preset stays, a permission is added to. A single value that a preset sets may be repeated by the
 * file and not changed; then there is a fault at that value.
 */
export function extendTree(tree: Tree, faults: Faults): Extended {
  const given = tree.kind === "map" ? tree.entries.get("extends")?.value : undefined;
  if (tree.kind !== "map" || given === undefined) return { tree, presets: [] };
  let extended: Tree = tree;
  const presets: string[] = [];
  for (const item of given.kind === "list" ? given.items : [given]) {
    const preset = item.kind === "value" ? PRESETS.find(({ name }) => name === item.value) : undefined;
    if (preset === undefined) {
      const text = item.kind === "value" ? String(item.value).slice(0, 60) : "";
      const hint = didYouMean(text, PRESET_NAMES) || `; known presets are ${PRESET_NAMES.join(", ")}`;
      faults.add(item.place, `extends knows no preset "${text}"${hint}`);
    } else if (presets.includes(preset.name)) {
      faults.add(item.place, `extends names "${preset.name}" twice; remove one`);
    } else {
      presets.push(preset.name);
      const under = treeOf(preset.content, { ...item.place, preset: preset.name });
      extended = merge(under, extended, { path: "", faults });
    }
  }
  return { tree: extended, presets };
}

function treeOf(value: PresetValue, place: Place): Tree {
  if (typeof value !== "object") return { kind: "value", place, value };
  if (isList(value)) return { kind: "list", place, items: value.map((item) => treeOf(item, place)) };
  const entries = Object.entries(value).map(
    ([key, child]) => [key, { key: place, value: treeOf(child, place) }] as const,
  );
  return { kind: "map", place, entries: new Map(entries) };
}

function isList(value: PresetValue): value is readonly PresetValue[] {
  return Array.isArray(value);
}

interface At {
  readonly path: string;
  readonly faults: Faults;
}

/** `over` is the file's. Where the two are of different kinds the file's stands, and reading it tells what is wrong. */
function merge(under: Tree, over: Tree, at: At): Tree {
  if (over.kind === "value" && over.value === null) return under;
  if (under.kind === "map" && over.kind === "map") return mergeMaps(under, over, at);
  if (under.kind === "list" && over.kind === "list") return { ...over, items: [...under.items, ...over.items] };
  if (under.kind === "value" && over.kind === "value" && under.value !== over.value) {
    const preset = under.place.preset ?? "";
    const message = `${at.path} is ${under.value} in the preset "${preset}", which this policy extends; remove this line or the preset`;
    at.faults.add(over.place, message);
  }
  return over;
}

function mergeMaps(under: MapTree, over: MapTree, at: At): MapTree {
  const entries = new Map(under.entries);
  for (const [key, entry] of over.entries) {
    const below = under.entries.get(key);
    const path = at.path === "" ? key : `${at.path}.${key}`;
    entries.set(key, below ? { key: entry.key, value: merge(below.value, entry.value, { ...at, path }) } : entry);
  }
  return { ...over, entries };
}

// Reads the section approvals.

/** Nobody answers later; a question must not stay open longer than people remember what it was about. */
const MAX_TIMEOUT_S = 300;
const DEFAULT_TIMEOUT_S = 120;
const TIMEOUT = secondsUpTo(MAX_TIMEOUT_S);
/** `plugin:NAME` is whatever that plugin asks the server for. */
const ASKED_FOR: Expectation<string> = {
  words: `${NAME_PATTERN.words}, or plugin:NAME`,
  read: (value) => {
    const plugin = typeof value === "string" && value.startsWith(PLUGIN) ? value.slice(PLUGIN.length) : undefined;
    if (plugin === undefined) return NAME_PATTERN.read(value);
    return NAME_PATTERN.read(plugin) === undefined ? undefined : PLUGIN + plugin;
  },
};
const PLUGIN = "plugin:";
const GROUP = oneOf("destructive", "tainted", "all");
const APPROVER: Expectation<Approver> = oneOf("client", "terminal");
const MAX_REMEMBERED_MINUTES = 60;
const REMEMBER: Expectation<Remember> = {
  words: `none, session, or a number of minutes from 1 to ${MAX_REMEMBERED_MINUTES}`,
  read(value) {
    if (value === "none" || value === "session") return { kind: value };
    const minutes = typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 60;
    return minutes ? { kind: "minutes", minutes: value } : undefined;
  },
};
const CONDITION: Expectation<string | number | boolean> = {
  words: "a text (* and ? are patterns), a number, true or false",
  read: (value) =>
    (typeof value === "string" && value !== "") || typeof value === "number" || typeof value === "boolean"
      ? value
      : undefined,
};

/** @param root The whole policy. */
export function readApprovals(root: Section, environment: Environment): ApprovalRule[] {
  return root.items("approvals").flatMap((item) => {
    const approve = readApprove(item);
    const when = readWhen(item.section("when"), environment);
    const timeout = item.value("timeout", TIMEOUT)?.value ?? DEFAULT_TIMEOUT_S;
    const rule: ApprovalRule = {
      rule: ruleAt("approvals", approvalText(approve, when), item.place),
      approve: approve ?? "all",
      when,
      timeoutMs: timeout * 1_000,
      remember: item.value("remember", REMEMBER)?.value ?? { kind: "none" },
      answerBy: readAnswerBy(item),
    };
    item.finish();
    return approve === undefined ? [] : rule;
  });
}

/** Says the conditions too: rules for one tool are told apart by them, in a record and after the file was changed. */
function approvalText(approve: ApprovalRule["approve"] | undefined, when: readonly ArgumentCondition[]): string {
  const asked = typeof approve === "object" ? approve.rules.map(({ pattern }) => pattern).join(", ") : (approve ?? "");
  const conditions = when.map(({ argument, pattern }) => `${argument}: ${pattern}`).join(", ");
  return conditions === "" ? asked : `${asked} when ${conditions}`;
}

function readApprove(item: Section): ApprovalRule["approve"] | undefined {
  if (item.tree("approve")?.kind !== "list") return item.need("approve", GROUP)?.value;
  const names = item.some("approve", ASKED_FOR, "name a tool") ?? [];
  for (const { value, place } of names)
    if (value === CALLING_TOOL) item.faults.add(place, `${item.name("approve")} ${NO_CALL_OF_ITS_OWN}, or write all`);
  return new NameMatcher(names.map(({ value, place }) => patternRule("approvals", value, place)));
}

function readWhen(section: Section, environment: Environment): ArgumentCondition[] {
  const conditions = section.all(CONDITION).map(([argument, { value, place }]): ArgumentCondition => {
    if (typeof value !== "string" || !/^(?:\/|~|\$\{|\*\*\/|[A-Za-z]:\/)/.test(value)) {
      return { argument, pattern: value, isPath: false };
    }
    const expanded = expandPath(value, environment);
    const wrong = "wrong" in expanded ? expanded.wrong : pathPatternFault(expanded.path);
    if (wrong !== undefined) section.faults.add(place, `${section.name(argument)}: ${wrong}`);
    return { argument, pattern: "path" in expanded ? expanded.path : value, isPath: true };
  });
  section.finish();
  return conditions;
}

function readAnswerBy(item: Section): ReadonlySet<Approver> {
  const advice = "name client or terminal, or leave it out for both";
  const listed = item.some("answer_by", APPROVER, advice);
  return new Set(listed?.map(({ value }) => value) ?? (["client", "terminal"] as const));
}

// Reads the sections secrets and databases.

const FROM: Expectation<string> = {
  words: "env:NAME or file:PATH",
  read: (value) => (typeof value === "string" && /^(?:env:[A-Za-z_]\w*|file:.+)$/.test(value) ? value : undefined),
};
const HEADER: Expectation<string> = {
  words: "the name of a header, as in Authorization",
  read: (value) =>
    typeof value === "string" && /^[!#$%&'*+.^`|~\w-]{1,100}$/.test(value) ? value.toLowerCase() : undefined,
};
const PARAMETER: Expectation<string> = {
  words: "the name of a parameter in a URL, as in appid",
  read: (value) => (typeof value === "string" && /^[\w.~-]{1,100}$/.test(value) ? value : undefined),
};
const FIELD: Expectation<string> = {
  words: 'the name of a field, as in client_secret, or "*" for the whole body',
  read: (value) => (typeof value === "string" && /^(?:[\w.~-]{1,100}|\*)$/.test(value) ? value : undefined),
};
/** More rows than a model reads. */
const ROWS = wholeNumber(1, 100_000);
const DEFAULT_ROWS = 1_000;
/** A statement that takes longer than ten minutes holds up others. */
const QUERY_TIMEOUT = secondsUpTo(600);
const DEFAULT_QUERY_TIMEOUT_S = 10;

const FUNCTION: Expectation<string> = {
  words: "the name of a function, as in format_price, app.format_price or st_* (a last * stands for any ending)",
  read: (value) =>
    typeof value === "string" && /^(?:[\w$]{1,63}\.)?(?:[\w$]{1,63}\*?|\*)$/.test(value) && value !== "*"
      ? value
      : undefined,
};

export function readSecrets(section: Section, environment: Environment): ReadonlyMap<string, SecretPolicy> {
  return byName(section, ([name, item, place]) => {
    const from = readFrom(item, environment);
    if (item.tree("hosts") === undefined)
      item.faults.add(item.place, `${item.path} needs hosts: a list of those it may be sent to; [] for none`);
    const hosts = new HostMatcher(readHosts(item));
    const header = item.value("header", HEADER)?.value;
    const query = item.value("query", PARAMETER)?.value;
    const body = item.value("body", FIELD)?.value;
    item.finish();
    return from && { name, rule: ruleAt("secrets", name, place), from, hosts, header, query, body };
  });
}

function readFrom(item: Section, environment: Environment): SecretPolicy["from"] | undefined {
  const from = item.need("from", FROM);
  if (!from) return undefined;
  if (from.value.startsWith("env:")) return { kind: "env", name: from.value.slice(4) };
  const text = { value: from.value.slice(5), place: from.place };
  const path = readPath(item, text, { name: item.name("from"), environment });
  return path === undefined ? undefined : { kind: "file", path };
}

/** Texts and mappings may stand in one list. */
function readHosts(item: Section): EndpointRule[] {
  return (item.trees("hosts") ?? []).flatMap((tree, index) => {
    const name = `${item.name("hosts")}[${index}]`;
    if (tree.kind !== "value") return readEndpoint(item, { key: "hosts", tree, index, otherwise: [DEFAULT_PORT] });
    const host = item.item(tree, name, TEXT);
    return (host && endpoint(item, "hosts", { host: host.value, place: host.place, ports: [DEFAULT_PORT] })) ?? [];
  });
}

export function readDatabases(section: Section, environment: Environment): ReadonlyMap<string, DatabasePolicy> {
  return byName(section, ([name, item, place]) => {
    const file = readFilePath(item, "file", environment);
    const secret = item.value("secret", ENTRY_NAME)?.value;
    const both = item.tree("file") !== undefined && item.tree("secret") !== undefined;
    const neither = item.tree("file") === undefined && item.tree("secret") === undefined;
    if (both || neither)
      item.faults.add(item.place, `${item.path} needs a file (SQLite) or a secret (PostgreSQL), one of the two`);
    const named = item.list("functions", FUNCTION) ?? [];
    const superuser = item.value("superuser", YES_NO)?.value ?? false;
    if (file !== undefined && (named.length > 0 || superuser))
      item.faults.add(item.place, `${item.path} is an SQLite file; functions and superuser are for PostgreSQL`);
    const rest = {
      functions: new FunctionNames(named.map((each) => patternRule(item.name("functions"), each.value, each.place))),
      superuser,
      readOnly: item.value("read_only", YES_NO)?.value ?? true,
      rowLimit: item.value("row_limit", ROWS)?.value ?? DEFAULT_ROWS,
      timeoutMs: (item.value("timeout", QUERY_TIMEOUT)?.value ?? DEFAULT_QUERY_TIMEOUT_S) * 1_000,
    };
    item.finish();
    const rule = ruleAt("databases", name, place);
    if (file !== undefined) return { name, rule, store: { kind: "sqlite", file }, ...rest };
    return secret === undefined ? undefined : { name, rule, store: { kind: "postgresql", secret }, ...rest };
  });
}

type NamedSection = readonly [name: string, item: Section, place: Place];

function byName<T>(section: Section, read: (entry: NamedSection) => T | undefined): ReadonlyMap<string, T> {
  const entries = new Map<string, T>();
  for (const entry of section.named()) {
    const [name, , place] = entry;
    if (ENTRY_NAME.read(name) === undefined)
      section.faults.add(place, `${section.path} has the name "${name.slice(0, 60)}"; it must be ${ENTRY_NAME.words}`);
    const value = read(entry);
    if (value !== undefined) entries.set(name, value);
  }
  return entries;
}

// Reads the section plugins.

const RULE_ID: Expectation<string> = {
  words: "the id of a finding, as plugins list shows it: override.instructions",
  read: (value) => (typeof value === "string" && /^[a-z-]{2,30}\.[a-z-]{2,40}$/.test(value) ? value : undefined),
};
/** All of it may be read at once. */
const STORAGE_KB = wholeNumber(0, 65_536);

export function readPlugins(section: Section, environment: Environment): PluginsPolicy {
  const folder = readAnyPath(section, "folder", environment);
  const load = new Map<string, PluginGrant>();
  for (const item of section.items("load")) {
    const plugin = readPlugin(item, folder, environment);
    if (plugin && load.has(plugin.name))
      item.faults.add(item.place, `there are two plugins "${plugin.name}"; remove one`);
    else if (plugin) load.set(plugin.name, plugin);
  }
  section.finish();
  return { folder, load };
}

function readPlugin(item: Section, folder: string | undefined, environment: Environment): PluginGrant | undefined {
  const name = item.need("name", ENTRY_NAME)?.value;
  const own = readAnyPath(item, "path", environment);
  if (name !== undefined && item.tree("path") === undefined && folder === undefined)
    item.faults.add(item.place, `${item.path} needs a path, or plugins a folder`);
  const rest = {
    sha256: item.value("sha256", SHA256)?.value,
    enabled: item.value("enabled", YES_NO)?.value ?? true,
    network: readNetwork(item.section("network")),
    filesystem: readFilesystem(item.section("filesystem"), environment),
    commands: (item.list("commands", ENTRY_NAME) ?? []).map(({ value }) => value),
    secrets: (item.list("secrets", ENTRY_NAME) ?? []).map(({ value }) => value),
    accept: (item.list("accept", RULE_ID) ?? []).map(({ value }) => value),
    storageBytes: (item.value("storage_kb", STORAGE_KB)?.value ?? 0) * 1_024,
  };
  item.finish();
  const path = own ?? (folder === undefined || name === undefined ? undefined : join(folder, name));
  if (name === undefined || path === undefined) return undefined;
  return { name, rule: ruleAt("plugins.load", name, item.place), path, ...rest };
}

// Reads the sections sandbox and output.

const MODE = oneOf("required", "none");
const PROCESSES = wholeNumber(1, 4_096);
/** Less than this no interpreter starts in; more than a tebibyte no machine has. */
const MEMORY_MB = wholeNumber(16, 1_048_576);
const CPU_SECONDS = wholeNumber(1, 86_400);
const FILE_MB = wholeNumber(1, 1_048_576);
const HIDDEN = oneOf("strip", "show", "refuse");

/** @param root The whole policy: `sandbox` is a mapping, or the mode alone. */
export function readSandbox(root: Section, environment: Environment): SandboxPolicy {
  const tree = root.tree("sandbox");
  if (tree?.kind === "value" && tree.value !== null) {
    const mode = root.value("sandbox", MODE);
    return { ...DEFAULT_SANDBOX, ...modeOf(mode, "sandbox") };
  }
  const section = root.section("sandbox");
  const mode = section.value("mode", MODE);
  const sandbox: SandboxPolicy = {
    ...modeOf(mode, section.name("mode")),
    processes: section.value("processes", PROCESSES)?.value ?? DEFAULT_SANDBOX.processes,
    memoryMb: section.value("memory_mb", MEMORY_MB)?.value ?? DEFAULT_SANDBOX.memoryMb,
    cpuSeconds: section.value("cpu_seconds", CPU_SECONDS)?.value ?? DEFAULT_SANDBOX.cpuSeconds,
    fileMb: section.value("file_mb", FILE_MB)?.value ?? DEFAULT_SANDBOX.fileMb,
    readOnlyPaths: readPathList(section, "read_only_paths", environment),
    homes: readAnyPath(section, "homes", environment),
    git: section.value("git", YES_NO)?.value ?? DEFAULT_SANDBOX.git,
  };
  section.finish();
  return sandbox;
}

function modeOf(mode: Placed<"required" | "none"> | undefined, key: string): Pick<SandboxPolicy, "mode" | "rule"> {
  if (mode?.value !== "none") return { mode: "required", rule: undefined };
  return { mode: "none", rule: ruleAt(key, "none", mode.place) };
}

/** `tools` has the same limit under another name. */
export function readOutput(section: Section, tools: ToolsPolicy, toolsLimit: boolean): OutputPolicy {
  const limit = section.value("max_bytes", OUTPUT_BYTES);
  if (limit && toolsLimit)
    section.faults.add(limit.place, "output.max_bytes and tools.max_output_bytes say the same thing; keep one of them");
  const output: OutputPolicy = {
    maxBytes: limit?.value ?? tools.maxOutputBytes,
    markUntrusted: section.value("mark_untrusted", YES_NO)?.value ?? false,
    redactSecrets: section.value("redact_secrets", YES_NO)?.value ?? true,
    hiddenUnicode: section.value("hidden_unicode", HIDDEN)?.value ?? "strip",
  };
  section.finish();
  return output;
}
