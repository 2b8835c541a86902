// A family of resources under one URI template: what it is, which URIs belong to it, and what may stand against one of them.
import type { ResourceTemplateDefinition } from "@secure-local/mcp/server";
import type { Decision } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";

/** A family of resources, and which URIs it claims. */
export interface ResourceFamily {
  readonly definition: ResourceTemplateDefinition;
  claims(uri: string): boolean;
  /** What stands against one of its URIs though the policy allows it as a name; undefined when nothing does. */
  objection?(policy: Policy, uri: string): Decision | undefined;
}
