// `mcp-secure-local policy import vscode FILE [SERVER]` and `policy export vscode [FILE]`: between policies and the `sandbox` block of VS Code.
import { readFileSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { loadPolicy } from "../policy/load-policy.js";
import { parsePolicy } from "../policy/parse-policy.js";
import { fromVscode, toVscode, type VscodeSandbox, vscodeSandboxFault } from "../policy/vscode-sandbox.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { policyFile } from "./settings.js";
import { complain, ExitCode, print, printJson } from "./terminal.js";

/** Longest configuration: far beyond what people write. */
const MAX_BYTES = 1024 * 1024;
/** Texts stay, comments and commas before a closing bracket go: VS Code allows both. */
const TEXT_OR_COMMENT = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\//g;
const TEXT_OR_COMMA = /"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g;

/** Prints a policy. @throws UsageError, PolicyError */
export async function policyImport(line: CommandLine): Promise<number> {
  const [kind, file, server, ...rest] = line.words;
  if (kind !== "vscode" || file === undefined || rest.length > 0)
    throw new UsageError("policy import needs what and which, as in policy import vscode .vscode/mcp.json [SERVER]");
  const folder = dirname(resolve(file));
  const workspace = (basename(folder) === ".vscode" ? dirname(folder) : folder).replaceAll("\\", "/");
  const { policy, notes } = fromVscode(sandboxOf(readConfiguration(file), file, server), workspace);
  const { stringify } = await import("yaml");
  const text = `${notes.map((note) => `# ${note}\n`).join("")}${stringify(policy, { lineWidth: 120 })}`;
  await parsePolicy(text, { file });
  print(text.trimEnd());
  return ExitCode.Ok;
}

/** Prints a `sandbox` block; what it cannot say goes to stderr. @throws UsageError, PolicyError */
export async function policyExport(line: CommandLine): Promise<number> {
  const [kind, file, ...rest] = line.words;
  if (kind !== "vscode" || rest.length > 0)
    throw new UsageError("policy export needs what for, as in policy export vscode [FILE]");
  const { sandbox, notes } = toVscode(await loadPolicy(file ?? policyFile(line)));
  printJson({ sandboxEnabled: true, sandbox });
  for (const note of notes) complain(`mcp-secure-local: ${note}`);
  return ExitCode.Ok;
}

function readConfiguration(file: string): unknown {
  const status = statSync(file, { throwIfNoEntry: false });
  if (!status?.isFile()) throw new UsageError(`there is no file ${file}`);
  if (status.size > MAX_BYTES) throw new UsageError(`${file} is longer than ${MAX_BYTES} bytes`);
  const keepTexts = (match: string): string => (match.startsWith('"') ? match : "");
  const text = readFileSync(file, "utf8").replace(TEXT_OR_COMMENT, keepTexts).replace(TEXT_OR_COMMA, keepTexts);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${(error as Error).message}`);
  }
}

function sandboxOf(configuration: unknown, file: string, wanted: string | undefined): VscodeSandbox {
  const servers = member(configuration, "servers");
  const names = isObject(servers)
    ? Object.keys(servers).filter((name) => isObject(member(member(servers, name), "sandbox")))
    : [];
  const name = wanted ?? (names.length === 1 ? names[0] : undefined);
  if (name === undefined || !names.includes(name)) {
    const which = names.length === 0 ? "no server with a sandbox" : `these servers with a sandbox: ${names.join(", ")}`;
    throw new UsageError(`${file} has ${which}${names.length > 1 ? "; name one" : ""}`);
  }
  const sandbox = member(member(servers, name), "sandbox");
  const fault = vscodeSandboxFault(sandbox, name);
  if (fault !== undefined) throw new UsageError(`${file}: ${fault}`);
  return sandbox as VscodeSandbox;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
