// Reads the sections profiles and menu: which part of the policy some clients get, and how long a list of tools may be.
import { type Faults, type PatternRule, PolicyError, patternRule, ruleAt } from "./faults.js";
import { NameMatcher } from "./host-matcher.js";
import {
  DEFAULT_MENU,
  MENU_TOOLS,
  type MenuPolicy,
  type Policy,
  type ProfilePolicy,
  type ServerGrant,
} from "./policy.js";
import { NAME_PATTERN } from "./read-names.js";
import { didYouMean, type Expectation, oneOf, type Placed, type Section } from "./section.js";

/** It is a part of a URL's path, and of a command line. */
const PROFILE_NAME: Expectation<string> = {
  words: 'at most 32 small letters, digits and "-", beginning with a letter',
  read: (value) => (typeof value === "string" && /^[a-z][a-z0-9-]{0,31}$/.test(value) ? value : undefined),
};
const SERVER: Expectation<string> = {
  words: "the name of a server",
  read: (value) => (typeof value === "string" && value !== "" ? value : undefined),
};
const MENU = oneOf("full", "search", "auto");

export function readProfiles(section: Section): ReadonlyMap<string, ProfilePolicy> {
  const profiles = new Map<string, ProfilePolicy>();
  for (const [name, item, place] of section.named()) {
    if (PROFILE_NAME.read(name) === undefined)
      section.faults.add(place, `profiles has the name "${name.slice(0, 60)}"; it must be ${PROFILE_NAME.words}`);
    const tools = item.section("tools");
    const rules = (key: string): PatternRule[] | undefined => rulesOf(tools.name(key), tools.list(key, NAME_PATTERN));
    const allowed = rules("allowed");
    profiles.set(name, {
      name,
      rule: ruleAt("profiles", name, place),
      servers: item.list("servers", SERVER)?.map(({ value }) => value),
      allowedTools: allowed && new NameMatcher(allowed),
      deniedTools: new NameMatcher(rules("denied") ?? []),
    });
    tools.finish();
    item.finish();
  }
  return profiles;
}

function rulesOf(list: string, names: Placed<string>[] | undefined): PatternRule[] | undefined {
  return names?.map(({ value, place }) => patternRule(list, value, place));
}

/** @param root The whole policy: `menu` is one word. */
export function readMenu(root: Section): MenuPolicy {
  const menu = root.value("menu", MENU);
  return menu === undefined ? DEFAULT_MENU : { mode: menu.value, rule: ruleAt("menu", menu.value, menu.place) };
}

/** What the menu needs is allowed by its own line; a denial is stronger, as always. */
export function withMenuTools(allowed: NameMatcher, { mode, rule }: MenuPolicy): NameMatcher {
  if (mode === "full" || rule === undefined) return allowed;
  return new NameMatcher([...allowed.rules, ...MENU_TOOLS.map((pattern) => ({ pattern, rule }))]);
}

/** A server that the policy does not name would be missing in silence. */
export function checkProfiles(
  faults: Faults,
  { profiles, servers }: { readonly profiles: Policy["profiles"]; readonly servers: ReadonlyMap<string, ServerGrant> },
): void {
  for (const { name, rule, servers: wanted = [] } of profiles.values()) {
    for (const server of wanted) {
      if (servers.has(server)) continue;
      const hint = didYouMean(server, servers.keys()) || "; add it to servers";
      const place = { line: rule.line ?? 1, column: rule.column ?? 1 };
      faults.add(place, `profiles.${name} names the server "${server}", which servers does not have${hint}`);
    }
  }
}

/**
 * The part of a policy that clients of one profile get: its servers, and of the tools that the policy allows those that the profile
 * names. A profile never allows more than the policy.
 *
 * @throws PolicyError when the policy has no such profile
 */
export function profiledPolicy(policy: Policy, name: string): Policy {
  const profile = policy.profiles.get(name);
  if (profile === undefined) {
    const file = policy.file ?? "the built-in policy";
    const near = didYouMean(name, policy.profiles.keys());
    const known = [...policy.profiles.keys()].join(", ");
    const has = known === "" ? "; the policy has no profiles" : `; there are ${known}`;
    const message = `there is no profile "${name}"${near || has}`;
    throw new PolicyError([{ file, line: 1, column: 1, message, placeless: true }]);
  }
  const wanted = profile.servers;
  const servers = [...policy.servers].filter(([server]) => wanted?.includes(server) ?? true);
  return { ...policy, whole: policy, profile, servers: new Map(servers) };
}
