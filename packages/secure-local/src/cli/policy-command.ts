// `mcp-secure-local policy`: makes, checks, shows, explains and tests policies.
import { lstatSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { homedir } from "node:os";
import { loadPolicy } from "../policy/load-policy.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { policyFile, reviewedTools, usualPolicyFile } from "./settings.js";
import {
  type Ask,
  askInTerminal,
  askYesNo,
  complain,
  complainJson,
  ExitCode,
  print,
  printJson,
  styled,
  tell,
} from "./terminal.js";
import { type Remark, reviewPolicy } from "../policy/review-policy.js";
import { parsePolicy } from "../policy/parse-policy.js";
import { type PolicyChoices, policyText, PRESET_NAMES } from "../policy/policy-text.js";
import { hostPattern } from "../policy/host-matcher.js";
import { pathPatternFault } from "../policy/path-matcher.js";
import { fromVscode, toVscode, type VscodeSandbox, vscodeSandboxFault } from "../policy/vscode-sandbox.js";
import { isThere, kindOfPath, namedText, requireFolderOf, writeNewFile } from "./write-new-file.js";

type Action = (line: CommandLine) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  init: async (line) => policyInit(line),
  check: async (line) => policyCheck(line, oneFile("check", line)),
  show,
  map: async (line) => (await import("./policy-map.js")).policyMap(line, oneFile("map", line)),
  explain: async (line) => (await import("./policy-explain.js")).policyExplain(line),
  test: async (line) => (await import("./policy-test.js")).policyTest(line),
  import: async (line) => policyImport(line),
  export: async (line) => policyExport(line),
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

function oneFile(action: string, { policy, words: [file, ...rest] }: CommandLine): string | undefined {
  if (file !== undefined && policy !== undefined)
    throw new UsageError(`policy ${action} is given two policies, ${file} and --policy ${policy}; keep one`);
  if (rest.length > 0) throw new UsageError(`policy ${action} takes one file, not also "${rest[0]}"`);
  return file;
}

// `mcp-secure-local policy check`: whether a policy can be used, and what in it is probably not meant.

/** Remarks change the exit code with `--strict` alone. @throws PolicyError with every fault of the file */
export async function policyCheck(line: CommandLine, named: string | undefined): Promise<number> {
  const file = named ?? policyFile(line);
  const policy = await loadPolicy(file);
  const { checkPlaces } = await import("../capabilities/files/own-files.js");
  checkPlaces(policy);
  const { approvedNames } = await import("./server-state.js");
  // A variable may be set where the policy is served: who wants to know everything is told.
  const environment = line.strict ? process.env : undefined;
  const surroundings = { kindOf: kindOfPath, approved: await approvedNames(policy), environment };
  const remarks = reviewPolicy(policy, reviewedTools(policy), surroundings);
  const code = line.strict && remarks.length > 0 ? ExitCode.Failed : ExitCode.Ok;
  if (line.json) {
    printJson({ ok: true, file, hash: policy.hash, remarks });
    return code;
  }
  const name = file ?? "The built-in policy";
  print(`${styled("green", "ok")}  ${name} can be used (sha-256 ${policy.hash.slice(0, 12)})`);
  for (const remark of remarks) print(`${styled("red", "note")}  ${textOf(name, remark)}`);
  return code;
}

function textOf(file: string, { rule, message }: Remark): string {
  return rule?.line === undefined ? message : `${file}:${rule.line}:${rule.column}: ${message}`;
}

// `mcp-secure-local policy init`: asks what an AI client may do, and writes the policy that allows it.

/** @throws UsageError where nobody can be asked, the preset does not exist, or the file does */
export async function policyInit(line: CommandLine): Promise<number> {
  const [named, ...rest] = line.words;
  if (rest.length > 0) throw new UsageError(`policy init takes one file, not also "${rest[0]}"`);
  const file = named ?? usualPolicyFile();
  const preset = checkedPreset(line.preset);
  if (named !== undefined) requireFolderOf(named);
  if (!line.yes && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new UsageError("policy init asks in a terminal; without one: policy init --yes, or --preset NAME --yes");
  }
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) throw new UsageError(isThere(file));
  const wishes = line.yes ? usualWishes(preset) : await askInTerminal((ask) => askWishes(ask, preset));
  const text = policyText(wishes);
  const policy = await parsePolicy(text, { file });
  const wrong = writeNewFile(file, text);
  if (wrong !== undefined) throw new UsageError(wrong);
  const { reachOf } = await import("./policy-map.js");
  const reach = reachOf(policy);
  if (line.json) {
    printJson({ written: file, hash: policy.hash, reach });
    return ExitCode.Ok;
  }
  print(`${styled("green", "written")}  ${file}`);
  for (const { title, entries } of reach) print(`  ${title}: ${entries.join(", ")}`);
  const usual = named === undefined;
  print(
    usual
      ? "Every command reads it from now on; mcp-secure-local status shows it."
      : `To use it:  mcp-secure-local --policy ${quoted(file)}`,
  );
  print(`To check:   mcp-secure-local policy check${usual ? "" : ` ${quoted(file)}`}`);
  print(
    `To connect: mcp-secure-local${usual ? "" : ` --policy ${quoted(file)}`}  (in a terminal: what each client needs)`,
  );
  return ExitCode.Ok;
}

function checkedPreset(name: string | undefined): string | undefined {
  if (name === undefined || PRESET_NAMES.includes(name)) return name;
  const near = nearest(name, PRESET_NAMES) || `; there are ${PRESET_NAMES.join(", ")}`;
  throw new UsageError(`there is no preset "${name}"${near}`);
}

