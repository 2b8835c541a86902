// Compares the scopes of a token with those an operation needs, with hierarchies where one scope implies others.
import type { Identity } from "../jsonrpc/transport.js";
import type { MembersOf } from "../schema/schema.js";
import { type ChallengeTerms, checkMembers, type Refusal, refusalOf } from "./authenticator.js";

/** Which scopes a scope implies, itself aside: `{ admin: ["write"], write: ["read"] }`. Followed to the end. */
export type ScopeHierarchy = Readonly<Record<string, readonly string[]>>;

/** Which scopes hold others, and what a challenge names. */
export interface ScopeOptions {
  readonly hierarchy?: ScopeHierarchy;
  /** URL of the protected-resource metadata, for the challenge. */
  readonly metadataUrl?: string;
  /** Schemes named in the challenge. Default: Bearer. */
  readonly schemes?: ChallengeTerms["schemes"];
  /** True: what the table names may be registered after it is served. Default false: serving a name nobody registered throws BAD_SCOPES. */
  readonly later?: boolean;
}

/** What operations need, each list in full. Names not listed need `default`. */
export interface ScopeTable {
  /** Needed by every method not listed in `methods`. Default: none. */
  readonly default?: readonly string[];
  /** By method: `{ "resources/read": ["files:read"] }`. */
  readonly methods?: Readonly<Record<string, readonly string[]>>;
  /** By tool, on top of what `tools/call` needs. */
  readonly tools?: Readonly<Record<string, readonly string[]>>;
}

/** Which scopes a method or a tool needs, and whether somebody has them. */
export interface ScopeRules {
  /** Scopes the operation needs. `tool` is the name in a `tools/call`. */
  needed(method: string, tool?: string): readonly string[];
  /**
   * Undefined when `identity` may do it, otherwise a 403 whose challenge names every scope the operation needs: those of the
   * table, and `more`, which the tool, prompt or resource itself asks for.
   */
  check(identity: Identity, method: string, tool?: string, more?: readonly string[]): Refusal | undefined;
  /** Names that have to exist where the rules are served: a misspelt one would leave a tool open. */
  readonly named?: { readonly methods: readonly string[]; readonly tools: readonly string[] };
}

/** One scope as RFC 6749 §3.3 spells it. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const NONE: readonly string[] = [];
const CALL = "tools/call";

/** Splits a `scope` string; undefined when it is no list of scopes. */
export function parseScopes(text: string): readonly string[] | undefined {
  const scopes = text.split(" ").filter((one) => one !== "");
  return scopes.every((one) => SCOPE.test(one)) ? scopes : undefined;
}

/** Throws RangeError for a name that is no scope, since it would break every challenge. */
export function checkScopeNames(scopes: readonly string[]): void {
  for (const scope of scopes) {
    if (!SCOPE.test(scope))
      throw new RangeError(`${JSON.stringify(scope)} is no scope: use printable ASCII, no spaces or quotes`);
  }
}

export function hasScopes(granted: readonly string[], needed: readonly string[], hierarchy?: ScopeHierarchy): boolean {
  if (needed.every((scope) => granted.includes(scope))) return true;
  if (hierarchy === undefined) return false;
  const implied = expand(granted, hierarchy);
  return needed.every((scope) => implied.has(scope));
}

/** Undefined when `identity` has all `needed` scopes, otherwise a 403 naming all of them, held ones included. */
export function requireScopes(
  identity: Identity,
  needed: readonly string[],
  options: ScopeOptions = {},
): Refusal | undefined {
  if (hasScopes(identity.scopes, needed, options.hierarchy)) return undefined;
  const terms = { schemes: options.schemes ?? ["Bearer" as const], metadataUrl: options.metadataUrl, scopes: needed };
  return refusalOf(terms, {
    status: 403,
    error: "insufficient_scope",
    message: `This needs the scopes ${needed.join(" ")}: ask the authorization server for a token that has them`,
  });
}

const TABLE_MEMBERS: MembersOf<ScopeTable> = { default: "texts", methods: "lists by name", tools: "lists by name" };
const SCOPE_OPTIONS: MembersOf<ScopeOptions> = {
  hierarchy: "lists by name",
  metadataUrl: "text",
  schemes: "texts",
  later: "flag",
};

/** Scopes by method and tool. Throws RangeError for a name that is no scope, BAD_OPTIONS for a member that does not exist. */
export function scopeRules(table: ScopeTable, options: ScopeOptions = {}): ScopeRules {
  checkMembers("scopeRules(table)", table, TABLE_MEMBERS);
  checkMembers("scopeRules(table, options)", options, SCOPE_OPTIONS);
  const methods = new Map(Object.entries(table.methods ?? {}));
  const fallback = table.default ?? NONE;
  const calls = methods.get(CALL) ?? fallback;
  const tools = new Map(Object.entries(table.tools ?? {}).map(([name, more]) => [name, union(calls, more)]));
  for (const list of [fallback, ...methods.values(), ...tools.values()]) checkScopeNames(list);
  const needed = (method: string, tool?: string): readonly string[] => {
    const called = method === CALL && tool !== undefined ? tools.get(tool) : undefined;
    return called ?? methods.get(method) ?? fallback;
  };
  const named = { methods: [...methods.keys()], tools: [...tools.keys()] };
  return {
    needed,
    check: (identity, method, tool, more = NONE) =>
      requireScopes(identity, more.length === 0 ? needed(method, tool) : union(needed(method, tool), more), options),
    ...(options.later === true ? {} : { named }),
  };
}

function union(some: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...some, ...more])];
}

function expand(granted: readonly string[], hierarchy: ScopeHierarchy): ReadonlySet<string> {
  const all = new Set(granted);
  for (const scope of all) {
    if (Object.hasOwn(hierarchy, scope)) for (const implied of hierarchy[scope] ?? NONE) all.add(implied);
  }
  return all;
}
