// Finds what is probably not meant in a policy that can be used: it allows nothing, or rules never count.
import { remembersLess } from "./decide-command.js";
import { decide, isMetadataHost, ownNames } from "./decide.js";
import type { PatternRule, Rule } from "./faults.js";
import type { EndpointRule } from "./host-matcher.js";
import type { ApprovalRule, NamesPolicy, NetworkPolicy, PerTool, Policy } from "./policy.js";
import { didYouMean } from "./section.js";
import { filesNamed, filesNamedByServer, type NamedFile } from "./started-files.js";

/** A name no file has: what it fits is fitted by every name. */
const ANY_NAME = "\u0001";

/** What lies at a path; `unknown` where that could not be found out. */
export type PathKind = "folder" | "file" | "nothing" | "unknown";

/** What the policy itself may not look at. */
interface Surroundings {
  /** Looks at a path of this machine. */
  readonly kindOf?: (path: string) => PathKind;
  /** What was approved of servers and plugins. Default: nobody knows. */
  readonly approved?: ApprovedNames | undefined;
  /** Variables that have to be set for secrets. Default: where the policy is served they may be. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

export function reviewPolicy(
  policy: Policy,
  known: readonly KnownTool[],
  { kindOf = () => "unknown", approved, environment }: Surroundings = {},
): Remark[] {
  return [
    ...nothingUseful(policy, known),
    ...idleTools(policy, known),
    ...shadowedNames(policy.tools, "tool"),
    ...shadowedNames(policy.resources, "resource"),
    ...shadowedNames(policy.prompts, "prompt"),
    ...shadowedEndpoints(policy.network),
    ...shadowedPaths(policy),
    ...shadowedCommands(policy),
    ...hiddenHistories(policy),
    ...misnamed(policy, known, approved),
    ...changedServers(policy, approved),
    ...unnamedItems(policy, approved),
    ...withheldPlugins(policy, approved),
    ...openConditions(policy, known),
    ...idleMemories(policy.approvals, known),
    ...idleLimits(policy),
    ...openDoors(policy),
    ...emptyPaths(policy, kindOf),
    ...unreachableDatabases(policy),
    ...missingParts(policy, kindOf),
    ...writableLaunches(policy, kindOf),
    ...unfetchedHosts(policy),
    ...secretsOfThisMachine(policy),
    ...missingSecrets(policy, kindOf),
    ...unsetSecrets(policy, environment),
  ];
}

/** Services of this machine rarely listen at the port that a host without one means. */
function secretsOfThisMachine({ secrets }: Policy): Remark[] {
  return [...secrets.values()].flatMap(({ name, rule, hosts }) =>
    hosts.rules
      .filter(({ pattern, ports }) => LOOPBACK.test(pattern) && ports?.size === 1 && ports.has(HTTPS))
      .map(({ pattern }) => ({
        rule,
        message: `secrets.${name} goes to port ${HTTPS} of ${pattern} and no other; another port is written hosts: [{ host: "${pattern}", ports: [8080] }]`,
      })),
  );
}

/** Where the file of a secret is gone, what names it is not started. A variable may be set where the program is served. */
function missingSecrets({ secrets }: Policy, kindOf: (path: string) => PathKind): Remark[] {
  return [...secrets.values()].flatMap(({ name, rule, from }) => {
    if (from.kind !== "file") return [];
    const kind = kindOf(from.path);
    if (kind !== "nothing" && kind !== "folder") return [];
    const fault = kind === "nothing" ? "is missing; write the value into it" : "is a folder; name a file in it";
    return [{ rule, message: `the secret ${name} cannot be read: ${from.path} ${fault}` }];
  });
}

function unsetSecrets({ secrets }: Policy, environment: Surroundings["environment"]): Remark[] {
  if (environment === undefined) return [];
  return [...secrets.values()].flatMap(({ name, rule, from }) => {
    if (from.kind !== "env" || (environment[from.name] ?? "").trim() !== "") return [];
    const message = `the secret ${name} has no value here: the variable ${from.name} is not set; set it where this program is started`;
    return [{ rule, message }];
  });
}

const HTTPS = 443;
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/i;

function nothingUseful(policy: Policy, tools: readonly KnownTool[]): Remark[] {
  const named = tools.filter(({ name }) => decide(policy, { kind: "tool", name }).allowed);
  if (named.some(({ lack }) => lack === undefined) || policy.plugins.load.size > 0) return [];
  // Whether a server has such tools is said of each rule.
  if (policy.tools.allowed.rules.some(({ pattern }) => serverOf(policy, pattern) !== undefined)) return [];
  if (named.length > 0)
    return [{ message: "no tool the policy allows has anything to work on: a client can do nothing useful" }];
  const others = policy.resources.allowed.rules.length + policy.prompts.allowed.rules.length;
  const { filesystem, network } = policy;
  const grants =
    filesystem.allowed.rules.length + filesystem.readable.rules.length + network.allowedEndpoints.rules.length;
  // What is granted beside tools is what `sandbox` runs a command under: there the policy may be all that is wanted.
  if (grants > 0 && others === 0)
    return [
      {
        message:
          "the policy allows no tool: it serves `sandbox -- COMMAND`, and no client; for one, name tools in tools.allowed",
      },
    ];
  const what = others === 0 ? "nothing at all" : "no tool";
  return [{ message: `the policy allows ${what}: a client can do nothing useful; name tools in tools.allowed` }];
}

/** Tools that the file itself names, and that are not listed because they could do nothing. */
function idleTools({ tools }: Policy, known: readonly KnownTool[]): Remark[] {
  return known.flatMap(({ name, lack }) => {
    const found = tools.allowed.findExact(name);
    const own = found !== undefined && found.preset === undefined && tools.denied.find(name) === undefined;
    if (lack === undefined || !own) return [];
    return [{ rule: found, message: `"${name}" is allowed and has nothing to work on. ${lack}` }];
  });
}

/** Permissions that a denial takes back whole, and those another permission already gives. */
function shadowedNames({ allowed, denied }: NamesPolicy, what: string): Remark[] {
  const seen: PatternRule[] = [];
  return allowed.rules.flatMap((each) => {
    const { pattern, rule } = each;
    const stem = pattern.replace(/\*$/, "");
    const prefix = pattern.endsWith("*");
    const by = prefix ? denied.findPrefix(stem) : denied.find(pattern);
    const wider = seen.find((other) => covers(other.pattern, stem, prefix));
    seen.push(each);
    if (by) return never(rule, by);
    return wider && wider.rule.preset === undefined && rule.preset === undefined
      ? { rule, message: `this ${what} is already allowed by ${at(wider.rule)}; one of the two can go` }
      : [];
  });
}

function covers(pattern: string, stem: string, prefix: boolean): boolean {
  return pattern.endsWith("*") ? stem.startsWith(pattern.slice(0, -1)) : !prefix && pattern === stem;
}

function shadowedEndpoints(network: NetworkPolicy): Remark[] {
  return network.allowedEndpoints.rules.flatMap((endpoint) => {
    const by = network.offline ?? deniedEverywhere(network, endpoint);
    if (by) return never(endpoint.rule, by);
    const isName = !/^[\d.]+$|:/.test(endpoint.pattern);
    if (isName && network.dnsRefused) return never(endpoint.rule, network.dnsRefused);
    const unlisted = isName && network.dnsNames && !network.dnsNames.find(endpoint.pattern, 443);
    const message = "this name is not in network.dns_allowlist, so it is never looked up; add it there";
    return unlisted && !endpoint.pattern.startsWith("*") ? { rule: endpoint.rule, message } : [];
  });
}

/** The rule that denies the endpoint at its last open port. */
function deniedEverywhere(network: NetworkPolicy, { pattern, ports }: EndpointRule): Rule | undefined {
  let by: Rule | undefined;
  for (const port of ports ?? [0]) {
    by = network.blockedPorts.get(port) ?? network.deniedEndpoints.find(pattern, port);
    if (!by) return undefined;
  }
  return by;
}

function shadowedPaths({ filesystem }: Policy): Remark[] {
  const { allowed, readable, denied } = filesystem;
  return [...allowed.rules, ...readable.rules].flatMap(({ pattern, rule }) => {
    const sample = pattern.replaceAll("**", `${ANY_NAME}/${ANY_NAME}`).replace(/[*?]/g, ANY_NAME);
    const by = denied.find(sample);
    return by ? never(rule, by) : [];
  });
}

function shadowedCommands({ commands }: Policy): Remark[] {
  return [...commands.allowed.values()].flatMap(({ name, executable, rule }) => {
    const base = executable.slice(Math.max(executable.lastIndexOf("/"), executable.lastIndexOf("\\")) + 1);
    const names = [name, base].map((each) => each.toLowerCase());
    const by = commands.blocked.find(({ pattern }) => names.includes(pattern.toLowerCase()));
    return by ? never(rule, by.rule) : [];
  });
}

/** Commands that run git, which sees no repository in their sandbox. */
function hiddenHistories({ commands, sandbox }: Policy): Remark[] {
  if (sandbox.git) return [];
  return [...commands.allowed.values()]
    .filter(({ executable }) => /(?:^|[/\\])git(?:\.exe)?$/i.test(executable))
    .map(({ name, rule }) => ({
      rule,
      message: `"${name}" runs git, which sees no .git in its sandbox and finds no repository; write git: true below sandbox`,
    }));
}

/** Conditions on arguments that no tool has whose calls they are about. */
function openConditions(policy: Policy, known: readonly KnownTool[]): Remark[] {
  // What arguments a plugin's tools have is known when it runs.
  if (policy.plugins.load.size > 0) return [];
  return policy.approvals.flatMap((rule) => openConditionsOf(policy, rule, known));
}

function openConditionsOf(
  policy: Policy,
  { rule, approve, when }: ApprovalRule,
  known: readonly KnownTool[],
): Remark[] {
  const isMeant = ({ name }: KnownTool): boolean => typeof approve === "string" || approve.find(name) !== undefined;
  const meant = known.filter(isMeant);
  const patterns = typeof approve === "string" ? ["*"] : approve.rules.map(({ pattern }) => pattern);
  const servers = patterns.some((each) => /__|:/.test(each) || (each.endsWith("*") && policy.servers.size > 0));
  if (servers || meant.length === 0 || meant.some((tool) => tool.arguments === undefined)) return [];
  const names = [...new Set(meant.flatMap((tool) => tool.arguments ?? []))];
  return when
    .map(({ argument }) => argument.split(".")[0] ?? "")
    .filter((argument) => !names.includes(argument))
    .map((argument) => ({
      rule,
      message: `no tool it names has an argument "${argument}", so nobody is asked${didYouMean(argument, names)}`,
    }));
}

/** Of all rules that fit a call the narrowest memory counts: another rule may leave nothing of what this one remembers. */
function idleMemories(rules: readonly ApprovalRule[], known: readonly KnownTool[]): Remark[] {
  return rules.flatMap((each) => {
    const by = rules.find(
      (other) => other.when.length === 0 && remembersLess(other, each) && fitsAllOf(other, each, known),
    );
    if (by === undefined) return [];
    const message = `what "remember" says here never counts: ${at(by.rule)} fits the same calls and remembers less; write "remember" there as well`;
    return [{ rule: each.rule, message }];
  });
}

function fitsAllOf({ approve: wide }: ApprovalRule, { approve }: ApprovalRule, known: readonly KnownTool[]): boolean {
  if (wide === "all" || wide === approve) return true;
  if (typeof approve === "string" || wide === "tainted") return false;
  return approve.rules.every(({ pattern }) => {
    if (wide === "destructive") return known.some(({ name, destructive }) => name === pattern && destructive === true);
    const [prefix, stem] = [pattern.endsWith("*"), pattern.replace(/\*$/, "")];
    return wide.rules.some((other) => covers(other.pattern, stem, prefix));
  });
}

/** Limits of tools that the policy does not allow. */
function idleLimits({ tools }: Policy): Remark[] {
  const idle = (values: PerTool, key: string): Remark[] =>
    [...values.byName.keys()]
      .filter((name) => !tools.allowed.find(name) || tools.denied.find(name))
      .map((name) => ({ message: `tools.${key} limits "${name}", which tools.allowed does not allow` }));
  return [...idle(tools.rateLimits, "rate_limits"), ...idle(tools.timeoutsMs, "timeouts")];
}

/** What opens more than most people mean. */
function openDoors({ sandbox, filesystem, output, network }: Policy): Remark[] {
  const remarks: Remark[] = [];
  if (sandbox.rule)
    remarks.push({
      rule: sandbox.rule,
      message: "servers, plugins and commands run without a wall around them, with all the rights of your account",
    });
  if (!output.redactSecrets)
    remarks.push({ message: "output.redact_secrets is false: a model may see keys and passwords" });
  for (const { pattern, rule } of [...filesystem.allowed.rules, ...filesystem.readable.rules]) {
    if (/^(?:[A-Za-z]:)?\/?(?:\*\*)(?:\/\*)?$/.test(pattern))
      remarks.push({ rule, message: "this names every file of this machine" });
  }
  for (const { pattern, rule } of network.allowedRanges.rules) {
    if (pattern.endsWith("/0")) remarks.push({ rule, message: "this names every address there is" });
  }
  return remarks;
}

/** Path patterns that fit less than they seem to: a folder without what is in it, or nothing that exists. */
function emptyPaths(policy: Policy, kindOf: (path: string) => PathKind): Remark[] {
  const granted = [policy, ...policy.servers.values(), ...policy.plugins.load.values()];
  const rules = granted.flatMap(({ filesystem }) => [...filesystem.allowed.rules, ...filesystem.readable.rules]);
  return rules.flatMap(({ pattern, rule }) => {
    if (rule.preset !== undefined) return [];
    const stem = pattern.split("/").filter((_, at, parts) => !parts.slice(0, at + 1).some((part) => /[*?]/.test(part)));
    const path = stem.join("/") || "/";
    const kind = kindOf(path);
    if (kind === "nothing") return [{ rule, message: `there is no ${path} on this machine; check the spelling` }];
    if (kind !== "folder" || path !== pattern.replace(/\/$/, "")) return [];
    return [{ rule, message: `this names the folder only, and no file in it; write ${path}/** for all of it` }];
  });
}

/** What a command, server or database cannot do without. */
function missingParts({ commands, servers, databases, plugins }: Policy, kindOf: (path: string) => PathKind): Remark[] {
  const programs = [...commands.allowed.values()];
  const parts = [
    ...programs.map(({ name, rule, executable }) => ({ name, rule, key: "executable", path: executable })),
    ...[...programs, ...servers.values()].map(({ name, rule, workingDirectory }) => ({
      ...{ name, rule, key: "working_directory", path: workingDirectory },
    })),
    ...[...plugins.load.values()]
      .filter(({ enabled }) => enabled)
      .map(({ name, rule, path }) => ({ name, rule, key: "plugin", path })),
    ...[...databases.values()].map(({ name, rule, store }) => ({
      ...{ name, rule, key: "file", path: store.kind === "sqlite" ? store.file : undefined },
    })),
  ];
  return parts.flatMap(({ name, rule, key, path }) => {
    if (path === undefined || kindOf(path) !== "nothing") return [];
    return [{ rule, message: `the ${key} of "${name}", ${path}, is not on this machine; check the spelling` }];
  });
}

/** The server of a database's URL has to be one of the secret's hosts. */
function unreachableDatabases({ databases, secrets }: Policy): Remark[] {
  return [...databases.values()].flatMap(({ name, rule, store }) => {
    const secret = store.kind === "postgresql" ? secrets.get(store.secret) : undefined;
    if (secret === undefined || secret.hosts.rules.length > 0) return [];
    const message = `the secret of "${name}" has no hosts, so its server is not reached; name that in secrets.${secret.name}.hosts, as { host: db.example.com, ports: [5432] }`;
    return [{ rule, message }];
  });
}

/** Files that a command names at its start, and that tools may write; those that it surely runs are protected where they exist. */
function writableLaunches(policy: Policy, kindOf: (path: string) => PathKind): Remark[] {
  const named = [
    ...[...policy.commands.allowed.values()].map((command) => [command, filesNamed(command)] as const),
    ...[...policy.servers.values()].map((server) => [server, filesNamedByServer(server)] as const),
  ];
  return named.flatMap(([{ name, rule }, files]) => {
    const written = files.filter((file) => isOpen(policy, file, kindOf(file.path)));
    const paths = [...new Set(written.map(({ path }) => path))];
    if (paths.length === 0) return [];
    const whoever = "whoever writes what it runs has their text run; name such files in filesystem.denied_write_paths";
    return [{ rule, message: `"${name}" names ${paths.join(", ")}, which may be written: ${whoever}` }];
  });
}

/** What is run for certain and exists is protected by itself. */
function isOpen(policy: Policy, { path, runs, later, folder }: NamedFile, kind: PathKind): boolean {
  const writes = (name: string): boolean => decide(policy, { kind: "file", path: name, op: "write" }).allowed;
  if (folder === true)
    return (kind === "folder" || kind === "nothing") && writes(`${path.replace(/\/$/, "")}/${ANY_NAME}`);
  return (runs ? later && kind === "nothing" : kind === "file") && writes(path);
}

/** Hosts of the file's own that no allowed tool can reach: what searches asks its engine alone. */
function unfetchedHosts({ network, tools, plugins, commands, databases }: Policy): Remark[] {
  const [first] = network.allowedEndpoints.rules.filter(
    ({ rule }) => rule.line !== undefined && rule.preset === undefined,
  );
  const metadata = network.allowedEndpoints.rules.find(({ pattern }) => isMetadataHost(pattern));
  const remarks: Remark[] =
    metadata === undefined
      ? []
      : [{ rule: metadata.rule, message: "cloud machines get their credentials from this address; do not open it" }];
  const fetches = ["web_fetch", "web_search"].some((name) => tools.allowed.find(name) && !tools.denied.find(name));
  // What `sandbox -- COMMAND` runs reaches these hosts too: such a policy need not allow a tool.
  const others = plugins.load.size + commands.allowed.size + databases.size;
  const serves = tools.allowed.rules.length > 0 && others === 0;
  if (first === undefined || fetches || !serves) return remarks;
  const message = "no tool that the policy allows fetches pages; add web_fetch to tools.allowed for these hosts";
  return [...remarks, { rule: first.rule, message }];
}

function never(rule: Rule, by: Rule): Remark {
  return { rule, message: `"${rule.text}" never counts: ${at(by)} denies all of it` };
}

function at(rule: Rule): string {
  return rule.line === undefined ? `"${rule.text}"` : `"${rule.text}" in line ${rule.line}`;
}

// Finds names in a policy that no tool or prompt has: what was meant goes on undenied, unasked or without its limit.

export interface Remark {
  /** Where it is about; absent when it is about the whole policy. */
  readonly rule?: Rule;
  readonly message: string;
}

/** A tool there is, plugins' aside. */
export interface KnownTool {
  readonly name: string;
  /** What the policy lacks for it to have anything to work on. */
  readonly lack?: string | undefined;
  /** Names of its arguments; absent where nobody knows them. */
  readonly arguments?: readonly string[] | undefined;
  /** Whether it may destroy. Default: nobody knows. */
  readonly destructive?: boolean;
}

/** A tool or prompt of a server or plugin, as it was approved. */
export interface ApprovedItem {
  readonly kind: "tool" | "prompt";
  /** The name its owner has for it. */
  readonly own: string;
  /** The name clients have for it. */
  readonly shown: string;
}

/** By server and by plugin, what was approved of it; one of which nothing was approved is absent. */
export interface ApprovedNames {
  readonly servers: ReadonlyMap<string, readonly ApprovedItem[]>;
  readonly plugins: ReadonlyMap<string, readonly ApprovedItem[]>;
  /** In what a server that was approved is another one by now, in words. */
  readonly changed?: ReadonlyMap<string, string>;
  /** What of a server no rule names, each in words that stand behind "the server NAME: ". */
  readonly unnamed?: ReadonlyMap<string, readonly string[]>;
  /** That a plugin is withheld or refused and why, in words that stand behind its name. */
  readonly withheldPlugins?: ReadonlyMap<string, string>;
}

/** All of such a server is withheld, whatever the policy allows of it. */
function changedServers({ servers }: Policy, approved: ApprovedNames | undefined): Remark[] {
  return [...(approved?.changed ?? [])].flatMap(([name, what]) => {
    const rule = servers.get(name)?.rule;
    const message = `the server ${name} is withheld: ${what}. Look at it: mcp-secure-local servers review ${name}`;
    return [{ ...(rule && { rule }), message }];
  });
}

function unnamedItems({ servers }: Policy, approved: ApprovedNames | undefined): Remark[] {
  return [...(approved?.unnamed ?? [])].flatMap(([name, lines]) => {
    const rule = servers.get(name)?.rule;
    return lines.map((line) => ({ ...(rule && { rule }), message: `the server ${name}: ${line}` }));
  });
}

function withheldPlugins({ plugins }: Policy, approved: ApprovedNames | undefined): Remark[] {
  return [...(approved?.withheldPlugins ?? [])].map(([name, how]) => {
    const rule = plugins.load.get(name)?.rule;
    return { ...(rule && { rule }), message: `the plugin ${name} ${how}` };
  });
}

/** One place that names something. */
interface Mention {
  readonly kind: ApprovedItem["kind"];
  readonly pattern: string;
  readonly rule?: Rule;
  /** What stands before the fault where it has no line of its own. */
  readonly where?: string;
  /** What comes of it that nothing has this name. */
  readonly outcome?: string;
  /** Approvals name tools and prompts alike. */
  readonly isEither?: boolean;
}

/** What stands before `__` is a server, in whose name there is none. */
const SERVER_ITEM = /^(.+?)__/;
const STANDS = ", so this stands against nothing";

/** Every place of the policy that names a tool or prompt is read by the one rule. `approved`: undefined where nobody knows. */
function misnamed(policy: Policy, known: readonly KnownTool[], approved: ApprovedNames | undefined): Remark[] {
  const builtIn = known.map(({ name }) => name);
  return [
    ...mentions(policy).flatMap((mention) => {
      const fault = faultOf(policy, mention, { builtIn, approved });
      if (fault === undefined) return [];
      const { rule, where } = mention;
      return [{ ...(rule && { rule }), message: where === undefined ? fault : `${where}: ${fault}` }];
    }),
    ...entryDenials(policy, approved),
  ];
}

/** The server that a pattern names tools of. */
export function serverOf({ servers }: Policy, pattern: string): string | undefined {
  const name = SERVER_ITEM.exec(pattern)?.[1];
  return name !== undefined && servers.has(name) ? name : undefined;
}

function mentions({ tools, prompts, approvals, profiles }: Policy): Mention[] {
  const of = (rules: readonly PatternRule[] = [], more: Partial<Mention> = {}): Mention[] =>
    rules
      .filter(({ rule }) => rule.preset === undefined)
      .map(({ pattern, rule }) => ({ kind: "tool" as const, pattern, rule, ...more }));
  // What is no name of a tool is a URI.
  const asked = approvals.flatMap(({ approve }) =>
    typeof approve === "string" ? [] : approve.rules.filter(({ pattern }) => !pattern.includes(":")),
  );
  const limits = (values: PerTool, key: string): Mention[] =>
    [...values.byName.keys()]
      // One that nothing allows is told as such, and one that a list names is told there.
      .filter((name) => tools.allowed.find(name) && !tools.denied.find(name) && !tools.allowed.findExact(name))
      .map((pattern) => ({ kind: "tool", pattern, where: `tools.${key} limits "${pattern}"` }));
  return [
    ...of(tools.allowed.rules),
    ...of(tools.denied.rules, { outcome: STANDS }),
    ...of(asked, { outcome: STANDS, isEither: true }),
    ...limits(tools.rateLimits, "rate_limits"),
    ...limits(tools.timeoutsMs, "timeouts"),
    ...[...profiles.values()].flatMap(({ allowedTools, deniedTools }) => [
      ...of(allowedTools?.rules),
      ...of(deniedTools.rules, { outcome: STANDS }),
    ]),
    ...of([...prompts.allowed.rules, ...prompts.denied.rules], { kind: "prompt" }),
  ];
}

interface KnownNames {
  readonly builtIn: readonly string[];
  readonly approved: ApprovedNames | undefined;
}

function faultOf(policy: Policy, mention: Mention, names: KnownNames): string | undefined {
  const { kind, pattern, outcome = "" } = mention;
  const { servers, plugins } = policy;
  // A plugin's name may hold what parts a server from its tool.
  const plugin = [...plugins.load.keys()].find((name) => pattern.startsWith(`${name}_`));
  const server = SERVER_ITEM.exec(pattern)?.[1];
  if (server !== undefined && (servers.has(server) || plugin === undefined))
    return ofServer(policy, server, { mention, names });
  if (plugin !== undefined) return ofPlugin(policy, plugin, { mention, names });
  // Built-in prompts are few, and a rule for one there is not does no harm.
  if (kind === "prompt") return undefined;
  const { builtIn, approved } = names;
  if (!pattern.endsWith("*")) {
    const all = [...builtIn, ...shownNames(approved)];
    return builtIn.includes(pattern) ? undefined : `there is no tool "${pattern}"${outcome}${didYouMean(pattern, all)}`;
  }
  // A permission of what is not there opens nothing, and may wait for it.
  if (outcome === "") return undefined;
  const stem = pattern.slice(0, -1);
  const owners = [...[...servers.keys()].map((name) => `${name}__`), ...[...plugins.load.keys()].map((n) => `${n}_`)];
  const fits = [...builtIn, ...owners].some((name) => name.startsWith(stem));
  return fits
    ? undefined
    : `there is no tool "${pattern}"${outcome}${didYouMean(
        pattern,
        owners.map((each) => `${each}*`),
      )}`;
}

function shownNames(approved: ApprovedNames | undefined): string[] {
  const each = [...(approved?.servers.values() ?? []), ...(approved?.plugins.values() ?? [])].flat();
  return each.flatMap(({ kind, shown }) => (kind === "tool" ? [shown] : []));
}

function ofServer(
  { servers }: Policy,
  name: string,
  { mention, names: { approved } }: { readonly mention: Mention; readonly names: KnownNames },
): string | undefined {
  const { kind, pattern, isEither = false } = mention;
  const grant = servers.get(name);
  if (grant === undefined) return `there is no server "${name}"${didYouMean(name, servers.keys())}`;
  if (!grant.enabled) return `the entry of the server ${name} says enabled: false, so it has no ${kind}s`;
  if (approved === undefined) return undefined;
  const items = approved.servers.get(name);
  // As `install --move` writes it: all that a server has of a kind, be it nothing. What waits for approval its tools' line says.
  if (pattern === `${name}__*` && (items !== undefined || kind === "prompt")) return undefined;
  if (items === undefined)
    return `nothing of the server ${name} is approved yet: look at it with mcp-secure-local servers review ${name}`;
  // One whose name is too long is shown shorter; a rule may name it by either.
  const shown = items.flatMap((each) => (isEither || each.kind === kind ? [each.shown, `${name}__${each.own}`] : []));
  return lacks(name, kind, { pattern, names: shown });
}

function ofPlugin(
  { plugins }: Policy,
  name: string,
  { mention: { kind, pattern }, names: { approved } }: { readonly mention: Mention; readonly names: KnownNames },
): string | undefined {
  if (plugins.load.get(name)?.enabled === false)
    return `the entry of the plugin ${name} says enabled: false, so it has no ${kind}s`;
  // Without a lock whatever a plugin offers is offered, and nobody knows it before it starts.
  const items = approved?.plugins.get(name);
  if (items === undefined) return undefined;
  return lacks(name, kind, { pattern, names: items.flatMap((each) => (each.kind === kind ? [each.shown] : [])) });
}

/** Its own names, in the entry of a server. */
function entryDenials({ servers }: Policy, approved: ApprovedNames | undefined): Remark[] {
  return [...servers.values()].flatMap(({ name, deniedTools }) => {
    const items = approved?.servers.get(name);
    if (items === undefined) return [];
    const names = items.flatMap(({ kind, own }) => (kind === "tool" ? ownNames(name, own) : []));
    return deniedTools.rules.flatMap(({ pattern, rule }) => {
      const fault = lacks(name, "tool", { pattern, names });
      return fault === undefined ? [] : [{ rule, message: fault }];
    });
  });
}

function lacks(
  owner: string,
  kind: ApprovedItem["kind"],
  { pattern, names }: { readonly pattern: string; readonly names: readonly string[] },
): string | undefined {
  const fits = pattern.endsWith("*")
    ? names.some((name) => name.startsWith(pattern.slice(0, -1)))
    : names.includes(pattern);
  return fits ? undefined : `${owner} has no ${kind} "${pattern}"${didYouMean(pattern, names)}`;
}
