// Finds servers by their names in the files where AI clients are told of them; what a folder's file says counts after consent only.
import { constants, lstatSync } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { parseEnv } from "node:util";
import { LocalError } from "@secure-local/mcp/client/node";
import type { ConfigServer, ServersConfig } from "@secure-local/mcp/host";
import {
  type ConfigLocation,
  namedLocation,
  clientEnvironment,
  type ClientEnvironment,
  usualLocations,
  workspaceOf,
} from "./config-locations.js";
import type { Target } from "./target.js";

/** A server as a file has it: nothing is filled in, started or reached. */
export interface ConfiguredServer {
  readonly place: ConfigLocation;
  readonly format: ServersConfig["format"];
  readonly server: ConfigServer;
  /** The folder the file speaks of. */
  readonly workspace: string;
  /** The variables in its `envFile`, read once; undefined without one, and for files of a person's own. */
  readonly envFile: EnvFile | undefined;
}

export interface EnvFile {
  readonly path: string;
  readonly text: string;
}

/** Resolves when a server of a file that is not the person's own may be started and given what it asks for; throws otherwise. */
export type Consent = (found: ConfiguredServer) => Promise<void>;

export interface TargetRequest {
  /** The only file to look at. */
  readonly file?: string | undefined;
  /** Names of variables and headers that are given in another way: what the file says of them does not count. */
  readonly given?: readonly string[];
  readonly around?: ClientEnvironment;
  /** Default: nobody can allow anything, so that a folder's servers are refused. */
  readonly consent?: Consent;
  /** Told what is odd about the server that is meant. */
  readonly warn?: (text: string) => void;
}

/** Files with the history of many projects have a few megabytes. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Readers of TOML and YAML are slower than those of JSON. */
const MOST_TEXT = 1024 * 1024;
/** Far more than any file of variables has, and little enough to read before anybody agreed. */
const MOST_ENV_BYTES = 1024 * 1024;

/**
 * The target a name stands for, its variables filled in. Throws a LocalError USAGE that names the servers there are, what is
 * wrong with the one that is meant, or that nobody allowed it.
 */
export async function configuredTarget(name: string, wanted: TargetRequest): Promise<Target> {
  return await targetFor(await findServer(name, wanted), wanted);
}

/** What a server that was found stands for, its variables filled in, where that is allowed. Throws as `configuredTarget` does. */
export async function targetFor(found: ConfiguredServer, wanted: TargetRequest): Promise<Target> {
  const { given = [], around = clientEnvironment(), consent, warn } = wanted;
  if (found.place.owner !== "user") {
    if (consent !== undefined) await consent(found);
    else if (found.place.owner === "folder")
      throw usage(
        `${found.place.path} is a folder's file, and nobody can allow its server "${found.server.name}" here`,
      );
  }
  return await targetOf({ ...found, server: withoutGiven(found.server, given) }, around, warn);
}

/** A server of a file, or what is wrong with it there. */
export interface Listed {
  /** Empty where it is the whole file that cannot be read. */
  readonly name: string;
  readonly place: ConfigLocation;
  readonly found?: ConfiguredServer;
  readonly problem?: string;
}

/** Every server of every file there is. Throws as `configuredTarget` does for a file that is named and cannot be read. */
export async function everyServer({ file, around = clientEnvironment() }: TargetRequest): Promise<Listed[]> {
  const places = file === undefined ? usualLocations(around) : [namedLocation(file, around)];
  const all: Listed[] = [];
  for (const place of places) {
    const broken = (problem: string): void => void all.push({ name: "", place, problem });
    for (const config of await configsIn(place, around, file === undefined ? broken : undefined)) {
      for (const { name, line, column, message } of config.problems)
        all.push({ name, place, problem: `${line}:${column}: ${message}` });
      for (const server of config.servers) {
        const { name } = server;
        const found = await configured(server, { place, config, around }).catch((error: unknown) => error as Error);
        all.push(found instanceof Error ? { name, place, problem: found.message } : { name, place, found });
      }
    }
  }
  return all;
}

