// Finds names in a policy that no tool or prompt has: what was meant goes on undenied, unasked or without its limit.
import { didYouMean } from "./section.js";
import type { PatternRule, Rule } from "./faults.js";
import type { PerTool, Policy } from "./policy.js";

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
}

/** What stands before `__` is a server, in whose name there is none. */
const SERVER_ITEM = /^(.+?)__/;
const STANDS = ", so this stands against nothing";

/** Every place of the policy that names a tool or prompt is read by the one rule. `approved`: undefined where nobody knows. */
export function misnamed(policy: Policy, known: readonly KnownTool[], approved: ApprovedNames | undefined): Remark[] {
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
    ...of(asked, { outcome: STANDS }),
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
  { mention: { kind, pattern }, names: { approved } }: { readonly mention: Mention; readonly names: KnownNames },
): string | undefined {
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
  const shown = items.flatMap((each) => (each.kind === kind ? [each.shown, `${name}__${each.own}`] : []));
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
    const names = items.flatMap(({ kind, own }) => (kind === "tool" ? [own] : []));
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
