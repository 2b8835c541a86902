// `mcp-secure-local status`: what this program has to work with on this machine, for `doctor` without a target too.

import { cleanLine } from "../guard/cleaning/clean-text.js";
import { type CommandLine, inUse, adviceWord, UsageError } from "./command-line.js";
import { ExitCode, outputWidth, print, printJson, styled, wrapped } from "./terminal.js";
import { accessSync, constants, existsSync, lstatSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { lookAtHead } from "../audit/log-file.js";
import { existingLogs } from "../audit/log-writer.js";
import { WrongKindError } from "../audit/owned-files.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { PluginGrant, Policy } from "../policy/policy.js";
import { reviewPolicy } from "../policy/review-policy.js";
import { type Listed, everyServer } from "@secure-local/mcp-tools/configured-servers";
import { hasControlGroups } from "../sandbox/control-group.js";
import { findWall } from "../sandbox/find-wall.js";
import type { ServerHealth } from "../server/server-health.js";
import { lockFileOf, type PluginLock, readLock } from "../server/plugin-lock.js";
import { localTime } from "./audit-lines.js";
import { kindOfPath } from "./write-new-file.js";
import {
  auditFile,
  controlFolder,
  policyFile,
  programVersion,
  reviewedTools,
  tokenFile,
  usualPolicyFile,
} from "./settings.js";

/** One thing that was looked at. */
export interface SurveyItem {
  readonly name: string;
  /** `fault`: what is wanted here does not work. `note`: worth knowing, nothing has to be done. */
  readonly state: "ok" | "note" | "fault";
  readonly text: string;
  /** What to do about it: a command, or a sentence. */
  readonly mend?: string;
}

/** As package.json has it. */
const OLDEST_NODE = [20, 19] as const;
const OURS = /(?:^|[\\/])mcp-secure-local(?:\.cjs)?$/;

/** Everything, in the order in which people ask for it. Nothing is started but the proof of the sandbox, and nothing is written. */
export async function surveyMachine(line: CommandLine): Promise<SurveyItem[]> {
  const { policy, items } = await surveyPolicy(line);
  return [
    surveyProgram(),
    ...items,
    ...(await surveySecrets(policy)),
    surveyAudit(line, policy),
    ...surveyCheckpoints(policy),
    surveyToken(),
    await surveySandbox(policy),
    ...(await surveyPlugins(policy)),
    ...(await surveyServers(policy)),
    ...(await surveyRunning()),
    ...(await surveyClients()),
  ];
}

/** What the servers that run now say of themselves at their control sockets. */
async function surveyRunning(): Promise<SurveyItem[]> {
  const { runningServers } = await import("../control/control-client.js");
  return (await runningServers(controlFolder())).map((running) => {
    const { pid, transport, url, policy, tools, plugins, since, auditFile } = running;
    const how = transport === "http" ? `at ${url ?? "a socket"}` : "started by its client";
    const unwell = plugins.filter(({ state }) => state !== "ready" && state !== "starting").map(({ name }) => name);
    const by = policy.file ?? "the built-in policy";
    const text = `process ${pid}, ${how}, since ${localTime(since)}: ${tools.length === 1 ? "1 tool" : `${tools.length} tools`}, by ${by}`;
    // It makes the file as it starts, and records nothing where that is gone.
    if (!existsSync(auditFile))
      return {
        name: "running",
        state: "fault",
        text: `${text}. It refuses every call: its audit log ${auditFile} was moved or removed`,
        mend: "Put the log back, or restart the server to begin with what is there. Full files are moved by: mcp-secure-local audit archive",
      };
    if (running.checkpointFault !== undefined)
      return {
        name: "running",
        state: "fault",
        text: `${text}. It writes no checkpoint of its audit log: ${running.checkpointFault}`,
        mend: "Put the file of audit.checkpoints back, or see to its rights; calls are run and recorded meanwhile.",
      };
    if (unwell.length === 0) return { name: "running", state: "ok", text };
    return {
      name: "running",
      state: "note",
      text: `${text}; not well: ${unwell.join(", ")}`,
      mend: "mcp-secure-local plugins list",
    };
  });
}

function surveyProgram(): SurveyItem {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const text = `mcp-secure-local ${programVersion()}, Node ${node}, ${process.platform} ${process.arch}`;
  const [oldest, least] = OLDEST_NODE;
  if (major > oldest || (major === oldest && minor >= least)) return { name: "program", state: "ok", text };
  return { name: "program", state: "fault", text, mend: `Install Node ${OLDEST_NODE.join(".")} or later.` };
}

async function surveyPolicy(
  line: CommandLine,
): Promise<{ readonly policy: Policy | undefined; readonly items: SurveyItem[] }> {
  const file = policyFile(line);
  try {
    const policy = await loadPolicy(file);
    const { approvedNames } = await import("./server-state.js");
    const surroundings = { kindOf: kindOfPath, approved: await approvedNames(policy) };
    const remarks = reviewPolicy(policy, reviewedTools(policy), surroundings);
    const hash = `sha-256 ${policy.hash.slice(0, 12)}`;
    const text = file === undefined ? "built in: web search, arithmetic, time" : `${file} (${hash})`;
    const mend =
      file === undefined
        ? `mcp-secure-local policy init   writes ${usualPolicyFile()}, which every command reads`
        : undefined;
    const items: SurveyItem[] = [{ name: "policy", state: "ok", text, ...(mend === undefined ? {} : { mend }) }];
    const notes = remarks.length === 1 ? "1 thing in it is" : `${remarks.length} things in it are`;
    if (remarks.length > 0 && file !== undefined)
      items.push({
        name: "policy",
        state: "note",
        text: `${notes} probably not meant`,
        mend: `mcp-secure-local policy check ${adviceWord(file)}`,
      });
    return { policy, items };
  } catch (error) {
    // Each fault is a line of its own, and this is one.
    const text = (error instanceof Error ? error.message : String(error)).split("\n").join("; ");
    return {
      policy: undefined,
      items: [
        { name: "policy", state: "fault", text, mend: `mcp-secure-local policy check ${adviceWord(file ?? "")}` },
      ],
    };
  }
}

/** Those whose value cannot be had. A variable may be set where the program is served: a file is there, or is not. */
async function surveySecrets(policy: Policy | undefined): Promise<SurveyItem[]> {
  const secrets = [...(policy?.secrets.values() ?? [])];
  if (secrets.length === 0) return [];
  const { secretFault } = await import("../server/open-server.js");
  const items = secrets.flatMap((secret): SurveyItem[] => {
    const fault = secretFault(secret);
    if (fault === undefined) return [];
    const state = secret.from.kind === "file" ? "fault" : "note";
    return [{ name: "secrets", state, text: `${secret.name} cannot be read: ${fault}` }];
  });
  const readable = secrets.length - items.length;
  if (readable === 0) return items;
  const text =
    items.length === 0 ? secrets.map(({ name }) => name).join(", ") : `${readable} of ${secrets.length} can be read`;
  return [{ name: "secrets", state: "ok", text }, ...items];
}

function surveyAudit(line: CommandLine, policy: Policy | undefined): SurveyItem {
  const name = "audit log";
  const file = auditFile(line, policy);
  const logs = existingLogs(file);
  const text =
    logs.length === 0 ? `${file} (not written yet)` : logs.map((log) => `${log} (${sizeOf(log)})`).join(", ");
  // The folder is made with the log: what counts is the nearest that is there.
  let folder = dirname(file);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  for (const log of logs) {
    const fault = statSync(log).isFile() ? lookAtHead(log).fault : `${log} is ${kindOf(log)}`;
    if (fault === undefined) continue;
    const mend = `Put it right, or move it away: until then no call is run. mcp-secure-local audit verify ${adviceWord(log)}`;
    return { name, state: "fault", text: fault, mend };
  }
  for (const path of [folder, ...logs]) {
    if (mayWrite(path)) continue;
    const mend = `Make ${path} writable, or name another log with --audit FILE: no call is run that cannot be recorded.`;
    return { name, state: "fault", text: `${path} cannot be written`, mend };
  }
  const named = line.audit === undefined ? inUse(line) : ` --audit ${adviceWord(line.audit)}`;
  return { name, state: "ok", text, mend: `mcp-secure-local audit verify${named}` };
}

/** In the place of a file: `no file but a pipe`. */
function kindOf(path: string): string {
  return new WrongKindError(path, statSync(path)).what;
}

/** Where nobody runs, what the next start finds. */
function surveyCheckpoints(policy: Policy | undefined): SurveyItem[] {
  const { file } = policy?.audit.checkpoints ?? {};
  if (file === undefined) return [];
  const name = "checkpoints";
  const folder = dirname(file);
  if (!existsSync(folder)) {
    const mend = `See that its disk is mounted, or make ${folder}; serve makes it at its start, and not while it runs.`;
    return [{ name, state: "fault", text: `there is no folder ${folder} for ${file}`, mend }];
  }
  const path = existsSync(file) ? file : folder;
  if (path === file && !statSync(file).isFile())
    return [
      { name, state: "fault", text: `${file} is ${kindOf(file)}`, mend: "Name another file in audit.checkpoints." },
    ];
  if (mayWrite(path) && mayWrite(folder, constants.X_OK)) return [{ name, state: "ok", text: file }];
  const mend = `Make ${path} writable, or name another file in audit.checkpoints.`;
  return [{ name, state: "fault", text: `${path} cannot be written, so no checkpoint of the audit log is`, mend }];
}

function sizeOf(file: string): string {
  const { size } = statSync(file);
  return size < 1024 * 1024 ? `${Math.ceil(size / 1024)} KB` : `${(size / (1024 * 1024)).toFixed(1)} MB`;
}

function mayWrite(path: string, mode: number = constants.W_OK): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function surveyToken(): SurveyItem {
  const file = tokenFile();
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return { name: "token", state: "ok", text: `none yet; serve makes one in ${file}` };
  if (!stats.isFile()) {
    const what = stats.isSymbolicLink() ? "a link" : new WrongKindError(file, stats).what;
    const mend = "Move it away, and the next serve makes one.";
    return { name: "token", state: "fault", text: `${file} is ${what}, so serve does not start`, mend };
  }
  if (process.platform === "win32" || (stats.mode & 0o077) === 0) return { name: "token", state: "ok", text: file };
  return {
    name: "token",
    state: "fault",
    text: `${file} can be read by others`,
    mend: `rm ${file}   (serve makes a new one)`,
  };
}

/** What of the policy is started in the sandbox, in words; empty where nothing is. */
function startedBy(policy: Policy | undefined): string {
  if (policy === undefined) return "";
  const { servers, plugins, commands } = policy;
  const local = [...servers.values()].filter(({ enabled, launch }) => enabled && launch.kind === "command");
  const loaded = [...plugins.load.values()].filter(({ enabled }) => enabled);
  const named = (what: string, all: readonly { readonly name: string }[]): string[] => {
    const names = all.map(({ name }) => name).join(", ");
    return all.length === 0 ? [] : [`the ${what}${all.length === 1 ? "" : "s"} ${names}`];
  };
  const all = [
    ...named("server", local),
    ...named("plugin", loaded),
    ...named("command", [...commands.allowed.values()]),
  ];
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

/** Missing, it is a fault only where the policy starts something. */
export async function surveySandbox(policy: Policy | undefined, find: typeof findWall = findWall): Promise<SurveyItem> {
  const name = "sandbox";
  const needs = startedBy(policy);
  try {
    const wall = await find(policy?.sandbox ?? { mode: "required" });
    if (wall.name !== "none") return { name, state: "ok", text: [wall.name, ...limitsOf(wall.name)].join("; ") };
    const who = needs === "" ? "servers, plugins and commands are" : `nothing confines ${needs}: each is`;
    return {
      name,
      state: "note",
      text: `none, since the policy says sandbox: none; ${who} started with all the rights of your account`,
    };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const [, mend] = /Install it: (.*?)\. Or let/.exec(text) ?? [];
    const who =
      needs === ""
        ? " (servers, plugins and commands need it; this policy starts none)"
        : ` Without it none of these starts: ${needs}.`;
    return {
      name,
      state: needs === "" ? "note" : "fault",
      text: `${text}${who}`,
      ...(mend === undefined ? {} : { mend }),
    };
  }
}

/** Which limits of a sandbox hold for more, or for less, than one may think. */
function limitsOf(wall: string): string[] {
  if (wall !== "bubblewrap") return [];
  if (hasControlGroups()) return ["each sandbox in a control group: memory and processes are limited as a whole"];
  const root = "this is root, of whose processes the kernel counts none: sandbox.processes limits nothing";
  const memory = "no control group: sandbox.memory_mb holds for each process, without memory that processes share";
  return [memory, ...(process.getuid?.() === 0 ? [root] : [])];
}

async function surveyPlugins(policy: Policy | undefined): Promise<SurveyItem[]> {
  const load = [...(policy?.plugins.load.values() ?? [])].filter(({ enabled }) => enabled);
  if (policy?.file === undefined || load.length === 0) return [];
  const missing = load.filter(({ path }) => !existsSync(path));
  const name = "plugins";
  if (missing.length > 0)
    return missing.map((plugin) => ({
      name,
      state: "fault",
      text: `${plugin.name}: there is nothing at ${plugin.path}`,
      mend: "Correct plugins.load in the policy.",
    }));
  const text = load.map((plugin) => plugin.name).join(", ");
  const lock = lockOf(policy.file);
  if (lock !== undefined) return surveyLocked(policy, load, lock);
  const mend = `mcp-secure-local plugins lock --policy ${adviceWord(policy.file)}`;
  return [{ name, state: "note", text: `${text} (not locked: whatever they offer is offered)`, mend }];
}

/** The servers behind the policy; what is not as it was approved is not offered. */
async function surveyServers(policy: Policy | undefined): Promise<SurveyItem[]> {
  if (policy?.file === undefined || policy.servers.size === 0) return [];
  const [{ serverStates }, { approvedServers }, { withheldText }] = await Promise.all([
    import("./server-state.js"),
    import("../server/server-reviews.js"),
    import("../server/server-health.js"),
  ]);
  const running = await withheldNow(policy.file);
  const listed = (await serverStates(policy, approvedServers(policy))).map(({ name, state, withheld = {} }) => {
    const held = state === "approved" ? (running.get(name) ?? withheldText(Object.values(withheld))) : "";
    return { name, state, held };
  });
  const text = listed.map(({ name, state, held }) => `${name} ${state}${held === "" ? "" : ` (${held})`}`).join(", ");
  const waiting = listed.filter(
    ({ state, held }) => state === "not approved" || state === "launch changed" || held !== "",
  );
  if (waiting.length === 0) return [{ name: "servers", state: "ok", text }];
  const which = waiting.length === 1 ? ` ${waiting[0]?.name}` : "";
  const mend = `mcp-secure-local servers review${which} --policy ${adviceWord(policy.file)}`;
  const what = waiting.some(({ held }) => held === "") ? "not approved" : "withheld";
  return [{ name: "servers", state: "note", text: `${text}; what is ${what} is not offered`, mend }];
}

/** By server what a process that runs by this policy found when it started it, which nobody knows before. */
async function withheldNow(file: string): Promise<ReadonlyMap<string, string>> {
  const { runningServers } = await import("../control/control-client.js");
  const all = (await runningServers(controlFolder())).flatMap(({ policy, servers = [] }) =>
    policy.file !== undefined && resolve(policy.file) === resolve(file) ? (servers as readonly ServerHealth[]) : [],
  );
  return new Map(
    all.flatMap(({ name, cause, remedy }) => (remedy.includes(" servers review ") ? [[name, cause] as const] : [])),
  );
}

/** Locked plugins that would be offered, and each that would not. */
async function surveyLocked(policy: Policy, load: readonly PluginGrant[], lock: PluginLock): Promise<SurveyItem[]> {
  const { toldOf, withheldPlugins } = await import("./server-state.js");
  const withheld = await withheldPlugins(policy, lock);
  const well = load.filter((plugin) => withheld.every((each) => each.name !== plugin.name));
  const offered = well.map((plugin) => plugin.name).join(", ");
  return [
    ...(well.length === 0 ? [] : [{ name: "plugins", state: "ok", text: `${offered} (locked)` } as const]),
    ...withheld.map(({ name, review: mend, ...how }): SurveyItem => {
      const text = `${name} ${toldOf(how)}`;
      return { name: "plugins", state: "note", text, ...(mend === undefined ? {} : { mend }) };
    }),
  ];
}

function lockOf(policy: string): PluginLock | undefined {
  try {
    return readLock(lockFileOf(policy));
  } catch {
    return undefined;
  }
}

/** Configuration files of clients, and whether this program is in them. */
async function surveyClients(): Promise<SurveyItem[]> {
  const name = "clients";
  let all: Listed[];
  try {
    all = await everyServer({});
  } catch (error) {
    return [{ name, state: "note", text: error instanceof Error ? error.message : String(error) }];
  }
  const files = new Map<string, { client: string; servers: number; ours: boolean; problem?: string | undefined }>();
  for (const { place, found, name: server, problem } of all) {
    const file = files.get(place.path) ?? { client: place.client, servers: 0, ours: false };
    // Without a server's name stands a file that cannot be read.
    if (found === undefined && server === "") file.problem = problem;
    file.servers += 1;
    file.ours ||= found !== undefined && isOurs(found.server);
    files.set(place.path, file);
  }
  if (files.size === 0)
    return [
      {
        name,
        state: "note",
        text: "no client is configured with any server",
        mend: "mcp-secure-local   (in a terminal: what to give each client)",
      },
    ];
  return [...files].map(([path, { client, servers, ours, problem }]) => {
    const count = servers === 1 ? "1 server" : `${servers} servers`;
    const what = problem ?? `${path} (${count}${ours ? ", this program among them" : ""})`;
    const where = problem === undefined || problem.includes(path) ? "" : `${path}: `;
    return {
      name,
      state: problem === undefined ? "ok" : "note",
      text: cleanLine(`${client}: ${where}${what}`),
      ...(problem === undefined ? {} : { mend: "Correct it: until then its client reads no server from it." }),
    } as const;
  });
}

function isOurs(server: object): boolean {
  const { command, args } = server as { readonly command?: unknown; readonly args?: unknown };
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])];
  return words.some((word) => typeof word === "string" && OURS.test(word));
}