/** The server of a name: a person's own before any other. Throws as `configuredTarget` does. */
export async function findServer(
  name: string,
  { file, around = clientEnvironment() }: TargetRequest,
): Promise<ConfiguredServer> {
  const places = file === undefined ? usualLocations(around) : [namedLocation(file, around)];
  const known: string[] = [];
  const broken: string[] = [];
  const note = (problem: string): void => void broken.push(problem);
  for (const place of places) {
    for (const config of await configsIn(place, around, file === undefined ? note : undefined)) {
      const server = config.servers.find((each) => each.name === name);
      if (server !== undefined) return await configured(server, { place, config, around });
      const problem = config.problems.find((each) => each.name === name);
      if (problem !== undefined) throw usage(`${place.path}:${problem.line}:${problem.column}: ${problem.message}`);
      known.push(...config.servers.map((each) => each.name));
    }
  }
  const unread = broken.length === 0 ? "" : `. Not looked at: ${broken.join("; ")}`;
  const there = known.length === 0 ? "none is configured" : `there are ${[...new Set(known)].join(", ")}`;
  const where = file === undefined ? "in the usual configuration files" : `in ${file}`;
  throw usage(
    `there is no server "${name}" ${where} (${there}); give a URL, a command after --, or another file with --config FILE${unread}`,
  );
}

/**
 * What a file says: of the folder first, where it has servers for many. One that cannot be read and that nobody named stands in nobody's
 * way: `broken` is told of it. @throws LocalError USAGE without it
 */
async function configsIn(
  place: ConfigLocation,
  { folder }: ClientEnvironment,
  broken: ((problem: string) => void) | undefined,
): Promise<ServersConfig[]> {
  const { parseServersConfig } = await import("@secure-local/mcp/host");
  const { path } = place;
  try {
    const { text } = await readText(path, MOST_BYTES);
    if (broken !== undefined && text.trim() === "") return [];
    if (/\.(?:toml|ya?ml)$/i.test(path)) return [parseServersConfig(await asJson(text, path), path)];
    const own = serversOfFolder(text, folder);
    if (own === undefined) return [parseServersConfig(text, path)];
    const config = parseServersConfig(JSON.stringify({ mcpServers: own }), path);
    return claudeFile(text)?.mcpServers === undefined ? [config] : [config, parseServersConfig(text, path)];
  } catch (error) {
    const { message } = error as Error;
    if (broken === undefined) throw usage(message);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) broken(message);
    return [];
  }
}

/** Codex's TOML and Continue's YAML as the JSON that the library reads; the readers are loaded for such files alone. */
async function asJson(text: string, path: string): Promise<string> {
  if (text.length > MOST_TEXT) throw usage(`${path} has more than ${MOST_TEXT} characters`);
  try {
    if (path.toLowerCase().endsWith(".toml")) {
      const { parse } = await import("smol-toml");
      return JSON.stringify({ mcp_servers: parse(text)["mcp_servers"] ?? {} });
    }
    const { parse } = await import("yaml");
    const { mcpServers = [] } = ((parse(text) as unknown) ?? {}) as { readonly mcpServers?: readonly ContinueServer[] };
    const servers = mcpServers.map(({ name, requestOptions, connectionTimeout: timeout, ...rest }) => {
      return [
        String(name),
        { ...rest, headers: requestOptions?.headers, ...(timeout === undefined ? {} : { timeout }) },
      ];
    });
    // Its secrets come from the environment, too.
    const json = JSON.stringify({ mcpServers: Object.fromEntries(servers) as object });
    return json.replace(/\$\{\{\s*(?:secrets|inputs)\.(\w+)\s*\}\}/g, "${$1}");
  } catch (error) {
    throw usage(`${path} cannot be read: ${(error as Error).message}`);
  }
}

interface ContinueServer {
  readonly name?: unknown;
  readonly requestOptions?: { readonly headers?: unknown };
  readonly connectionTimeout?: unknown;
}

/** A pipe or device of that name is neither waited for nor read. */
async function readText(path: string, most: number): Promise<{ text: string; dev: number; ino: number }> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const status = await file.stat();
      if (!status.isFile()) throw new Error("it is no regular file; of a pipe, keep what comes in a file first");
      if (status.size > most) throw new Error(`it has more than ${most} bytes; name the file of a client`);
      return { text: await file.readFile("utf8"), dev: status.dev, ino: status.ino };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw usage(`${path} cannot be read: ${whyUnread(error)}`);
  }
}

