// `mcp-secure-local policy explain`: reads what is asked about, and answers what the policy says of it, with everything
// that would be asked on its way.
import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseTarget } from "../capabilities/egress-target.js";
import { leadsTo } from "../capabilities/files/leads-to.js";
import { isFileUri, pathOfUri } from "../capabilities/files/plain-path.js";
import { gitAddress, isGitUri } from "../capabilities/git/git-folder.js";
import { policyEgress } from "../capabilities/policy-egress.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { type ApprovalNeed, approvalNeed, decideCommand } from "../policy/decide-command.js";
import { decide, type Decision, type FileOperation } from "../policy/decide.js";
import type { Rule } from "../policy/faults.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import { judgedPrompt, judgedUri } from "../server/asked-reads.js";
import { readArguments } from "./call-arguments.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { type Doing, grantOf, toolLeftOut } from "./policy-map.js";
import { type PolicyContext, policyContext, policyFile } from "./settings.js";
import { ExitCode, print, printJson, styled } from "./terminal.js";

/** One thing that is decided on the way. */
export interface Step {
  /** What is asked for, in words. */
  readonly about: string;
  readonly decision: Decision;
  /** The name may be looked up; what is found decides. */
  readonly depends?: boolean;
}

export interface Judgement {
  /** `address`: it depends on the addresses that a name turns out to have. */
  readonly verdict: "allowed" | "denied" | "approval" | "address";
  /** All that is asked for; the last one decides when it is denied. */
  readonly steps: readonly Step[];
  readonly need: ApprovalNeed | undefined;
  /** What else is needed for it to be done at all. */
  readonly notes?: readonly string[] | undefined;
}

export function judgeQuestion(policy: Policy, question: PolicyQuestion, around: PolicyContext): Judgement {
  const steps: Step[] = [];
  for (const step of stepsOf(policy, question, around)) {
    steps.push(step);
    if (!step.decision.allowed) return { verdict: "denied", steps, need: undefined };
  }
  const passed = steps.some(({ depends }) => depends) ? "address" : "allowed";
  const notes = question.kind === "tool" ? toolNotes(policy, question.name, around) : notesOn(policy, question);
  const call = askedAs(policy, question, around);
  const need = call && approvalNeed(policy, { ...call, leads: leadsTo });
  return { verdict: need && passed === "allowed" ? "approval" : passed, steps, need, notes };
}

/** What the server would ask a person about, as its guard judges it; undefined for what is no request of a client. */
function askedAs(
  policy: Policy,
  question: PolicyQuestion,
  around: PolicyContext,
): Omit<Parameters<typeof approvalNeed>[1], "leads"> | undefined {
  if (question.kind === "resource") return judgedUri(question.name);
  if (question.kind === "prompt") return judgedPrompt(question.name, question.arguments, policy);
  const call = question.kind === "tool" ? question : toolFor(question);
  if (call === undefined || (question.kind !== "tool" && !decide(policy, { kind: "tool", name: call.name }).allowed))
    return undefined;
  const destructive = around.effects(call.name)?.destructive ?? true;
  const { open, defaults } = around.inputs?.(call.name) ?? {};
  return { tool: call.name, destructive, arguments: { ...defaults, ...call.arguments }, open };
}

type ToolCall = Pick<PolicyQuestion & { readonly kind: "tool" }, "name" | "arguments">;

/** The call by which a client comes to such a thing; undefined where there is no tool for it. */
function toolFor(question: PolicyQuestion): ToolCall | undefined {
  switch (question.kind) {
    case "command":
      return { name: "run_command", arguments: { command: question.name, arguments: question.arguments } };
    case "fetch":
      return { name: "web_fetch", arguments: { url: question.url } };
    case "file": {
      const name = FILE_TOOLS[question.op];
      return name === undefined ? undefined : { name, arguments: { path: question.path } };
    }
    default:
      return undefined;
  }
}

const FILE_TOOLS: Readonly<Partial<Record<FileOperation, string>>> = {
  read: "read_file",
  list: "list_directory",
  write: "write_file",
};

function toolNotes(policy: Policy, tool: string, around: PolicyContext): string[] | undefined {
  const unknown = around.note?.(tool);
  return unknown === undefined ? wallOf(policy, tool, around) : [unknown];
}

/** What the sandbox of a server lets its tool reach: no argument of the call is judged by that beforehand. */
function wallOf({ servers, sandbox }: Policy, tool: string, { serverOf }: PolicyContext): string[] | undefined {
  const server = servers.get(serverOf?.(tool) ?? "");
  if (server === undefined || server.launch.kind === "url" || sandbox.mode === "none") return undefined;
  const reach = grantOf(server);
  const words = reach.length === 0 ? "it sees no file of yours and reaches no host" : reach.join("; ");
  return [`whatever its arguments say, ${server.name} runs in a sandbox: ${words}`];
}

