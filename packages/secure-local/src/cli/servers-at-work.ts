// The servers of the policy as they run: examined, ended and started again, and their logs; and the server that a command line names.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { routeBy, type Target, type Way, targetText } from "@secure-local/mcp-tools/target";
import { readAtOnce } from "../audit/owned-files.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy, ServerGrant } from "../policy/policy.js";
import { type Upstream, upstreamOf } from "../server/open-server.js";
import { rememberSecrets } from "../server/follow-policy-file.js";
import type { ServerHealth } from "../server/server-health.js";
import { serverLaunch } from "../server/server-launch.js";
import { type CommandLine, inUse, nearest, UsageError } from "./command-line.js";
import { changeableIn } from "./failure.js";
import type { Controlled } from "../control/control-client.js";
import { lateAudit } from "./open-audit.js";
import { controlFolder, pluginFolders, policyFile } from "./settings.js";
import { complain, ExitCode, print, printJson, tell } from "./terminal.js";
import { whyNot } from "./why-not.js";

export async function policyOf(line: CommandLine): Promise<{ readonly policy: Policy; readonly file: string }> {
  const file = policyFile(line);
  if (file === undefined || !existsSync(file))
    throw new UsageError(
      file === undefined
        ? "servers stand in a policy file, and there is none yet; make one: mcp-secure-local policy init, or name one with --policy FILE"
        : `there is no policy ${file}, in which servers would stand; make it: mcp-secure-local policy init ${file}`,
    );
  const policy = await loadPolicy(file);
  // What is shown and approved holds none of them, as in the processes that serve.
  rememberSecrets(policy, () => undefined);
  return { policy, file };
}

export function namedServer(policy: Policy, [name, ...more]: readonly string[], action: string): ServerGrant {
  if (name === undefined || more.length > 0)
    throw new UsageError(`servers ${action} needs the name of one server, as in servers ${action} notes`);
  const grant = policy.servers.get(name);
  if (grant !== undefined) return grant;
  throw new UsageError(`the policy names no server ${name}${nearest(name, policy.servers.keys()) || namesOf(policy)}`);
}

/** Names that are told in place of one that is like none of them: what fits on a line. */
const MOST_NAMES = 8;

function namesOf({ servers }: Policy): string {
  if (servers.size === 0) return "; add one: mcp-secure-local servers add NAME -- COMMAND";
  if (servers.size > MOST_NAMES) return "; mcp-secure-local servers list shows those it names";
  return `; it names ${[...servers.keys()].join(", ")}`;
}

/** How the servers are in what runs now. */
export async function statesOf(policyFile: string): Promise<{ pid: number; servers: readonly ServerHealth[] }[]> {
  const { runningServers } = await import("../control/control-client.js");
  const running = await runningServers(controlFolder());
  const ours = running.filter(
    ({ policy }) => policy.file !== undefined && resolve(policy.file) === resolve(policyFile),
  );
  return ours.map(({ pid, servers = [] }) => ({ pid, servers: servers as readonly ServerHealth[] }));
}

/** The doctor, by the very way that calls go: its sandbox, its secrets, its headers, its login. */
export async function testServer(line: CommandLine): Promise<number> {
  const { policy } = await policyOf(line);
  const grant = namedServer(policy, line.words, "test");
  const { examined } = await import("./remote/doctor-command.js");
  const { record, close } = lateAudit(line, policy, complain);
  const { logins } = pluginFolders();
  // An examination starts it several times: the same program each time, or none.
  const given = { policy, program: process.argv[1] ?? "", launch: serverLaunch(grant), logins, record };
  try {
    const way = async () => routeBy(wayOf(await upstreamOf(grant, given)), {});
    return await examined(line, { shown: shownLaunch(grant), way, by: changeableIn(grant.name) });
  } catch (error) {
    // What a person wrote is the entry; of the process in between they know nothing.
    if (error instanceof Error) error.message = `${grant.name} cannot be examined: ${whyNot(error, grant)}`;
    throw error;
  } finally {
    await close();
  }
}

