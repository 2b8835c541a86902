// `mcp-secure-local policy check` and `policy show`: says whether a policy can be used, and what it comes to.
import { describePolicy } from "../policy/describe-policy.js";
import { loadPolicy } from "../policy/load-policy.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { policyFile } from "./settings.js";
import { ExitCode, print, styled } from "./terminal.js";

const ACTIONS = ["check", "show"];

/** @throws PolicyError with every fault of the file */
export async function policyCommand(line: CommandLine): Promise<number> {
  const [action, named, ...rest] = line.words;
  if (action === undefined || !ACTIONS.includes(action)) {
    const near = action === undefined ? "" : nearest(action, ACTIONS);
    throw new UsageError(`policy needs one of ${ACTIONS.join(", ")}${near}`);
  }
  if (rest.length > 0) throw new UsageError(`policy ${action} takes one file, not also "${rest[0]}"`);
  const file = named ?? policyFile(line);
  const policy = await loadPolicy(file);
  const text = describePolicy(policy);
  if (action === "check") {
    const name = file ?? "The built-in policy";
    print(`${styled("green", "ok")}  ${name} can be used (sha-256 ${policy.hash.slice(0, 12)})`);
  } else if (line.json) {
    const { parse } = await import("yaml");
    print(JSON.stringify(parse(text), null, 2));
  } else {
    print(text.trimEnd());
  }
  return ExitCode.Ok;
}
