// `mcp-secure-local sandbox -- COMMAND`: runs a command behind the wall, with what the policy allows and nothing else.
import { constants, homedir } from "node:os";
import { accessSync, constants as modes, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { once } from "node:events";
import type { AuditSink } from "../audit/audit-event.js";
import { unseenEscaped } from "@secure-local/inspection/escape-unseen";
import { ownFiles } from "../capabilities/files/own-files.js";
import { sandboxEnvironment, type SandboxEnvironment } from "../capabilities/sandbox-environment.js";
import { loadPolicy } from "../policy/load-policy.js";
import { blockedBy } from "../policy/decide-command.js";
import type { Policy } from "../policy/policy.js";
import { findWall } from "../sandbox/find-wall.js";
import { endedByLimit, endWalled, startWalled, UnwalledTree } from "../sandbox/start-walled.js";
import type { Reach, Wall, WalledCommand } from "../sandbox/wall.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { openAudit } from "./open-audit.js";
import { ownPlaces, policyFile } from "./settings.js";
import { complain } from "./terminal.js";
import { parsePolicy } from "../policy/parse-policy.js";
import { fromVscode, vscodeSandboxFault } from "../policy/vscode-sandbox.js";
import { configuredTarget } from "@secure-local/mcp-tools/configured-servers";
import { type CommandTarget, PASSED_ON } from "@secure-local/mcp-tools/target";

/** Seen in every sandbox. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;

/** What to run, and under what. */
export interface Errand {
  readonly executable: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** Copies that are seen in place of files, so that nobody exchanges what was compared. Without a wall they are not used. */
  readonly copies?: readonly { readonly at: string; readonly copy: string }[];
  readonly policy: Policy;
  /** The policy that says where records go: never a stranger's. */
  readonly auditBy: Policy;
  /** The process without which nobody speaks to the command: both end with it. */
  readonly parent?: number | undefined;
  /** What of a server's a person reads here: what steers a terminal is escaped in it. Default: all passes as it is. */
  readonly shown?: readonly ("stdout" | "stderr")[];
  /** Whose home it is, where homes are kept. Default: that of every start by this command line. */
  readonly owner?: readonly string[];
  /** Names how it is started, as records of a server's start for calls do. */
  readonly launch?: string;
  /** The server of the policy that it is, and the rule that has it started; absent: a person gave the command. */
  readonly server?: { readonly name: string; readonly rule: string; readonly line?: number | undefined };
}

/** Resolves to the exit code of the command; what it reads and writes passes as it is. @throws UsageError, PolicyError, WallError */
export async function sandboxCommand(line: CommandLine): Promise<number> {
  return runErrand(line, line.config === undefined ? await ofCommand(line) : await ofServer(line, line.config));
}

/** Resolves to the exit code. @throws WallError */
export async function runErrand(line: Pick<CommandLine, "audit">, errand: Errand): Promise<number> {
  const { policy, executable, args } = errand;
  const wall = await findWall(policy.sandbox);
  if (wall.name === "none")
    complain("mcp-secure-local: the policy says sandbox: none, so there is no wall around this");
  const own = ownFiles(policy, ownPlaces(line));
  const owner = errand.owner ?? [basename(executable), ...args];
  const audit = await openAudit(line, errand.auditBy, complain);
  try {
    const refused = (endpoint: string, rule: string): void => {
      complain(`mcp-secure-local: refused a connection to ${endpoint} (${rule})`);
      recordRefusal(audit, errand, { rule, detail: { endpoint } });
    };
    const refusedFiles = (files: string, rule: string): void =>
      recordRefusal(audit, errand, { rule, detail: { files } });
    const surroundings = await sandboxEnvironment(policy, { own, wall, owner, refused, refusedFiles }).catch(
      (error) => {
        const { rule } = error as { readonly rule?: string };
        if (rule !== undefined)
          recordRefusal(audit, errand, { rule, detail: { files: `a home in ${policy.sandbox.homes ?? ""}` } });
        throw error;
      },
    );
    return await onRecord(audit, errand, () => run(wall, errand, surroundings));
  } finally {
    await audit.close();
  }
}

async function ofCommand(line: CommandLine): Promise<Errand> {
  const [name, ...args] = line.words;
  if (name === undefined)
    throw new UsageError("sandbox needs a command, as in mcp-secure-local sandbox -- npx -y NAME");
  const { readVariables } = await import("@secure-local/mcp-tools/target");
  const env = readVariables(line.env);
  const policy = await loadPolicy(policyFile(line));
  const executable = unblocked(policy, executableOf(name));
  return { executable, args, env, folder: process.cwd(), policy, auditBy: policy };
}

/** A server of a configuration of VS Code's; its own block is the policy. */
async function ofServer(line: CommandLine, file: string): Promise<Errand> {
  const [name, ...rest] = line.words;
  if (name === undefined || rest.length > 0)
    throw new UsageError("sandbox --config FILE needs the name of one server in that file");
  const own = policyFile(line);
  const mine = await loadPolicy(own);
  const denied = own === undefined ? undefined : mine;
  const { target, policy, notes } = await vscodeServer(name, file, denied);
  for (const note of notes) complain(`mcp-secure-local: ${note}`);
  const { command, args, env, cwd = process.cwd() } = target;
  return { executable: unblocked(mine, executableOf(command)), args, env, folder: cwd, policy, auditBy: mine };
}

/** The executable, unless the policy blocks commands of its name, or of the name of what its links lead to. @throws UsageError */
function unblocked(policy: Policy, executable: string): string {
  const rule = [executable, realpathSync(executable)].map((path) => blockedBy(policy, path)).find(Boolean);
  if (rule === undefined) return executable;
  const place = rule.line === undefined ? "" : ` (line ${rule.line} of ${policy.file})`;
  throw new UsageError(
    `the policy blocks the command "${basename(executable)}": ${rule.text}${place}; remove it there to run it`,
  );
}

async function run(
  wall: Wall,
  { executable, args, env, folder, parent, copies = [], shown: read = [] }: Errand,
  { reach, limits, egress, close }: SandboxEnvironment,
): Promise<number> {
  // A package lies where it is kept, among this program's own files, which may lie in a folder that the server was granted.
  // Only bubblewrap shows a copy where its file is: elsewhere the file itself is started, and its grant is needed.
  const usable = copies.filter(({ at, copy }) => at === copy || wall.name === "bubblewrap");
  const inPlace = usable.map(({ at, copy }): Reach => ({
    ...{ path: realpathSync(copy), at, access: "read" },
    ...(at === copy ? { apart: true } : {}),
  }));
  const shown = SYSTEM.test(executable) || inPlace.some(({ at }) => at === executable);
  const replaced = new Set(inPlace.map(({ at }) => at));
  const rest = reach.filter(({ path, at = path, access }) => access === "hidden" || !replaced.has(at));
  const all = [...rest, ...(shown ? [] : [programReach(executable)]), ...inPlace];
  const shim = shimRefusal(executable, all);
  if (shim !== undefined) {
    await close();
    throw new UsageError(shim);
  }
  const workingDirectory = folderInside(folder, all);
  const way = (name: "stdout" | "stderr"): "pipe" | "inherit" => (read.includes(name) ? "pipe" : "inherit");
  const tree = parent === undefined || wall.name === "bubblewrap" ? undefined : new UnwalledTree();
  const command: WalledCommand = {
    ...{ executable, args, reach: all, limits, egress, workingDirectory },
    env: { ...env, ...tree?.env },
  };
  try {
    const child = startWalled(wall, command, ["inherit", way("stdout"), way("stderr")]);
    for (const name of read) child[name]?.pipe(unseenEscaped()).pipe(process[name], { end: false });
    // A terminal tells its Ctrl-C to what is in this group, as it is behind bubblewrap; this program stays to record how it ended.
    const hearsItself = (): boolean =>
      wall.name === "bubblewrap" || child.exitCode !== null || child.signalCode !== null;
    const pressed = (): boolean => hearsItself() || process.kill(-(child.pid as number), "SIGINT");
    for (const name of SIGNALS) process.on(name, () => (name === "SIGINT" ? pressed() : child.kill(name)));
    const isOrphan = (): boolean => process.ppid !== parent;
    const rest = tree?.endsWith(child);
    if (parent !== undefined) endOnce(isOrphan, () => endWalled(wall, child));
    const over = read.length > 0 ? "close" : "exit";
    const [code, signal] = (await once(child, over)) as [number | null, NodeJS.Signals | null];
    await rest;
    const limit = endedByLimit(code, signal);
    if (limit !== undefined) complain(`mcp-secure-local: ${executable} was ended: ${limit}; raise it in the policy`);
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } finally {
    await close();
  }
}

/** Milliseconds between two looks for the process that started this one: whoever was killed tells nobody. */
const ORPHAN_LOOK_MS = 500;

/** All that was started with the first process ends with it, see `UnwalledTree`. */
function endOnce(isOrphan: () => boolean, end: () => void): void {
  const look = setInterval(() => {
    if (!isOrphan()) return;
    clearInterval(look);
    end();
  }, ORPHAN_LOOK_MS);
  look.unref();
}

/** The folder one is in, where it is seen inside. */
function folderInside(folder: string, reach: readonly Reach[]): string | undefined {
  const seen = reach.some(({ path, at = path, access }) => access !== "hidden" && `${folder}/`.startsWith(`${at}/`));
  return seen ? folder : undefined;
}

function programReach(executable: string): Reach {
  return { path: realpathSync(executable), at: executable, access: "read" };
}

/** pyenv, rbenv, nodenv, asdf, mise: a script that looks for the real program in folders beside its own. */
const SHIM = /^(.*\/\.?(\w+))\/shims\/([^/]+)$/;

/** What to type in place of a shim whose programs are not seen inside; undefined where it is none, or they are. */
export function shimRefusal(executable: string, reach: readonly Reach[]): string | undefined {
  const [, root = "", manager = "", name = ""] = SHIM.exec(executable) ?? [];
  if (name === "" || folderInside(root, reach) !== undefined) return undefined;
  return (
    `${executable} only looks for the real ${name} in ${root}, which a sandbox does not see; type the path that ` +
    `"${manager} which ${name}" tells, with the folder two above it in sandbox.read_only_paths, or a ${name} of the system, ` +
    `as in sandbox -- /usr/bin/${name}`
  );
}

/** A path, or the first of that name in the folders of PATH. @throws UsageError */
export function executableOf(name: string): string {
  const folders = name.includes("/") ? [] : (process.env["PATH"] ?? "").split(delimiter).filter((each) => each !== "");
  const places = name.includes("/") ? [resolve(name)] : folders.map((folder) => join(folder, name));
  const found = places.find(isExecutable);
  if (found === undefined) throw new UsageError(`there is no program "${name}"; name one in PATH, or by its path`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, modes.X_OK);
    return true;
  } catch {
    return false;
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

interface Refusal {
  readonly rule: string;
  readonly detail: Readonly<Record<string, string>>;
}

function recordRefusal(audit: AuditSink, { server, policy }: Errand, { rule, detail }: Refusal): void {
  const decision = { allowed: false, rule };
  const about = { tool: "sandbox", server: server?.name, policy: policy.hash.slice(0, LABEL_DIGITS) };
  // Nothing was done: a log that fails says so itself.
  audit.record({ kind: "sandbox.refused", ...about, decision, detail }).catch(() => undefined);
}

/** Nothing is started that is not on record; how it ended is written when it has. */
async function onRecord(
  audit: AuditSink,
  { executable, args, policy, server, launch }: Errand,
  work: () => Promise<number>,
): Promise<number> {
  const detail = { command: [executable, ...args].join(" ") };
  const about = { tool: "sandbox", server: server?.name, policy: policy.hash.slice(0, LABEL_DIGITS) };
  const decision = { allowed: true, rule: server?.rule ?? "a person started it", line: server?.line };
  const { file, hash } = policy;
  const begun = { ...detail, policy: { file, hash }, ...(launch === undefined ? {} : { launch }) };
  await audit.record({ kind: "sandbox.begun", ...about, decision, detail: begun });
  const started = performance.now();
  const code = await work();
  const outcome = code === 0 ? "ok" : "error";
  const duration_ms = Math.round(performance.now() - started);
  await audit.record({ kind: "sandbox.ended", ...about, outcome, duration_ms, detail: { ...detail, code } });
  return code;
}

/** As calls name the policy in force. */
const LABEL_DIGITS = 12;

// A server that VS Code starts in a sandbox: its command, and the policy that its block amounts to here.

export interface SandboxedServer {
  readonly target: CommandTarget;
  readonly policy: Policy;
  /** What its block says that a policy cannot. */
  readonly notes: readonly string[];
}

/**
 * `denied`: the person's own policy, where there is one; what it denies stays denied.
 *
 * @throws UsageError for a server without `sandboxEnabled`, or with a block that makes no sense; PolicyError
 */
export async function vscodeServer(name: string, file: string, denied: Policy | undefined): Promise<SandboxedServer> {
  const { askForTrust } = await import("./remote/folder-trust.js");
  const passed = (process.env[PASSED_ON] ?? "").split(",").filter((each) => each !== "");
  const target = await configuredTarget(name, { file, given: passed, consent: (found) => askForTrust(found) });
  if (target.kind === "url" || target.sandboxed === undefined)
    throw new UsageError(`"${name}" of ${file} has no sandboxEnabled; give a command after --, and --policy FILE`);
  const { sandbox, workspace } = target.sandboxed;
  const fault = vscodeSandboxFault(sandbox, name, workspace);
  if (fault !== undefined) throw new UsageError(`${file}: ${fault}`);
  const { policy, notes } = fromVscode(sandbox ?? {}, workspace);
  const env = Object.fromEntries(passed.map((each) => [each, process.env[each] ?? ""]));
  return {
    target: { ...target, env: { ...target.env, ...env }, cwd: target.cwd ?? workspace },
    policy: await parsePolicy(JSON.stringify(narrowed(extended(policy, workspace), denied)), { file }),
    notes: notes.slice(1),
  };
}

/**
 * VS Code lets a server read everything; here it is the workspace, the system, and where Node is installed. Packages that are
 * fetched stay in a home of the server's own.
 */
function extended(policy: Readonly<Record<string, unknown>>, workspace: string): Readonly<Record<string, unknown>> {
  const files = policy["filesystem"] as Readonly<Record<string, unknown>>;
  const homes = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "mcp-secure-local", "homes");
  const seen = [
    workspace,
    ...(files["allowed_paths"] as readonly string[]).map((path) => path.replace(/\/\*\*.*$/, "")),
  ];
  // Nothing is judged in a home: where a grant shows all of them, none is kept.
  const apart = !seen.some((folder) => `${homes}/`.startsWith(`${folder === "/" ? "" : folder}/`));
  return {
    ...policy,
    filesystem: { ...files, readable_paths: [`${workspace}/**`] },
    sandbox: { ...(apart ? { homes } : {}), read_only_paths: nodeFolder() },
  };
}

/** A stranger's block never allows what the person's own policy denies. */
function narrowed(policy: Readonly<Record<string, unknown>>, own: Policy | undefined): object {
  if (own === undefined) return policy;
  const files = policy["filesystem"] as { readonly denied_paths: string[]; readonly denied_write_paths: string[] };
  const network = policy["network"] as { readonly denied_endpoints: object[] };
  const patterns = ({ rules }: { readonly rules: readonly { readonly pattern: string }[] }): string[] =>
    rules.map(({ pattern }) => pattern);
  return {
    ...policy,
    filesystem: {
      ...files,
      denied_paths: [...files.denied_paths, ...patterns(own.filesystem.denied)],
      denied_write_paths: [...files.denied_write_paths, ...patterns(own.filesystem.unwritable)],
    },
    network: {
      ...network,
      denied_endpoints: [
        ...network.denied_endpoints,
        ...patterns(own.network.deniedEndpoints).map((host) => ({ host })),
      ],
    },
  };
}

/** Where Node was installed by itself, its package manager lies beside it. */
function nodeFolder(): string[] {
  const folder = dirname(dirname(realpathSync(process.execPath)));
  return /^\/(?:usr|bin|nix\/store)(?:\/|$)/.test(folder) || folder === "/" ? [] : [folder];
}