interface ClaudeFile {
  readonly mcpServers?: unknown;
  readonly projects?: Readonly<Record<string, { readonly mcpServers?: object } | undefined>>;
}

/** The servers that `~/.claude.json` has for one folder alone. */
function serversOfFolder(text: string, folder: string): object | undefined {
  return claudeFile(text)?.projects?.[folder]?.mcpServers;
}

function claudeFile(text: string): ClaudeFile | undefined {
  if (!text.includes('"projects"')) return undefined;
  try {
    return JSON.parse(text) as ClaudeFile;
  } catch {
    return undefined;
  }
}

interface FoundIn {
  readonly place: ConfigLocation;
  readonly config: ServersConfig;
  readonly around: ClientEnvironment;
}

async function configured(server: ConfigServer, { place, config, around }: FoundIn): Promise<ConfiguredServer> {
  const workspace = workspaceOf(place, around);
  const strange = place.owner !== "user" && server.envFile !== undefined;
  const envFile = strange ? await strangeEnvFile(server.envFile, workspace) : undefined;
  return { place, format: config.format, server, workspace, envFile };
}

/** A file that a stranger's configuration names lies below the stranger's folder, wherever links lead. */
async function strangeEnvFile(written: string, workspace: string): Promise<EnvFile> {
  const path = resolve(workspace, written.replaceAll("${workspaceFolder}", workspace));
  const outside = usage(
    `the envFile ${JSON.stringify(written)} is not below ${workspace}; this file may only take variables from there`,
  );
  // What else may stand there is the person's: their home, their environment.
  if (/\$\{(?!workspaceFolder\})/.test(written) || !isBelow(path, workspace)) throw outside;
  const { text, dev, ino } = await readText(path, MOST_ENV_BYTES);
  const real = await realpath(path);
  const status = await stat(real);
  if (!isBelow(real, await realpath(workspace)) || status.dev !== dev || status.ino !== ino) throw outside;
  return { path, text };
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && resolve(folder, way) === resolve(path);
}

function withoutGiven(server: ConfigServer, given: readonly string[]): ConfigServer {
  const left = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !given.includes(name)));
  return { ...server, env: left(server.env), headers: left(server.headers) };
}

async function targetOf(
  found: ConfiguredServer,
  { home, environment }: ClientEnvironment,
  warn: TargetRequest["warn"],
): Promise<Target> {
  const { place, format, workspace } = found;
  const input = (): Promise<undefined> => Promise.resolve(undefined);
  const variables = { env: environment, userHome: home, workspaceFolder: workspace, input };
  const { expandServer } = await import("@secure-local/mcp/host");
  const { server, missing, literal } = await expandServer(found.server, format, variables);
  for (const name of literal)
    warn?.(`${place.path}: $${name} of "${server.name}" is passed on as it is written; write \${${name}}`);
  if (missing.length > 0) {
    throw usage(
      `${place.path} asks for ${missing.join(", ")} of "${server.name}"; give the value with --env or --header instead`,
    );
  }
  const { command, args, env, envFile, cwd, url = "", headers } = server;
  if (command === undefined) return { kind: "url", url, headers };
  const own = found.envFile === undefined && envFile !== undefined;
  const text = own ? (await readText(resolve(workspace, envFile), MOST_BYTES)).text : (found.envFile?.text ?? "");
  const all = { ...(parseEnv(text) as Record<string, string>), ...env };
  const where = cwd === undefined ? {} : { cwd: resolve(workspace, cwd) };
  const { sandboxEnabled, sandbox } = server.raw;
  const walled = format === "servers" && sandboxEnabled === true;
  const sandboxed = { name: server.name, file: place.path, workspace, sandbox };
  return { kind: "command", command, args, env: all, ...where, ...(walled ? { sandboxed } : {}) };
}

function usage(text: string): LocalError {
  return new LocalError("USAGE", text);
}

// Says why the system gives no file.

const SAID: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "you have no right to it",
  EPERM: "you have no right to it",
  EISDIR: "it is a folder",
  ENOTDIR: "it is no folder, or one on the way to it is none",
  // So the system says that it is a socket, or a pipe that nobody reads.
  ENXIO: "it is no regular file",
  ELOOP: "its links lead in a circle",
};

/** Without the name of the file. */
export function whyUnread(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && SAID[code]) || message;
}