/** A host or a command that is allowed is of use to nobody while no tool that reaches it is. */
function notesOn(policy: Policy, question: PolicyQuestion): string[] {
  if (policy.plugins.load.size > 0) return [];
  if (question.kind === "command" && !decide(policy, { kind: "tool", name: "run_command" }).allowed)
    return ["no tool that the policy allows runs commands; add run_command to tools.allowed for that"];
  if (question.kind !== "fetch") return [];
  if (decide(policy, { kind: "tool", name: "web_fetch" }).allowed) return [];
  const searches = decide(policy, { kind: "tool", name: "web_search" }).allowed;
  const only = searches ? "web_search asks its search engine alone, and " : "";
  return [`${only}no tool that the policy allows fetches pages; add web_fetch to tools.allowed for that`];
}

function* stepsOf(policy: Policy, question: PolicyQuestion, around: PolicyContext): Iterable<Step> {
  switch (question.kind) {
    case "tool":
      yield toolStep(policy, question.name, around);
      // What a server reaches with its arguments is its own entry's to say.
      if (around.serverOf?.(question.name) === undefined) yield* insideCall(policy, question, around);
      return;
    case "prompt":
      yield present(`prompt ${question.name}`, decide(policy, question), around.absent?.("prompt", question.name));
      return;
    case "resource":
      yield resourceStep(policy, question.name, around);
      yield* behindUri(policy, question.name, around);
      return;
    case "fetch":
      yield fetchStep(policy, question.url);
      yield* leftOut(policy, "fetch");
      return;
    case "file":
      yield fileStep(policy, around, question);
      if (!isReadAsResource(policy, question)) yield* leftOut(policy, question.op);
      return;
    case "command":
      yield* commandSteps(policy, around, question);
      yield* leftOut(policy, "run");
  }
}

/** What a profile leaves no tool for cannot be done by its clients. */
function* leftOut(policy: Policy, doing: Doing | "delete"): Iterable<Step> {
  const name = doing === "delete" ? undefined : toolLeftOut(policy, doing);
  if (name !== undefined) yield { about: `tool ${name}`, decision: decide(policy, { kind: "tool", name }) };
}

function isReadAsResource(policy: Policy, { op, path }: PolicyQuestion & { kind: "file" }): boolean {
  const given = resolve(path.replace(/^~(?=\/|$)/, homedir()));
  return op === "read" && decide(policy, { kind: "resource", uri: pathToFileURL(given).href }).allowed;
}

function toolStep(policy: Policy, name: string, around: PolicyContext): Step {
  const shown = around.calledByClients?.(name);
  const about = `tool ${name}${shown === undefined ? "" : `, which clients call ${shown}`}`;
  const decision = decide(policy, { kind: "tool", name });
  const denied = decision.allowed ? around.denial?.(name) : undefined;
  if (denied !== undefined) return { about, decision: denied };
  const idle = around.idle(name);
  if (idle === undefined) return { about, decision };
  const rule = decision.allowed ? around.lacking(name) : decision.rule;
  // A name nobody has is not to be added to the policy.
  const alone = decision.allowed || around.effects(name) === undefined;
  const reason = alone ? idle : `${decision.reason} ${idle}`;
  return { about, decision: { allowed: false, rule, reason } };
}

