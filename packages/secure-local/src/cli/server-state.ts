// Says how a server or plugin of the policy stands without starting it: approved or not, and what the definitions of a
// server cost a model.
import { existsSync } from "node:fs";
import { redactLaunch } from "../audit/event-text.js";
import type { Items } from "@secure-local/inspection/drift";
import { mountedName, wrapUri } from "@secure-local/mcp/gateway";
import type { PluginDescription } from "../plugins/plugin-description.js";
import { decide, isDefault } from "../policy/decide.js";
import { grantedPolicy } from "../policy/granted-policy.js";
import type { PluginGrant, Policy, ServerGrant } from "../policy/policy.js";
import type { ApprovedItem, ApprovedNames } from "../policy/review-policy.js";
import { lockCommand, lockFileOf, type PluginLock, readLock } from "../server/plugin-lock.js";
import { pinnedPackage, wantedPackage } from "../server/pinned-package.js";
import { secretsOf } from "../policy/read-servers.js";
import { secretFault } from "../server/open-server.js";
import { approvedLaunch, isAsApproved, launchDifference, serverLaunch } from "../server/server-launch.js";
import {
  approvedOffer,
  approvedServers,
  besideEachOther,
  KeptFindings,
  reviewServer,
} from "../server/server-reviews.js";
import { adviceWord } from "./command-line.js";

/** What of a server is known without starting it. */
export interface ServerState {
  readonly name: string;
  readonly state: "approved" | "not approved" | "launch changed" | "disabled";
  readonly tools: number;
  /** What its approved definitions cost a model that is shown them all: a token is about four bytes. */
  readonly tokens: number;
  /** Without the values of secrets that stand in it. */
  readonly launch: readonly string[] | string;
  /** Why it is not as it was approved, or what keeps it from starting, where that is known without starting it. */
  readonly note?: string;
  /** What of what was approved is withheld all the same, by kind and name, and why; absent where nothing is. */
  readonly withheld?: Readonly<Record<string, string>>;
  /** How it is in each of our processes that runs by this policy. */
  readonly running?: readonly {
    readonly pid: number;
    readonly state: string;
    readonly cause: string;
    readonly remedy: string;
    readonly note?: string;
  }[];
}

/** Files of secrets alone: a variable may be set where the program is served. */
function unreadSecret({ secrets }: Policy, grant: ServerGrant): string | undefined {
  for (const each of secretsOf(grant)) {
    const secret = secrets.get(each);
    const fault = secret?.from.kind === "file" ? secretFault(secret) : undefined;
    if (fault !== undefined) return `the secret ${each} cannot be read: ${fault}`;
  }
  return undefined;
}

export function serverState(policy: Policy, grant: ServerGrant, approved: PluginLock): ServerState {
  const { name, enabled, launch } = grant;
  const items = approved.get(name)?.approved;
  const shown = launch.kind === "url" ? redactLaunch(launch.url) : launch.command.map(redactLaunch);
  const tools = toolsOf(items);
  const known = { name, tools: tools.length, tokens: Math.ceil(JSON.stringify(tools).length / 4), launch: shown };
  if (!enabled) return { ...known, state: "disabled" };
  if (items === undefined) return { ...known, state: "not approved" };
  const unread = unreadSecret(policy, grant);
  const [was, now] = [approvedLaunch(grant, items.get("launch")), serverLaunch(grant)];
  if (isAsApproved(grant, was, now))
    return { ...known, state: "approved", ...(unread === undefined ? {} : { note: unread }) };
  const what = `not as it was approved: ${launchDifference(was, now, true)}`;
  return { ...known, state: "launch changed", note: isPackageGone(grant, items) ? PACKAGE_GONE : what };
}

/** As `serverState` for each server of the policy, with what of it is withheld though it was approved. */
export async function serverStates(policy: Policy, approved: PluginLock): Promise<readonly ServerState[]> {
  // Whoever asks how things are writes nothing.
  const found = await new KeptFindings(undefined, "").of(besideEachOther(policy, approved));
  return [...policy.servers.values()].map((grant) => {
    const state = serverState(policy, grant, approved);
    const [locked, findings] = [approved.get(grant.name), found.get(grant.name)];
    if (locked === undefined || findings === undefined) return state;
    const launch = locked.approved.get("launch");
    const { withheld } = reviewServer(grant, approvedOffer(locked.approved), { locked, launch, found: findings });
    return withheld.size === 0 ? state : { ...state, withheld: Object.fromEntries(withheld) };
  });
}

