// What is known of the tools of the policy's servers without starting one: from what was approved of them.
import { mountedName } from "@secure-local/mcp/gateway";
import type { ToolAnnotations } from "@secure-local/mcp/server";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { type Decision, deniedByEntry } from "../policy/decide.js";
import { otherNames } from "../policy/host-matcher.js";
import { isAsApproved } from "../server/server-launch.js";
import { approvedServers, calledAlike } from "../server/server-reviews.js";

/** Undefined for what is no tool of a server. */
interface ServerContext {
  effects(tool: string): { readonly readOnly: boolean; readonly destructive: boolean } | undefined;
  /** Why it cannot be called, whatever the policy says of its name. */
  idle(tool: string): string | undefined;
  serverOf(tool: string): string | undefined;
  /** What clients call it, where its whole name is too long for them; undefined where that is the name given. */
  calledByClients(tool: string): string | undefined;
  /** What its server's own entry says against it. */
  denial(tool: string): Decision | undefined;
}

interface Owned {
  readonly grant: ServerGrant;
  /** The name its server knows; undefined where nothing of that name was approved. */
  readonly own: string | undefined;
  readonly annotations: ToolAnnotations;
  /** Why it cannot be called. */
  readonly idle: string | undefined;
}

/** @throws LockError */
export function serverContext(policy: Policy): ServerContext {
  const owned = new Map<string, Owned>();
  const approved = approvedServers(policy);
  for (const grant of policy.servers.values()) {
    const items = approved.get(grant.name)?.approved;
    const idle = idleReason(grant, items?.get("launch"));
    const alike = calledAlike(grant.name, items?.keys() ?? [], () => true);
    for (const [item, content] of items ?? []) {
      if (!item.startsWith("tool ")) continue;
      const own = item.slice("tool ".length);
      const { annotations = {} } = content as { readonly annotations?: ToolAnnotations };
      const reason = alike.get(item);
      const withheld = reason && `Its ${item} is withheld: ${reason}; neither is offered.`;
      owned.set(mountedName(grant.name, own), { grant, own, annotations, idle: idle ?? withheld });
    }
  }
  // A person may know a tool by the whole of a name that is too long for clients.
  const known = (tool: string): Owned | undefined =>
    owned.get([tool, ...otherNames(tool)].find((each) => owned.has(each)) ?? tool);
  const of = (tool: string): Owned | undefined => known(tool) ?? unapproved(policy, tool, approved.has.bind(approved));
  return {
    effects(tool) {
      const hints = known(tool)?.annotations;
      if (hints === undefined) return undefined;
      const readOnly = hints.readOnlyHint === true;
      return { readOnly, destructive: !readOnly && hints.destructiveHint !== false };
    },
    idle: (tool) => of(tool)?.idle,
    serverOf: (tool) => of(tool)?.grant.name,
    calledByClients: (tool) => (owned.has(tool) ? undefined : otherNames(tool).find((each) => owned.has(each))),
    denial(tool) {
      const { grant, own } = known(tool) ?? {};
      return grant === undefined || own === undefined ? undefined : deniedByEntry(grant, own);
    },
  };
}

function idleReason(grant: ServerGrant, launch: unknown): string | undefined {
  const { name, enabled } = grant;
  if (!enabled) return `The policy says servers.${name}.enabled: false.`;
  if (isAsApproved(grant, launch)) return undefined;
  return `The launch of the server ${name} is not as it was approved; look at it: mcp-secure-local servers review ${name}`;
}

/** A name that can only be of one server, which offers nothing of that name that was approved. */
function unapproved(policy: Policy, tool: string, approved: (server: string) => boolean): Owned | undefined {
  const [server = ""] = tool.split("__", 1);
  const grant = tool.includes("__") ? policy.servers.get(server) : undefined;
  if (grant === undefined) return undefined;
  const idle = approved(server)
    ? `Nothing called ${tool} was approved of the server ${server}; see mcp-secure-local servers show ${server}`
    : `Nothing of the server ${server} was approved yet: mcp-secure-local servers review ${server}`;
  return { grant, own: undefined, annotations: {}, idle };
}
