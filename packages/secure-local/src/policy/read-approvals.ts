// Reads the section approvals.
import type { ApprovalRule, Approver, ArgumentCondition, Remember } from "./approvals-policy.js";
import { NameMatcher } from "./name-matcher.js";
import { pathPatternFault } from "./path-pattern.js";
import { expandPath, type Environment } from "./path-value.js";
import { NAME_PATTERN } from "./read-names.js";
import { patternRule, ruleAt } from "./rule.js";
import { oneOf, secondsUpTo, type Section, type Wanted } from "./section.js";

/** Nobody answers later; a question must not stay open longer than people remember what it was about. */
const MAX_TIMEOUT_S = 300;
const DEFAULT_TIMEOUT_S = 120;
const TIMEOUT = secondsUpTo(MAX_TIMEOUT_S);
/** `plugin:NAME` is whatever that plugin asks the server for. */
const ASKED_FOR: Wanted<string> = {
  words: `${NAME_PATTERN.words}, or plugin:NAME`,
  read: (value) => {
    const plugin = typeof value === "string" && value.startsWith(PLUGIN) ? value.slice(PLUGIN.length) : undefined;
    if (plugin === undefined) return NAME_PATTERN.read(value);
    return NAME_PATTERN.read(plugin) === undefined ? undefined : PLUGIN + plugin;
  },
};
const PLUGIN = "plugin:";
const GROUP = oneOf("destructive", "tainted", "all");
const APPROVER: Wanted<Approver> = oneOf("client", "terminal");
const MAX_REMEMBERED_MINUTES = 60;
const REMEMBER: Wanted<Remember> = {
  words: `none, session, or a number of minutes from 1 to ${MAX_REMEMBERED_MINUTES}`,
  read(value) {
    if (value === "none" || value === "session") return { kind: value };
    const minutes = typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 60;
    return minutes ? { kind: "minutes", minutes: value } : undefined;
  },
};
const CONDITION: Wanted<string | number | boolean> = {
  words: "a text (* and ? are patterns), a number, true or false",
  read: (value) =>
    (typeof value === "string" && value !== "") || typeof value === "number" || typeof value === "boolean"
      ? value
      : undefined,
};

/** @param root The whole policy. */
export function readApprovals(root: Section, environment: Environment): ApprovalRule[] {
  return root.items("approvals").flatMap((item) => {
    const approve = readApprove(item);
    const timeout = item.value("timeout", TIMEOUT)?.value ?? DEFAULT_TIMEOUT_S;
    const rule: ApprovalRule = {
      rule: ruleAt(
        "approvals",
        typeof approve === "object" ? approve.rules.map((each) => each.pattern).join(", ") : (approve ?? ""),
        item.place,
      ),
      approve: approve ?? "all",
      when: readWhen(item.section("when"), environment),
      timeoutMs: timeout * 1_000,
      remember: item.value("remember", REMEMBER)?.value ?? { kind: "none" },
      answerBy: readAnswerBy(item),
    };
    item.finish();
    return approve === undefined ? [] : rule;
  });
}

function readApprove(item: Section): ApprovalRule["approve"] | undefined {
  if (item.tree("approve")?.kind !== "list") return item.need("approve", GROUP)?.value;
  const names = item.list("approve", ASKED_FOR) ?? [];
  if (names.length === 0) item.faults.add(item.place, `${item.name("approve")} is empty; name a tool`);
  return new NameMatcher(names.map(({ value, place }) => patternRule("approvals", value, place)));
}

function readWhen(section: Section, environment: Environment): ArgumentCondition[] {
  const conditions = section.all(CONDITION).map(([argument, { value, place }]): ArgumentCondition => {
    if (typeof value !== "string" || !/^(?:\/|~|\$\{|\*\*\/|[A-Za-z]:\/)/.test(value)) {
      return { argument, pattern: value, isPath: false };
    }
    const expanded = expandPath(value, environment);
    const wrong = "wrong" in expanded ? expanded.wrong : pathPatternFault(expanded.path);
    if (wrong !== undefined) section.faults.add(place, `${section.name(argument)}: ${wrong}`);
    return { argument, pattern: "path" in expanded ? expanded.path : value, isPath: true };
  });
  section.finish();
  return conditions;
}

function readAnswerBy(item: Section): ReadonlySet<Approver> {
  const listed = item.list("answer_by", APPROVER);
  if (listed?.length === 0) item.faults.add(item.place, `${item.name("answer_by")} is empty; name client or terminal`);
  return new Set(listed?.map(({ value }) => value) ?? (["client", "terminal"] as const));
}
