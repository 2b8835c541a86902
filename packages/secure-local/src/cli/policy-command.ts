// `mcp-secure-local policy`: makes, checks, shows, explains and tests policies.
import { loadPolicy } from "../policy/load-policy.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { policyFile } from "./settings.js";
import { ExitCode, print, printJson } from "./terminal.js";

type Action = (line: CommandLine) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  init: async (line) => (await import("./policy-init.js")).policyInit(line),
  check: async (line) => (await import("./policy-check.js")).policyCheck(line, oneFile("check", line)),
  show,
  explain: async (line) => (await import("./policy-explain.js")).policyExplain(line),
  test: async (line) => (await import("./policy-test.js")).policyTest(line),
  import: async (line) => (await import("./policy-vscode.js")).policyImport(line),
  export: async (line) => (await import("./policy-vscode.js")).policyExport(line),
};

/** @throws PolicyError with every fault of the file */
export async function policyCommand(line: CommandLine): Promise<number> {
  const [action, ...words] = line.words;
  if (action === undefined || !Object.hasOwn(ACTIONS, action)) {
    const near = action === undefined ? "" : nearest(action, Object.keys(ACTIONS));
    throw new UsageError(`policy needs one of ${Object.keys(ACTIONS).join(", ")}${near}`);
  }
  if (line.preset !== undefined && action !== "init")
    throw new UsageError("--preset belongs to policy init, as in mcp-secure-local policy init --preset read-only");
  return await ACTIONS[action]!({ ...line, words });
}

async function show(line: CommandLine): Promise<number> {
  const named = oneFile("show", line);
  const { describePolicy } = await import("../policy/describe-policy.js");
  const text = describePolicy(await loadPolicy(named ?? policyFile(line)));
  if (line.json) {
    const { parse } = await import("yaml");
    printJson(parse(text));
  } else {
    print(text.trimEnd());
  }
  return ExitCode.Ok;
}

function oneFile(action: string, { words: [file, ...rest] }: CommandLine): string | undefined {
  if (rest.length > 0) throw new UsageError(`policy ${action} takes one file, not also "${rest[0]}"`);
  return file;
}