/** What was approved of servers and plugins, by name; undefined where the policy names neither, or what was approved cannot be read. */
export async function approvedNames(policy: Policy): Promise<ApprovedNames | undefined> {
  const { file, servers, plugins } = policy;
  if (file === undefined || servers.size + plugins.load.size === 0) return undefined;
  const locked = plugins.load.size === 0 ? undefined : readLock(lockFileOf(file));
  const approved = approvedServers(policy);
  const changed = withheldServers(policy, approved).flatMap(({ name, state, why }) =>
    state === "launch changed" ? [[name, why] as const] : [],
  );
  const unnamed = [...approved]
    .filter(([name]) => servers.get(name)?.enabled === true)
    .map(async ([name, { approved: items }]) => [name, await unnamedItems(policy, name, items)] as const);
  return {
    servers: namesIn(approved, mountedName),
    plugins: namesIn(locked ?? new Map(), (_plugin, own) => own),
    changed: new Map(changed),
    unnamed: new Map(await Promise.all(unnamed)),
    withheldPlugins: new Map((await withheldPlugins(policy, locked)).map(({ name, ...how }) => [name, toldOf(how)])),
  };
}

/** What a server has that no rule names, and so nobody sees whatever is approved: a line for its resources, one for its prompts. */
export async function unnamedItems(policy: Policy, server: string, items: Items): Promise<readonly string[]> {
  const { decideUri } = await import("../server/server-links.js");
  const kinds = [
    {
      ...{ section: "resources", names: /^(?:resource|template) (.*)$/s, pattern: `${wrapUri(server, "")}*` },
      decided: (own: string) => decideUri(policy, { shown: own, own, wrapped: wrapUri(server, own) }),
    },
    {
      ...{ section: "prompts", names: /^prompt (.*)$/s, pattern: mountedName(server, "*") },
      decided: (own: string) => decide(policy, { kind: "prompt", name: mountedName(server, own) }),
    },
  ];
  return kinds.flatMap(({ section, names, pattern, decided }) => {
    const own = [...items.keys()].flatMap((item) => names.exec(item)?.[1] ?? []);
    // What is denied is meant to be.
    const isUnnamed = own.length > 0 && own.every((each) => isDefault(decided(each)));
    if (!isUnnamed) return [];
    return [
      `its ${section} (${own.length}) are shown to nobody: ${section}.allowed names none; "${pattern}" names all`,
    ];
  });
}

interface WithheldPlugin {
  readonly name: string;
  /** Refused: it needs what it is not granted. */
  readonly state: "not approved" | "not as approved" | "refused";
  /** As the end of a sentence. */
  readonly why: string;
  /** The command to look at it with; absent where `why` says what to do. */
  readonly review?: string;
}

/** What stands behind the plugin's name. */
export function toldOf({ state, why, review }: Omit<WithheldPlugin, "name">): string {
  return `is ${state === "refused" ? state : "withheld"}: ${why}${review === undefined ? "" : `. Look at it: ${review}`}`;
}

/** Plugins that are not started, or of which nothing is offered. Without a lock that is known when they are started alone. */
export async function withheldPlugins(policy: Policy, lock: PluginLock | undefined): Promise<WithheldPlugin[]> {
  const { file, plugins } = policy;
  if (file === undefined || lock === undefined) return [];
  const { isAsLocked } = await import("../server/plugin-reviews.js");
  const { unmetGrants } = await import("../plugins/plugin.js");
  return [...plugins.load.values()].flatMap((grant): WithheldPlugin[] => {
    const { name, enabled, path, storageBytes } = grant;
    // That nothing lies there is told beside its path.
    if (!enabled || !existsSync(path)) return [];
    const locked = lock.get(name);
    const review = lockCommand(file, name);
    if (locked === undefined) return [{ name, state: "not approved", why: "nothing of it is approved yet", review }];
    try {
      const changed = `it is not as it was approved (launch was ${locked.approved.has("launch") ? "changed" : "added"})`;
      if (!isAsLocked(grant, locked)) return [{ name, state: "not as approved", why: changed, review }];
    } catch (error) {
      return [{ name, state: "not as approved", why: error instanceof Error ? error.message : String(error) }];
    }
    const { needs } = (locked.approved.get("plugin") ?? {}) as Partial<Pick<PluginDescription, "needs">>;
    const granted = { policy: grantedPolicy(policy, grant), storageBytes };
    const missing = needs === undefined ? [] : unmetGrants(granted, { name, needs });
    return missing.length === 0 ? [] : [{ name, state: "refused", why: `it needs ${missing.join("; and ")}` }];
  });
}

