// Says how a server of the policy stands without starting it: approved or not, and what its definitions cost a model.
import type { Items } from "../inspection/drift.js";
import type { ServerGrant } from "../policy/policy.js";
import type { PluginLock } from "../server/plugin-lock.js";
import { serverLaunch } from "../server/server-launch.js";

/** What of a server is known without starting it. */
export interface ServerState {
  readonly name: string;
  readonly state: "approved" | "not approved" | "launch changed" | "disabled";
  readonly tools: number;
  /** What its approved definitions cost a model that is shown them all: a token is about four bytes. */
  readonly tokens: number;
  readonly launch: readonly string[] | string;
  /** How it is in each of our processes that runs by this policy. */
  readonly running?: readonly {
    readonly pid: number;
    readonly state: string;
    readonly cause: string;
    readonly remedy: string;
  }[];
}

export function serverState(grant: ServerGrant, approved: PluginLock): ServerState {
  const { name, enabled, launch } = grant;
  const items = approved.get(name)?.approved;
  const shown = launch.kind === "url" ? launch.url : launch.command;
  const tools = toolsOf(items);
  const known = { name, tools: tools.length, tokens: Math.ceil(JSON.stringify(tools).length / 4), launch: shown };
  if (!enabled) return { ...known, state: "disabled" };
  if (items === undefined) return { ...known, state: "not approved" };
  const same = JSON.stringify(items.get("launch")) === JSON.stringify(JSON.parse(JSON.stringify(serverLaunch(grant))));
  return { ...known, state: same ? "approved" : "launch changed" };
}

function toolsOf(items: Items | undefined): readonly unknown[] {
  return [...(items ?? [])].flatMap(([name, item]) => (name.startsWith("tool ") ? [item] : []));
}