function wayOf(upstream: Upstream): Way {
  if (upstream.kind === "command") return upstream;
  const { url, http, requester } = upstream;
  return { kind: "url", url, ...http, requester };
}

/** Secrets by their names. */
function shownLaunch({ launch }: ServerGrant): string {
  if (launch.kind === "url") return targetText({ kind: "url", url: launch.url, headers: {} });
  const [command = "", ...args] = launch.command;
  return targetText({ kind: "command", command, args, env: {} } satisfies Target);
}

/** In everything that runs by this policy. */
export async function restartOne(line: CommandLine): Promise<number> {
  const { name, file, done, unanswered } = await controlled(line, "restart");
  if (line.json) printJson({ restarted: done, unanswered });
  else if (done.length > 0)
    print(`${name} is started anew in ${processes(done)}; how it is: mcp-secure-local servers list${inUse(line)}`);
  else if (unanswered.length === 0) print(`Nothing runs by ${file}, so ${name} has nothing to restart.`);
  return toldOfSilence(line, unanswered);
}

/** Until it is started again, by `servers restart` or in the console; what begins later knows nothing of it. */
export async function stopOne(line: CommandLine): Promise<number> {
  const { name, file, done, unanswered } = await controlled(line, "stop");
  const again = `mcp-secure-local servers restart ${name}${inUse(line)}`;
  if (line.json) printJson({ stopped: done, unanswered });
  else {
    const run = done.length === 1 ? "runs" : "run";
    if (done.length > 0)
      print(
        `${name} is stopped in ${processes(done)}, which ${run} now; what begins later starts it. Start it again: ${again}`,
      );
    else if (unanswered.length === 0)
      print(`Nothing runs by ${file}, so ${name} has nothing to stop; what begins later starts it.`);
    print(`To keep it off for good, write enabled: false into servers.${name} of ${file}.`);
  }
  return toldOfSilence(line, unanswered);
}

async function controlled(
  line: CommandLine,
  ask: "restart" | "stop",
): Promise<Controlled & { readonly name: string; readonly file: string }> {
  const { policy, file } = await policyOf(line);
  const { name } = namedServer(policy, line.words, ask);
  if (process.platform === "win32")
    throw new UsageError(
      `servers ${ask} reaches nothing on Windows, where there is no socket that only you can open; end and start again what runs by ${file}, and to keep ${name} off write enabled: false into its entry`,
    );
  const { controlServer } = await import("../control/control-client.js");
  return { name, file, ...(await controlServer(controlFolder(), { ask, policy: file, server: name })) };
}

function processes(pids: readonly number[]): string {
  return `${pids.length === 1 ? "process" : "processes"} ${pids.join(", ")}`;
}

/** Whoever gives no answer may do what was asked yet. */
function toldOfSilence({ json }: CommandLine, unanswered: readonly number[]): number {
  if (unanswered.length === 0) return ExitCode.Ok;
  const many = unanswered.length > 1;
  if (!json)
    print(
      `No answer came from ${processes(unanswered)}: ${many ? "they may" : "it may"} be busy and do it yet. Look with: mcp-secure-local servers list`,
    );
  return ExitCode.Failed;
}

/** Lines of a log that are shown: a screen or two. */
const LOG_LINES = 100;

export async function showLog(line: CommandLine): Promise<number> {
  const { policy, file } = await policyOf(line);
  const { name } = namedServer(policy, line.words, "logs");
  const { serverLogFile, shownLine } = await import("../server/server-log.js");
  const log = serverLogFile(pluginFolders().logs, file, name);
  if (!existsSync(log)) {
    const none = `No client and no serve has started ${name} by ${file} yet: what it says to them on its standard error will stand in ${log}, and what it says to servers review and test is shown there`;
    tell(line, { file: log, lines: [] }, none);
    return ExitCode.Ok;
  }
  const lines = readAtOnce(log).trimEnd().split("\n").slice(-LOG_LINES).map(shownLine);
  tell(line, { file: log, lines }, lines.join("\n"));
  return ExitCode.Ok;
}
