// `mcp-secure-local policy explain CALL`: which rule decides, and at which line.
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import type { Rule } from "../policy/faults.js";
import type { CommandLine } from "./command-line.js";
import { judgeQuestion, type Judgement } from "./judge-question.js";
import { readQuestion, readQuestionText } from "./policy-question.js";
import { policyFile, policyContext } from "./settings.js";
import { ExitCode, print, printJson, styled } from "./terminal.js";

export const VERDICTS = {
  allowed: "allowed",
  denied: "denied",
  approval: "allowed once a person agrees",
  address: "allowed if its address is",
} as const;

/** @throws PolicyError, UsageError */
export async function policyExplain(line: CommandLine): Promise<number> {
  const [first = "", ...rest] = line.words;
  // All of it in one pair of quotes, as it stands in a file of cases.
  const question = rest.length === 0 && /\s/.test(first.trim()) ? readQuestionText(first) : readQuestion(line.words);
  const policy = await loadPolicy(policyFile(line), line.profile);
  const judgement = judgeQuestion(policy, question, await policyContext(policy, line));
  if (line.json) printJson(jsonOf(policy, judgement));
  else print(textOf(policy, judgement));
  if (!line.json) print(styled("dim", byWhich(policyFile(line))));
  return ExitCode.Ok;
}

function textOf(policy: Policy, { verdict, steps, need, notes = [] }: Judgement): string {
  const lines = [styled(verdict === "denied" ? "red" : "green", VERDICTS[verdict])];
  for (const { about, decision } of steps) {
    lines.push(`  ${decision.allowed ? "+" : "-"} ${cleanLine(about)}`);
    lines.push(`      ${cleanLine(decision.reason)}`, `      rule: ${cleanLine(ruleWithPlace(policy, decision.rule))}`);
  }
  if (need) {
    const who = [...need.answerBy].join(" or ") || "nobody, so it is refused";
    lines.push(`  ? approval within ${need.timeoutMs / 1_000} s, by ${who}`);
    for (const rule of need.rules) lines.push(`      rule: ${cleanLine(ruleWithPlace(policy, rule))}`);
  }
  for (const note of notes) lines.push(`  note: ${cleanLine(note)}`);
  return lines.join("\n");
}

function byWhich(file: string | undefined): string {
  return file === undefined
    ? "  by the built-in policy; name another one with --policy FILE"
    : `  by ${cleanLine(file)}`;
}

/** The rule with its place, where it has one. */
export function ruleWithPlace(policy: Policy, rule: Rule): string {
  return rule.line === undefined ? rule.text : `${rule.text} (${policy.file}:${rule.line}:${rule.column})`;
}

function jsonOf({ file, hash }: Policy, { verdict, steps, need, notes = [] }: Judgement): object {
  return {
    verdict,
    policy: { file, hash },
    steps: steps.map(({ about, decision: { allowed, rule, reason } }) => ({ about, allowed, rule, reason })),
    notes,
    approval: need && { ...need, answerBy: [...need.answerBy] },
  };
}
