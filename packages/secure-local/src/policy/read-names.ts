// Reads the sections that name things: tools, resources, prompts, profiles and the menu.
import { type Faults, patternRule, type PatternRule, PolicyError, ruleAt } from "./faults.js";
import { NameMatcher, ValuesByName } from "./host-matcher.js";
import {
  DEFAULT_MENU,
  DEFAULT_OUTPUT_BYTES,
  DEFAULT_RATE,
  DEFAULT_TASK_TIMEOUT_S,
  DEFAULT_TIMEOUT_S,
  CALLING_TOOL,
  MAX_TASK_TIMEOUT_S,
  MENU_TOOLS,
  NO_CALL_OF_ITS_OWN,
  type MenuPolicy,
  type NamesPolicy,
  type PerTool,
  type Policy,
  type ProfilePolicy,
  type PromptsPolicy,
  type ServerGrant,
  type ToolsPolicy,
  type WebSearchPolicy,
} from "./policy.js";
import { type Environment, readFilePath } from "./read-paths.js";
import {
  didYouMean,
  type Expectation,
  type NamedEntry,
  oneOf,
  type Placed,
  secondsUpTo,
  type Section,
  TEXT,
  wholeNumber,
} from "./section.js";

/** A larger limit is no limit; a mistyped number should be noticed. */
const MAX_RATE = 1_000_000;
/** A call that takes longer than an hour hangs. */
const MAX_TIMEOUT_S = 3_600;
/** Below this an error message does not fit; above the largest message the client side reads. */
export const OUTPUT_BYTES: Expectation<number> = wholeNumber(1_024, 64 * 1024 * 1024);
const RATE = wholeNumber(1, MAX_RATE);
/** Longest name of a tool in the specification. */
const MAX_NAME = 128;
/** Longest URI; the message it comes in is bounded too, but a rule should stay readable. */
const MAX_URI = 2_000;

const SECONDS = secondsUpTo(MAX_TIMEOUT_S);
const TASK_SECONDS = secondsUpTo(MAX_TASK_TIMEOUT_S);
export const NAME_PATTERN: Expectation<string> = {
  words: 'a name of letters, digits, "_", ".", "/" and "-" (a last * stands for any ending)',
  read: (value) =>
    typeof value === "string" && (value === "*" || isName(value.replace(/\*$/, ""))) ? value : undefined,
};
const URI_PATTERN: Expectation<string> = {
  words: "a URI with its scheme, as in server://info (a last * stands for any ending)",
  read: (value) => (typeof value === "string" ? uriPattern(value) : undefined),
};
const PROVIDER = oneOf("duckduckgo", "searxng");

export function readTools(section: Section): ToolsPolicy {
  const limits = section.section("rate_limits").all(RATE);
  const rateLimits = perTool(limits, DEFAULT_RATE, section);
  const listed = section.list("allowed", NAME_PATTERN);
  const allowed = listed
    ? rules(section.name("allowed"), listed)
    : limits
        .filter(([key]) => key !== "default")
        .map(([key, , place]) => patternRule(section.name("rate_limits"), key, place));
  const tools = {
    allowed: new NameMatcher(allowed),
    denied: new NameMatcher(rules(section.name("denied"), section.list("denied", NAME_PATTERN))),
    rateLimits,
    timeoutsMs: readTimeouts(section),
    taskTimeoutMs: (section.value("task_timeout", TASK_SECONDS)?.value ?? DEFAULT_TASK_TIMEOUT_S) * 1_000,
    maxOutputBytes: section.value("max_output_bytes", OUTPUT_BYTES)?.value ?? DEFAULT_OUTPUT_BYTES,
    webSearch: readWebSearch(section.section("web_search")),
  };
  section.finish();
  return tools;
}

export function readResources(section: Section): NamesPolicy {
  const names = readNames(section, URI_PATTERN);
  section.finish();
  return names;
}

export function readPrompts(section: Section, environment: Environment): PromptsPolicy {
  const names = readNames(section, NAME_PATTERN);
  const logs = section.section("analyze_logs");
  const analyzeLogsFile = readFilePath(logs, "log_file", environment);
  logs.finish();
  section.finish();
  return { ...names, analyzeLogsFile };
}

function readNames(section: Section, wanted: Expectation<string>): NamesPolicy {
  return {
    allowed: new NameMatcher(rules(section.name("allowed"), section.list("allowed", wanted))),
    denied: new NameMatcher(rules(section.name("denied"), section.list("denied", wanted))),
  };
}

function rules(list: string, names: Placed<string>[] | undefined): PatternRule[] {
  return (names ?? []).map(({ value, place }) => patternRule(list, value, place));
}

function isName(text: string): boolean {
  return text.length <= MAX_NAME && /^[A-Za-z0-9_./-]+$/.test(text);
}

function readTimeouts(section: Section): PerTool {
  const timeouts = section.section("timeouts").all(SECONDS);
  const seconds = perTool(timeouts, DEFAULT_TIMEOUT_S, section);
  const single = section.value("timeout", SECONDS);
  if (single && timeouts.some(([key]) => key === "default")) {
    section.faults.add(single.place, "tools.timeout and tools.timeouts.default say the same thing; keep one of them");
  }
  const byName = new ValuesByName([...seconds.byName].map(([name, value]) => [name, value * 1_000]));
  return { default: (single?.value ?? seconds.default) * 1_000, byName };
}

function perTool(entries: readonly NamedEntry<number>[], fallback: number, section: Section): PerTool {
  const byName = new ValuesByName();
  const lines = new Map<string, number>();
  let general = fallback;
  for (const [key, { value }, place] of entries) {
    lines.set(key, place.line);
    if (key === "default") general = value;
    else if (key === CALLING_TOOL) section.faults.add(place, `a limit ${NO_CALL_OF_ITS_OWN}`);
    else if (isName(key)) byName.set(key, value);
    else
      section.faults.add(
        place,
        `"${key.slice(0, 60)}" is not the name of a tool; use letters, digits, "_", "." and "-"`,
      );
  }
  return { default: general, byName, lines };
}

function readWebSearch(section: Section): WebSearchPolicy {
  const provider = section.value("provider", PROVIDER)?.value ?? "duckduckgo";
  const endpoint = section.value("endpoint", TEXT);
  if (endpoint) {
    const wrong = endpointFault(endpoint.value);
    if (wrong) section.faults.add(endpoint.place, `${section.name("endpoint")}: ${wrong}`);
  } else if (provider === "searxng" && section.tree("endpoint") === undefined) {
    section.faults.add(
      section.place,
      `${section.path} needs an endpoint: the URL of your SearXNG server's search page`,
    );
  }
  section.finish();
  return { provider, endpoint: endpoint?.value };
}

function endpointFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return `"${text}" is not an http or https URL`;
  if (url.username !== "" || url.password !== "")
    return "a URL in a policy cannot hold a user name or password; remove them";
  if (url.hash !== "") return "the part after # is never sent; remove it";
  return undefined;
}

/** Schemes are compared without regard to case; the rest of a URI is not. */
function uriPattern(text: string): string | undefined {
  const match = /^([A-Za-z][A-Za-z0-9+.-]*)(:[^\s\u0000-\u001f\u007f*]+\*?)$/.exec(text);
  return match?.[1] === undefined || text.length > MAX_URI ? undefined : match[1].toLowerCase() + match[2];
}

// Reads the sections profiles and menu: which part of the policy some clients get, and how long a list of tools may be.

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
