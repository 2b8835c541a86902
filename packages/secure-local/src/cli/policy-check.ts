// `mcp-secure-local policy check`: whether a policy can be used, and what in it is probably not meant.
import { loadPolicy } from "../policy/load-policy.js";
import { reviewPolicy, type Remark } from "../policy/review-policy.js";
import type { CommandLine } from "./command-line.js";
import { policyFile } from "./settings.js";
import { ExitCode, print, printJson, styled } from "./terminal.js";
import { reviewedTools } from "./surroundings.js";

/** Remarks do not change the exit code. @throws PolicyError with every fault of the file */
export async function policyCheck(line: CommandLine, named: string | undefined): Promise<number> {
  const file = named ?? policyFile(line);
  const policy = await loadPolicy(file);
  const remarks = reviewPolicy(policy, await reviewedTools(policy));
  if (line.json) {
    printJson({ ok: true, file, hash: policy.hash, remarks });
    return ExitCode.Ok;
  }
  const name = file ?? "The built-in policy";
  print(`${styled("green", "ok")}  ${name} can be used (sha-256 ${policy.hash.slice(0, 12)})`);
  for (const remark of remarks) print(`${styled("red", "note")}  ${textOf(name, remark)}`);
  return ExitCode.Ok;
}

function textOf(file: string, { rule, message }: Remark): string {
  return rule?.line === undefined ? message : `${file}:${rule.line}:${rule.column}: ${message}`;
}
