// Adds the servers of a configuration file to a host, each for itself.
import {
  type ConfigInput,
  type ConfigServer,
  parseServersConfig,
  type ServersConfig,
} from "./config/config-servers.js";
import { pause } from "../client/pause.js";
import { expandServer } from "./config/variables.js";
import { messageOf } from "./decision.js";
import type { AddOptions } from "./host-options.js";
import type { CommandTarget, UrlTarget } from "./host-target.js";
import type { LoadOptions, LoadProblem, LoadReport } from "./load-options.js";
import type { ServerStatus } from "./server-status.js";

/** What a host does for its file. */
export interface Loading {
  add(name: string, target: CommandTarget | UrlTarget, options: AddOptions): Promise<ServerStatus>;
  status(name: string): ServerStatus | undefined;
}

export async function loadServers(text: string, options: LoadOptions, host: Loading): Promise<LoadReport> {
  const config = parseServersConfig(text, options.source);
  const warnings: LoadProblem[] = [];
  const problems: LoadProblem[] = [...config.problems];
  const input = askedOnce(config, options);
  const statuses = await Promise.all(
    config.servers.map(async (server) => {
      const at = { name: server.name, line: server.line, column: server.column };
      try {
        const expanded = await expandServer(server, config.format, {
          env: options.env ?? {},
          userHome: options.userHome,
          workspaceFolder: options.workspaceFolder,
          input,
        });
        for (const name of expanded.unset) warnings.push({ ...at, message: `the variable ${name} is not set` });
        for (const name of expanded.literal)
          warnings.push({ ...at, message: `$${name} is passed on as it is written: write \${${name}}` });
        if (server.raw["sandboxEnabled"] === true)
          warnings.push({ ...at, message: "it asks for a sandbox, and this host has none: it would run without" });
        if (expanded.missing.length > 0) throw new Error(`nobody gave the input ${expanded.missing.join(", ")}`);
        const target = await targetOf(expanded.server, options);
        return await inTime(host.add(server.name, target, addOptions(server, options)), server.name, {
          waitMs: options.waitMs,
          host,
        });
      } catch (error) {
        problems.push({ ...at, message: messageOf(error) });
        return undefined;
      }
    }),
  );
  return { servers: statuses.filter((status) => status !== undefined), problems, warnings };
}

/** The status once it has been tried, or as it is when the time is over. What goes wrong after that is in the status. */
async function inTime(
  adding: Promise<ServerStatus>,
  name: string,
  { waitMs, host }: { waitMs: number | undefined; host: Loading },
): Promise<ServerStatus> {
  if (waitMs === undefined) return adding;
  const over = new AbortController();
  const late = pause(waitMs, over.signal).then(() => host.status(name));
  try {
    return (await Promise.race([adding, late])) ?? (await adding);
  } finally {
    over.abort();
    adding.catch(() => undefined);
  }
}

function addOptions({ name, disabled, timeoutMs }: ConfigServer, { options }: LoadOptions): AddOptions {
  const given = options?.(name) ?? {};
  const client = timeoutMs === undefined ? {} : { client: { timeoutMs, ...given.client } };
  return { ...(disabled ? { enabled: false } : {}), ...given, ...client };
}

async function targetOf(server: ConfigServer, { readEnvFile }: LoadOptions): Promise<CommandTarget | UrlTarget> {
  const { type, command, url, args, env, envFile, cwd, headers } = server;
  if (command === undefined) {
    return { url: new URL(url as string), headers, ...(type === "http" || type === "sse" ? { transport: type } : {}) };
  }
  if (envFile === undefined) return { command, args, env, cwd };
  if (readEnvFile === undefined) throw new Error("it has an envFile, and nobody can read it here");
  return { command, args, env: { ...(await readEnvFile(envFile)), ...env }, cwd };
}

// Several servers may need one input: the person types it once.
function askedOnce({ inputs }: ServersConfig, { input }: LoadOptions): (id: string) => Promise<string | undefined> {
  const answers = new Map<string, Promise<string | undefined>>();
  return (id) => {
    const known = answers.get(id);
    if (known !== undefined) return known;
    const wanted: ConfigInput | undefined = inputs.find((one) => one.id === id);
    const answer = Promise.resolve(wanted && input?.(wanted));
    answers.set(id, answer);
    return answer;
  };
}