/** A command, and what else stands against the paths among its arguments. */
function* commandSteps(
  policy: Policy,
  around: PolicyContext,
  { name, arguments: words }: { readonly name: string; readonly arguments: readonly string[] },
): Iterable<Step> {
  const decision = decideCommand(policy, name, words);
  yield { about: `run ${name}`, decision };
  for (const { path, access } of decision.paths ?? []) {
    const step = fileStep(policy, around, { op: access, path });
    if (!step.decision.allowed) yield step;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function resourceStep(policy: Policy, uri: string, around: PolicyContext): Step {
  const about = `resource ${uri}`;
  const decision = decide(policy, { kind: "resource", uri });
  const against = decision.allowed ? around.objection?.(uri) : undefined;
  return against === undefined
    ? present(about, decision, around.absent?.("resource", uri))
    : { about, decision: against };
}

/** What is not there cannot be read, whatever the policy says of its name. */
function present(about: string, decision: Decision, absent: string | undefined): Step {
  if (absent === undefined || !decision.allowed) return { about, decision };
  return { about, decision: { allowed: false, rule: { text: "default deny" }, reason: absent } };
}

/** The arguments by which built-in tools name what they reach for. What a plugin reaches with its own is its grant's to say. */
function* insideCall(policy: Policy, call: PolicyQuestion & { kind: "tool" }, around: PolicyContext): Iterable<Step> {
  const effects = around.effects(call.name);
  if (effects === undefined) return;
  for (const [name, value] of Object.entries(call.arguments)) {
    if (typeof value !== "string") continue;
    if (name === "url") yield fetchStep(policy, value);
    if (name === "file") yield fileStep(policy, around, { op: "read", path: value });
    if (name !== "path") continue;
    const looks = LOOKS_INTO_FOLDERS.has(call.name) ? lookingAt(value) : "read";
    yield fileStep(policy, around, { op: effects.readOnly ? looks : "write", path: value });
  }
  if (SEARCHES.has(call.name) && call.arguments["path"] === undefined) yield* everyFolder(policy, around);
  const { command, arguments: words = [] } = call.arguments;
  if (call.name !== "run_command" || typeof command !== "string" || !isTexts(words)) return;
  yield* commandSteps(policy, around, { name: command, arguments: words });
}

/** Tools whose `path` may be a folder; every other one that only reads takes a file. */
const LOOKS_INTO_FOLDERS: ReadonlySet<string> = new Set(["list_directory", "search_files", "search_text"]);
/** Tools that look into all that is allowed unless they are told where. */
const SEARCHES: ReadonlySet<string> = new Set(["search_files", "search_text"]);

/** Folder by folder, as they are searched: one that cannot be ends it. */
function* everyFolder(policy: Policy, around: PolicyContext): Iterable<Step> {
  for (const path of around.folders?.() ?? []) {
    yield fileStep(policy, around, { op: "list", path });
    if (lookingAt(path) !== "list") return;
  }
}

/** Folders above allowed files may be listed, as far as that goes. */
function lookingAt(path: string): FileOperation {
  try {
    return statSync(path).isDirectory() ? "list" : "read";
  } catch {
    return "read";
  }
}

/** The file or folder a URI stands for; of a repository, the one of that name in its work tree. */
function* behindUri(policy: Policy, uri: string, around: PolicyContext): Iterable<Step> {
  const template = uri.includes("{");
  if (template || (!isFileUri(uri) && !isGitUri(uri))) return;
  try {
    const path = isFileUri(uri) ? pathOfUri(uri) : pathInRepository(uri);
    const step = fileStep(policy, around, { op: "read", path });
    if (isGitUri(uri)) yield* historyStep(around, gitAddress(uri).repository);
    // Folders above allowed files may be listed, as far as that goes.
    yield step.decision.allowed ? step : fileStep(policy, around, { op: "list", path });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    yield {
      about: uri,
      decision: { allowed: false, rule: { text: "built-in rule: only plain file and git URIs" }, reason },
    };
  }
}

/** History is read out of git's own files, which lie in the repository or are it. */
function* historyStep({ judge }: PolicyContext, repository: string): Iterable<Step> {
  const kept = followed(existsSync(`${repository}/.git`) ? `${repository}/.git` : repository);
  const refusal = judge(`${kept}/HEAD`, "read", "git");
  if (refusal === undefined) return;
  const { rule, reason } = refusal;
  yield { about: `history in ${kept}`, decision: { allowed: false, rule: { text: rule }, reason } };
}

function pathInRepository(uri: string): string {
  const { repository, path } = gitAddress(uri);
  return path === "" ? repository : `${followed(repository)}/${path}`;
}

function fetchStep(policy: Policy, url: string): Step {
  const about = `fetch ${url}`;
  try {
    const target = parseTarget(url);
    const { host, port } = target;
    const egress = policyEgress(() => policy)(target);
    const decision = decide(policy, { kind: "network", host, port });
    if (egress.allowed === decision.allowed) return { about, decision };
    const lookedUp = "The name is looked up, and allowed where its address lies in network.allowed_ranges.";
    const reason = egress.allowed ? lookedUp : `The policy does not let ${url} be fetched this way.`;
    const decided = { allowed: egress.allowed, rule: { text: egress.rule }, reason };
    return { about, decision: decided, depends: egress.allowed };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { about, decision: { allowed: false, rule: { text: "built-in rule: only plain http(s) URLs" }, reason } };
  }
}

/** The path as it is written, and as it is on this machine now: links followed as far as they lead. */
function fileStep(
  policy: Policy,
  around: PolicyContext,
  { op, path: given }: { readonly op: FileOperation; readonly path: string },
): Step {
  const written = resolve(given.replace(/^~(?=\/|$)/, homedir())).replaceAll("\\", "/");
  const led = followed(written).replaceAll("\\", "/");
  const path = around.judge(written, op) === undefined ? led : written;
  const about = `${op} ${path}`;
  const refusal = around.judge(path, op);
  const decision = decide(policy, { kind: "file", path, op });
  if (decision.allowed === (refusal === undefined)) return { about, decision };
  // What protects this program and its machine, folders on the way to what is allowed, other names of one folder.
  const reason = refusal?.reason ?? "It leads to what the policy allows.";
  return { about, decision: { allowed: !refusal, rule: { text: refusal?.rule ?? decision.rule.text }, reason } };
}

function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(followed(dirname(path)), basename(path));
  }
}