export async function statusCommand(line: CommandLine): Promise<number> {
  if (line.words.length > 0) throw new UsageError(`status takes no "${line.words[0]}"; leave it out`);
  const items = await surveyMachine(line);
  if (line.json) printJson(items);
  else for (const item of items) print(itemText(item));
  return items.some(({ state }) => state === "fault") ? ExitCode.Failed : ExitCode.Ok;
}

/** Says what does not work here; fails where something is wanted that does not. */
export async function machineDoctor(line: CommandLine): Promise<number> {
  const items = await surveyMachine(line);
  const faults = items.filter(({ state }) => state === "fault");
  const failed = faults.length > 0 || (line.strict && items.some(({ state }) => state === "note"));
  if (line.json) printJson(items);
  else {
    for (const item of items) if (item.state !== "ok") print(itemText(item));
    const rest = `${items.filter(({ state }) => state === "ok").length} of ${items.length} are well`;
    print(
      `${failed ? styled("red", "something is wrong") : styled("green", "ok")}  ${rest}; mcp-secure-local status shows all`,
    );
  }
  return failed ? ExitCode.Failed : ExitCode.Ok;
}

const COLOURS = { ok: "green", note: "yellow", fault: "red" } as const;
const COLUMN = 12;

function itemText({ name, state, text, mend }: SurveyItem): string {
  const width = Math.max(40, (outputWidth() ?? 120) - COLUMN - 2);
  const head = styled(COLOURS[state], name.padEnd(COLUMN));
  const indented = (words: string): string => wrapped(words, width).replaceAll("\n", `\n${" ".repeat(COLUMN + 2)}`);
  const lines = [`${head}  ${indented(cleanLine(text))}`];
  if (mend !== undefined) lines.push(`${" ".repeat(COLUMN + 2)}${styled("bold", indented(mend))}`);
  return lines.join("\n");
}
