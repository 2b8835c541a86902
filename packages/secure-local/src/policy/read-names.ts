// Reads the sections that name things: tools, resources and prompts.
import { NameMatcher } from "./host-matcher.js";
import {
  DEFAULT_OUTPUT_BYTES,
  DEFAULT_RATE,
  DEFAULT_TASK_TIMEOUT_S,
  DEFAULT_TIMEOUT_S,
  type NamesPolicy,
  type PerTool,
  type PromptsPolicy,
  type ToolsPolicy,
  type WebSearchPolicy,
} from "./policy.js";
import { type Environment, readFilePath } from "./read-paths.js";
import { patternRule, type PatternRule } from "./faults.js";
import {
  oneOf,
  secondsUpTo,
  TEXT,
  wholeNumber,
  type NamedEntry,
  type Placed,
  type Section,
  type Expectation,
} from "./section.js";

/** A larger limit is no limit; a mistyped number should be noticed. */
const MAX_RATE = 1_000_000;
/** A call that takes longer than an hour hangs. */
const MAX_TIMEOUT_S = 3_600;
/** As long as the library keeps a task for a client that asks for it. */
const MAX_TASK_TIMEOUT_S = 86_400;
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
  const byName = new Map([...seconds.byName].map(([name, value]) => [name, value * 1_000]));
  return { default: (single?.value ?? seconds.default) * 1_000, byName };
}

function perTool(entries: readonly NamedEntry<number>[], fallback: number, section: Section): PerTool {
  const byName = new Map<string, number>();
  const lines = new Map<string, number>();
  let general = fallback;
  for (const [key, { value }, place] of entries) {
    lines.set(key, place.line);
    if (key === "default") general = value;
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