interface PluginContext {
  /** Why a tool cannot be called that is a plugin's; undefined where nothing is known against it, or it is nobody's. */
  idle(tool: string): string | undefined;
  /** What nobody knows of it before its plugin is started. */
  note(tool: string): string | undefined;
}

/** What is known of the tools of the policy's plugins without starting one. @throws LockError */
export async function pluginContext(policy: Policy): Promise<PluginContext> {
  const { file, plugins } = policy;
  const lock = file === undefined ? undefined : readLock(lockFileOf(file));
  const withheld = new Map((await withheldPlugins(policy, lock)).map((each) => [each.name, each]));
  const has = (plugin: string, tool: string): boolean => lock?.get(plugin)?.approved.has(`tool ${tool}`) === true;
  const ownerOf = (tool: string): PluginGrant | undefined => {
    const named = [...plugins.load.values()].filter(({ name }) => tool.startsWith(`${name}_`));
    // The name of one may begin with that of another.
    return named.find(({ name }) => has(name, tool)) ?? named.sort((a, b) => b.name.length - a.name.length)[0];
  };
  const list = file === undefined ? "plugins list" : `plugins list --policy ${adviceWord(file)}`;
  return {
    idle(tool) {
      const { name = "", enabled } = ownerOf(tool) ?? {};
      if (enabled === false) return `The entry of the plugin ${name} in plugins.load says enabled: false.`;
      const how = withheld.get(name);
      if (how !== undefined) return `The plugin ${name} ${toldOf(how)}`;
      if (lock === undefined || enabled === undefined || has(name, tool)) return undefined;
      return `Nothing called ${tool} was approved of the plugin ${name}; see mcp-secure-local ${list}`;
    },
    note(tool) {
      const owner = lock === undefined ? ownerOf(tool) : undefined;
      return (
        owner && `whether the plugin ${owner.name} offers it is known once it is started: mcp-secure-local ${list}`
      );
    },
  };
}

interface Withheld extends Pick<ServerState, "name" | "state"> {
  readonly why: string;
}

/** Servers of which nothing is offered until a person looks at them, and why, as the end of a sentence. */
export function withheldServers(policy: Policy, approved: PluginLock = approvedServers(policy)): readonly Withheld[] {
  return [...policy.servers.values()].flatMap((grant): Withheld[] => {
    const { name, state, note } = serverState(policy, grant, approved);
    if (state === "not approved") return [{ name, state, why: "nothing of it is approved yet" }];
    return state === "launch changed" ? [{ name, state, why: note ?? state }] : [];
  });
}

function namesIn(
  lock: PluginLock,
  shownAs: (owner: string, own: string) => string,
): ReadonlyMap<string, readonly ApprovedItem[]> {
  const itemsOf = (owner: string, items: Items): ApprovedItem[] =>
    [...items.keys()].flatMap((item) => {
      const [, kind, own = ""] = /^(tool|prompt) (.*)$/s.exec(item) ?? [];
      return kind === undefined ? [] : [{ kind: kind as ApprovedItem["kind"], own, shown: shownAs(owner, own) }];
    });
  return new Map([...lock].map(([owner, { approved }]) => [owner, itemsOf(owner, approved)]));
}

const PACKAGE_GONE = "its package that was kept is gone; servers review fetches it again and compares it";

function isPackageGone({ launch }: ServerGrant, approved: Items): boolean {
  const wanted = launch.kind === "command" ? wantedPackage(launch.command) : undefined;
  const { package: kept } = (approved.get("launch") ?? {}) as { readonly package?: unknown };
  return wanted !== undefined && kept !== undefined && pinnedPackage(wanted) === undefined;
}

function toolsOf(items: Items | undefined): readonly unknown[] {
  return [...(items ?? [])].flatMap(([name, item]) => (name.startsWith("tool ") ? [item] : []));
}
