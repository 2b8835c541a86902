// `mcp-secure-local sandbox -- COMMAND`: runs a command behind the wall, with what the policy allows and nothing else.
import { constants } from "node:os";
import { accessSync, constants as modes, realpathSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import { once } from "node:events";
import { ownFiles } from "../capabilities/files/own-files.js";
import { surround, type Surroundings } from "../capabilities/surround.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import { findWall } from "../sandbox/find-wall.js";
import { startWalled } from "../sandbox/start-walled.js";
import { type Reach, type Wall, WallError, type WalledCommand } from "../sandbox/wall.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { ownPlaces, policyFile } from "./settings.js";
import { complain, ExitCode } from "./terminal.js";

/** Seen in every sandbox. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib\w*|nix\/store)\//;

/** What to run, and under what. */
interface Errand {
  readonly executable: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly policy: Policy;
}

/** Resolves to the exit code of the command; what it reads and writes passes as it is. */
export async function sandboxCommand(line: CommandLine): Promise<number> {
  if (line.config === undefined) return await sandboxed(line);
  const { reportingFailures } = await import("./remote/failure.js");
  return await reportingFailures(line.json, () => sandboxed(line));
}

async function sandboxed(line: CommandLine): Promise<number> {
  const errand = line.config === undefined ? await ofCommand(line) : await ofServer(line, line.config);
  const { policy, executable, args } = errand;
  try {
    const wall = await findWall(policy.sandbox);
    if (wall.name === "none")
      complain("mcp-secure-local: the policy says sandbox: none, so there is no wall around this");
    const own = await ownFiles(policy, ownPlaces(line));
    const owner = [basename(executable), ...args];
    const surroundings = await surround(policy, { own, wall, owner, refused: tellRefusal });
    return await run(wall, errand, surroundings);
  } catch (error) {
    if (!(error instanceof WallError)) throw error;
    complain(`mcp-secure-local: ${error.message}`);
    return ExitCode.Failed;
  }
}

async function ofCommand(line: CommandLine): Promise<Errand> {
  const [name, ...args] = line.words;
  if (name === undefined)
    throw new UsageError("sandbox needs a command, as in mcp-secure-local sandbox -- npx -y NAME");
  const executable = executableOf(name);
  const { readVariables } = await import("../remote/target.js");
  const env = readVariables(line.env);
  return { executable, args, env, folder: process.cwd(), policy: await loadPolicy(policyFile(line)) };
}

/** A server of a configuration of VS Code's; its own block is the policy. */
async function ofServer(line: CommandLine, file: string): Promise<Errand> {
  const [name, ...rest] = line.words;
  if (name === undefined || rest.length > 0)
    throw new UsageError("sandbox --config FILE needs the name of one server in that file");
  const { vscodeServer } = await import("./vscode-server.js");
  const own = policyFile(line);
  const denied = own === undefined ? undefined : await loadPolicy(own);
  const { target, policy, notes } = await vscodeServer(name, file, denied);
  for (const note of notes) complain(`mcp-secure-local: ${note}`);
  const { command, args, env, cwd = process.cwd() } = target;
  return { executable: executableOf(command), args, env, folder: cwd, policy };
}

async function run(
  wall: Wall,
  { executable, args, env, folder }: Errand,
  { reach, limits, egress, close }: Surroundings,
): Promise<number> {
  const all = SYSTEM.test(executable) ? reach : [...reach, programReach(executable)];
  const workingDirectory = folderInside(folder, all);
  const command: WalledCommand = { executable, args, env, reach: all, limits, egress, workingDirectory };
  try {
    const child = startWalled(wall, command, ["inherit", "inherit", "inherit"]);
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } finally {
    await close();
  }
}

/** The folder one is in, where it is seen inside. */
function folderInside(folder: string, reach: readonly Reach[]): string | undefined {
  const seen = reach.some(({ path, at = path, access }) => access !== "hidden" && `${folder}/`.startsWith(`${at}/`));
  return seen ? folder : undefined;
}

function programReach(executable: string): Reach {
  return { path: realpathSync(executable), at: executable, access: "read" };
}

/** A path, or the first of that name in the folders of PATH. */
function executableOf(name: string): string {
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

function tellRefusal(endpoint: string, rule: string): void {
  complain(`mcp-secure-local: refused a connection to ${endpoint} (${rule})`);
}