// Reads what `policy explain` and `policy test` are asked about: a call, an address, a path, a command.

export type PolicyQuestion =
  | { readonly kind: "tool"; readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly kind: "prompt"; readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly kind: "resource"; readonly name: string }
  | { readonly kind: "fetch"; readonly url: string }
  | { readonly kind: "file"; readonly op: FileOperation; readonly path: string }
  | { readonly kind: "command"; readonly name: string; readonly arguments: readonly string[] };

const OPERATIONS: ReadonlySet<string> = new Set(["read", "write", "list", "delete"]);
/** Each of them is about something; a tool of such a name is asked about as `tool NAME`. */
const TAKES_ONE: ReadonlySet<string> = new Set([...OPERATIONS, "fetch", "prompt", "resource", "run"]);
const TOOL: ReadonlySet<string> = new Set(["tool", "call"]);
const USAGE =
  'name a call, as in web_search \'{"query":"x"}\', fetch URL, read PATH, write PATH, run COMMAND ARGUMENT…, prompt NAME [ARGUMENTS] or resource URI';

/**
 * The first word says what it is; a name that is none of the known words is a tool. `tool NAME` and `call NAME` stand for a tool of any name.
 * @throws UsageError
 */
export function readQuestion(words: readonly string[]): PolicyQuestion {
  const [first, second, ...rest] = words;
  if (first === undefined || (second === undefined && (TOOL.has(first) || TAKES_ONE.has(first))))
    throw new UsageError(USAGE);
  if (TOOL.has(first) && second !== undefined) return toolQuestion(second, rest);
  if (second === undefined || second.trimStart().startsWith("{")) return toolQuestion(first, words.slice(1));
  if (first === "run") return { kind: "command", name: second, arguments: rest };
  const isFile = OPERATIONS.has(first);
  if (!isFile && first !== "fetch" && first !== "prompt" && first !== "resource") {
    return toolQuestion(first, words.slice(1));
  }
  if (first === "prompt") return { kind: "prompt", name: second, arguments: readArguments(rest, undefined) };
  if (rest.length > 0) throw new UsageError(`${first} takes one thing, not also "${rest[0]}"`);
  if (isFile) return { kind: "file", op: first as FileOperation, path: second };
  return first === "fetch" ? { kind: "fetch", url: second } : { kind: "resource", name: second };
}

/** The same from one line of text: its words are divided by spaces, an object stays whole. */
export function readQuestionText(text: string): PolicyQuestion {
  const [, first = "", rest = ""] = /^\s*(\S+)\s*([^]*?)\s*$/.exec(text) ?? [];
  if (first === "") throw new UsageError(USAGE);
  if (rest === "") return readQuestion([first]);
  const object = rest.indexOf("{");
  const whole = rest.startsWith("{") || ((TOOL.has(first) || first === "prompt") && object > 0);
  if (!whole) return readQuestion([first, ...(first === "run" ? rest.split(/\s+/) : pathWords(first, rest))]);
  return readQuestion([first, rest.slice(0, object).trim(), rest.slice(object)].filter((word) => word !== ""));
}

/** A path may hold spaces. */
function pathWords(first: string, rest: string): string[] {
  return OPERATIONS.has(first) ? [rest] : rest.split(/\s+/);
}

/** What is no other question is one about a tool: whoever meant another one is told which there are. */
function toolQuestion(name: string, given: readonly string[]): PolicyQuestion {
  try {
    return { kind: "tool", name, arguments: readArguments(given, undefined) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      `${error.message}; "${cleanLine(name)}" is taken for a tool. To ask about something else, ${USAGE}`,
    );
  }
}

// `mcp-secure-local policy explain CALL`: which rule decides, and at which line.

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
