// `mcp-secure-local policy test FILE`: whether calls are allowed and denied as a file of cases says.
import { basename, dirname, resolve } from "node:path";
import { readAtMost, whyUnread } from "../audit/owned-files.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { Faults, type Place, PolicyError } from "../policy/faults.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import { type MapTree, readTree, type Tree } from "../policy/policy-tree.js";
import { type Placed, Section, TEXT } from "../policy/section.js";
import { type CommandLine, UsageError } from "./command-line.js";
import {
  type Judgement,
  judgeQuestion,
  type PolicyQuestion,
  readQuestionText,
  ruleWithPlace,
} from "./policy-explain.js";
import { policyFile, type PolicyContext, policyContext } from "./settings.js";
import { complain, ExitCode, print, printJson, styled } from "./terminal.js";

/** Longest file of cases: some ten thousand. */
const MAX_BYTES = 1024 * 1024;
const WANTED = { allow: "allowed", deny: "denied", approve: "approval" } as const;
type Key = keyof typeof WANTED;
const KEYS = Object.keys(WANTED) as Key[];

interface Case {
  readonly wanted: Judgement["verdict"];
  readonly text: string;
  readonly question: PolicyQuestion;
  /** A part of the rule that must decide. */
  readonly rule: string | undefined;
  readonly place: Place;
}

/** @throws PolicyError for a policy or a file of cases that cannot be used */
export async function policyTest(line: CommandLine): Promise<number> {
  const [file, ...rest] = line.words;
  if (file === undefined) throw new UsageError("policy test needs a file of cases, as in policy test cases.yaml");
  if (rest.length > 0) throw new UsageError(`policy test takes one file, not also "${rest[0]}"`);
  const { policy: named, cases } = await readCases(file);
  const policy = await loadPolicy(named ?? policyFile(line));
  const surroundings = await policyContext(policy, line);
  refuseUnknownTools(file, cases, surroundings);
  const failures = cases.flatMap((each) => failureOf(policy, each, surroundings) ?? []);
  if (line.json) printJson({ cases: cases.length, failures });
  else report(file, cases.length, failures);
  return failures.length === 0 ? ExitCode.Ok : ExitCode.Failed;
}

/** A name nobody has is denied whatever the policy says: such a case shows nothing. @throws PolicyError */
function refuseUnknownTools(file: string, cases: readonly Case[], surroundings: PolicyContext): void {
  const faults = new Faults(file);
  for (const { question, place } of cases) {
    const unknown = question.kind === "tool" ? surroundings.unknown(question.name) : undefined;
    if (unknown !== undefined) faults.add(place, unknown);
  }
  faults.throwIfAny();
}

interface Failure {
  readonly line: number;
  readonly call: string;
  readonly wanted: string;
  readonly got: string;
  readonly rule: string;
}

function failureOf(policy: Policy, each: Case, surroundings: PolicyContext): Failure | undefined {
  const { verdict, steps, need } = judgeQuestion(policy, each.question, surroundings);
  const rules = need?.rules ?? steps.slice(-1).map(({ decision }) => decision.rule);
  const texts = rules.map((rule) => ruleWithPlace(policy, rule));
  const named = each.rule === undefined || texts.some((text) => text.includes(each.rule!));
  if (verdict === each.wanted && named) return undefined;
  const wanted = each.rule === undefined ? each.wanted : `${each.wanted} by ${each.rule}`;
  return { line: each.place.line, call: each.text, wanted, got: verdict, rule: texts.join(", ") };
}

function report(file: string, count: number, failures: readonly Failure[]): void {
  if (failures.length === 0) {
    print(`${styled("green", "ok")}  ${count} case${count === 1 ? "" : "s"} of ${file} passed`);
    return;
  }
  const rows = [
    ["line", "call", "wanted", "got", "rule"],
    ...failures.map((each) => Object.values(each).map((cell) => cleanLine(String(cell)))),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows)
    complain(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    );
  complain(`${styled("red", "failed", "stderr")}  ${failures.length} of ${count} cases of ${file}`);
}

async function readCases(file: string): Promise<{ readonly policy: string | undefined; readonly cases: Case[] }> {
  const faults = new Faults(file);
  const tree = await readTree(textOf(file), faults);
  faults.throwIfAny();
  const root = new Section(tree, "", faults);
  if (root.tree("cases") === undefined && tree?.kind === "map" && tree.entries.has("version")) {
    const advice = `name a file with cases, and this policy in it (policy: ${basename(file)}) or with --policy`;
    throw new PolicyError([{ file, line: 1, column: 1, message: `this is a policy; ${advice}` }]);
  }
  const policy = root.value("policy", TEXT)?.value;
  if (root.tree("cases") === undefined)
    faults.add(root.place, "cases is missing: a list of allow, deny and approve, each with a call");
  const cases = root.items("cases").flatMap((item) => readCase(item) ?? []);
  root.finish();
  faults.throwIfAny();
  return { policy: policy === undefined ? undefined : resolve(dirname(file), policy), cases };
}

function readCase(item: Section): Case | undefined {
  const [key, second] = KEYS.filter((each) => item.tree(each) !== undefined);
  const rule = item.value("rule", TEXT)?.value;
  if (key === undefined || second !== undefined)
    item.faults.add(item.place, `${item.path} needs one of ${KEYS.join(", ")}, with a call`);
  const call = key && item.value(key, TEXT);
  const given = item.tree("arguments");
  item.finish();
  const question = call && questionOf(item, call, given);
  if (!call || !question) return undefined;
  const shown = question.kind === "tool" ? `${question.name} ${JSON.stringify(question.arguments)}` : call.value;
  return { wanted: WANTED[key], text: shown, question, rule, place: call.place };
}

/** `arguments` may stand beside the name of a tool, where they need no quotes. */
function questionOf(item: Section, { value, place }: Placed<string>, given?: Tree): PolicyQuestion | undefined {
  try {
    if (given === undefined) return readQuestionText(value);
    if (given.kind === "map") return { kind: "tool", name: value, arguments: plainMap(given) };
    throw new UsageError("arguments must be a mapping of names to values, as in arguments: { path: /data/notes.txt }");
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    item.faults.add(place, `${item.path}: ${error.message}`);
    return undefined;
  }
}

function plainMap({ entries }: MapTree): Record<string, unknown> {
  return Object.fromEntries([...entries].map(([key, { value }]) => [key, plain(value)]));
}

function plain(tree: Tree): unknown {
  if (tree.kind === "value") return tree.value;
  return tree.kind === "list" ? tree.items.map(plain) : plainMap(tree);
}

function textOf(file: string): string {
  try {
    return readAtMost(file, MAX_BYTES);
  } catch (error) {
    const message = `the file cannot be read: ${whyUnread(error)}; name a file of cases`;
    throw new PolicyError([{ file, line: 1, column: 1, message }]);
  }
}
