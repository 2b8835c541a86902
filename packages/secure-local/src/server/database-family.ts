// Joins families of resources, the schemas of databases first, to the policy: which are offered.

import type { ResourceDefinition, ResourceTemplateDefinition } from "@secure-local/mcp/server";
import type { Databases } from "../capabilities/databases/databases.js";
import type { Policy } from "../policy/policy.js";
import {
  TABLE_TEMPLATE,
  isTableUri,
  schemaResource,
  schemaUri,
  tableTemplate,
} from "../resources/database-resources.js";
import type { Decision } from "../policy/decide.js";

/** A family of resources, and which URIs it claims. */
export interface ResourceFamily {
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
export function databaseRegistrations(policy: Policy, databases: Databases | undefined): DatabaseRegistrations {
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
