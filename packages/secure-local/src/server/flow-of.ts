// Says what goes through a tool, prompt or resource under a policy: whether it reads private data, brings in strangers' texts, sends out.
import type { Flow } from "../guard/taints.js";
import type { SubjectKind } from "../guard/subject.js";
import type { Policy } from "../policy/policy.js";
import type { PluginGrant } from "../policy/plugins-policy.js";
import type { NetworkPolicy } from "../policy/reach-policy.js";
import { SERVER_INFO_URI } from "../resources/server-info.js";
import type { ToolNeed } from "../tools/tool.js";
import type { Catalogue } from "./catalogue.js";

const NOTHING: Flow = Object.freeze({ untrusted: false, private: false, sends: false });
const READS_PRIVATE: ReadonlySet<ToolNeed> = new Set(["readable-files", "databases", "fillable-databases", "commands"]);

export interface FlowSubject {
  readonly kind: SubjectKind;
  readonly name: string;
  /** Arguments of the call, where they are known. */
  readonly arguments?: unknown;
}

/** Pure. What is not known counts as what could be worst. */
export function flowOf(policy: Policy, catalogue: Catalogue, subject: FlowSubject): Flow {
  const owner = catalogue.owners.get(`${subject.kind} ${subject.name}`);
  if (owner !== undefined) return pluginFlow(policy, policy.plugins.load.get(owner));
  if (subject.kind === "prompt") return promptFlow(subject.name);
  if (subject.kind === "resource") return subject.name === SERVER_INFO_URI ? NOTHING : { ...NOTHING, private: true };
  return toolFlow(policy, catalogue, subject);
}

/** A log holds what strangers made it write. */
function promptFlow(name: string): Flow {
  return name === "analyze_logs" ? { untrusted: true, private: true, sends: false } : NOTHING;
}

/** Whatever it says of itself: its texts are a stranger's, and it reads and sends what it was granted. */
function pluginFlow(policy: Policy, grant: PluginGrant | undefined): Flow {
  const walled = policy.sandbox.mode !== "none";
  if (grant === undefined || !walled) return { untrusted: true, private: true, sends: true };
  const { allowed, readable } = grant.filesystem;
  const sends = reaches(grant.network) || grant.commands.some((name) => commandSends(policy, name));
  const reads = allowed.rules.length + readable.rules.length > 0 || grant.commands.length > 0;
  return { untrusted: true, private: reads, sends };
}

function toolFlow(policy: Policy, { tools }: Catalogue, { name, arguments: args }: FlowSubject): Flow {
  const tool = tools.get(name);
  if (tool === undefined) return NOTHING;
  const needs = tool.needs ?? [];
  const reads = needs.some((need) => READS_PRIVATE.has(need));
  if (needs.includes("commands")) {
    const sends = commandSends(policy, commandIn(args));
    return { untrusted: sends, private: reads, sends };
  }
  const sends = needs.includes("network");
  return { untrusted: sends || tool.annotations.openWorldHint, private: reads, sends };
}

function commandIn(args: unknown): string | undefined {
  const command =
    typeof args === "object" && args !== null ? (args as Readonly<Record<string, unknown>>)["command"] : undefined;
  return typeof command === "string" ? command : undefined;
}

/** Without a name: whether any command may. */
function commandSends(policy: Policy, name: string | undefined): boolean {
  if (policy.sandbox.mode === "none") return true;
  const allowed = [...policy.commands.allowed.values()];
  const named = allowed.filter((command) => command.name === name);
  return (named.length > 0 ? named : allowed).some(({ network }) => reaches(network));
}

function reaches({ offline, allowedEndpoints, allowedRanges }: NetworkPolicy): boolean {
  return offline === undefined && allowedEndpoints.rules.length + allowedRanges.rules.length > 0;
}