function quoted(file: string): string {
  return /^[\w./~-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;
}

// The questions of `policy init`, and what is written where nobody is asked.

/** The built-in policy's powers, or those of the preset alone. */
export function usualWishes(preset: string | undefined): PolicyChoices {
  return { preset, readable: [], writable: [], search: preset === undefined, hosts: [], ask: true };
}

export async function askWishes(ask: Ask, preset: string | undefined): Promise<PolicyChoices> {
  const folders = await askFolders(ask);
  const changes = folders.length > 0 && preset !== "read-only";
  const write = changes && (await askYesNo(ask, "May it change files there as well?", false));
  const asked = write && preset !== "developer";
  const consent = asked && (await askYesNo(ask, "Ask you before it changes one?", true));
  const search = preset === undefined && (await askYesNo(ask, "May it search the web (DuckDuckGo)?", true));
  const hosts = preset === "offline" ? [] : await askHosts(ask);
  return { preset, readable: write ? [] : folders, writable: write ? folders : [], search, hosts, ask: consent };
}

async function askFolders(ask: Ask): Promise<string[]> {
  let question = "Which folders may it read? Several with a comma between them (empty: none) ";
  const kept = new Set<string>();
  for (;;) {
    const given = (await ask(question)).trim();
    if (given === "") return [...kept];
    const folders = foldersIn(given).map((each) =>
      resolve(each.replace(/^~(?=\/|$)/, homedir())).replaceAll("\\", "/"),
    );
    const wrong = folders.flatMap((folder) => folderFault(folder) ?? []);
    for (const folder of folders) if (folderFault(folder) === undefined) kept.add(folder);
    if (wrong.length === 0) return [...kept];
    question = `${wrong.join(" ")} ${again("Which folders", kept)}`;
  }
}

/** A name may hold spaces; where it does not exist as it stands, spaces divide several. */
function foldersIn(given: string): string[] {
  const parts = given
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return parts.flatMap((part) => {
    const whole = statSync(part.replace(/^~(?=\/|$)/, homedir()), { throwIfNoEntry: false }) !== undefined;
    return whole ? [part] : part.split(/\s(?=[~/.]|[A-Za-z]:)/).map((each) => each.trim());
  });
}

function folderFault(folder: string): string | undefined {
  if (folder === "/" || /^[A-Za-z]:\/?$/.test(folder)) return "That is everything on this machine.";
  if (folder === homedir()) return "That is all of your home, with everything in it; name a folder in it.";
  if (/[*?$\u0000-\u001f\u007f]/.test(folder) || pathPatternFault(folder) !== undefined)
    return "A policy cannot name that folder: its name has characters that patterns use.";
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? undefined : `There is no folder ${folder}.`;
}

/** Asks once more for what was wrong; what was right stays. */
function again(question: string, kept: ReadonlySet<string>): string {
  if (kept.size === 0) return `${question}? (empty: none) `;
  return `Taken: ${[...kept].join(", ")}. ${question} besides? (empty: no more) `;
}

async function askHosts(ask: Ask): Promise<string[]> {
  let question = "Whose pages may it read? Host names, as in docs.example.com *.wikipedia.org (empty: none) ";
  const kept = new Set<string>();
  for (;;) {
    const given = (await ask(question)).trim();
    // After two questions of yes or no, some answer this one so too.
    if (/^(no?|none)$/i.test(given)) return [...kept];
    const read = given
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(hostPattern);
    const wrong = read.flatMap((each) => ("wrong" in each ? each.wrong : []));
    for (const each of read) if ("pattern" in each) kept.add(each.pattern);
    if (wrong.length === 0) return [...kept];
    question = `${wrong.join("; ")}. ${again("Whose pages", kept)}`;
  }
}

// `mcp-secure-local policy import vscode FILE [SERVER]` and `policy export vscode [FILE]`: between policies and the `sandbox` block of VS Code.

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
  const { policy, notes } = fromVscode(sandboxOf(readConfiguration(file), { file, server, workspace }), workspace);
  const { stringify } = await import("yaml");
  const text = `${notes.map((note) => `# ${note}\n`).join("")}${stringify(policy, { lineWidth: 120 })}`;
  await parsePolicy(text, { file });
  tell(line, { policy, notes }, text.trimEnd());
  return ExitCode.Ok;
}

/** Prints a `sandbox` block; what it cannot say goes to stderr. @throws UsageError, PolicyError */
export async function policyExport(line: CommandLine): Promise<number> {
  const [kind, file, ...rest] = line.words;
  if (kind !== "vscode" || rest.length > 0)
    throw new UsageError("policy export needs what for, as in policy export vscode [FILE]");
  const { sandbox, notes } = toVscode(await loadPolicy(file ?? policyFile(line)));
  printJson({ sandboxEnabled: true, sandbox });
  for (const note of notes) {
    if (line.json) complainJson({ note });
    else complain(`mcp-secure-local: ${note}`);
  }
  return ExitCode.Ok;
}

function readConfiguration(file: string): unknown {
  const keepTexts = (match: string): string => (match.startsWith('"') ? match : "");
  const written = namedText(file, MAX_BYTES, "name the configuration of a client, as .vscode/mcp.json");
  const text = written.replace(TEXT_OR_COMMENT, keepTexts).replace(TEXT_OR_COMMA, keepTexts);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`${file} is not JSON (${(error as Error).message}); mend it first`);
  }
}

interface WantedBlock {
  readonly file: string;
  /** The only one that has such a block where it is undefined. */
  readonly server: string | undefined;
  readonly workspace: string;
}

function sandboxOf(configuration: unknown, { file, server: wanted, workspace }: WantedBlock): VscodeSandbox {
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
  const fault = vscodeSandboxFault(sandbox, name, workspace);
  if (fault !== undefined) throw new UsageError(`${file}: ${fault}`);
  return sandbox as VscodeSandbox;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
