// Adds the servers of a configuration file to a host, each for itself.
import {
  type ConfigInput,
  type ConfigServer,
  parseServersConfig,
  type ServersConfig,
} from "./config/config-servers.js";
import { expandServer } from "./config/variables.js";
import { messageOf } from "./decision.js";
import type { AddOptions } from "./host-options.js";
import type { CommandTarget, UrlTarget } from "./host-target.js";
import type { LoadOptions, LoadProblem, LoadReport } from "./load-options.js";
import type { ServerStatus } from "./server-status.js";

type Add = (name: string, target: CommandTarget | UrlTarget, options: AddOptions) => Promise<ServerStatus>;

export async function loadServers(text: string, options: LoadOptions, add: Add): Promise<LoadReport> {
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
        if (server.raw["sandboxEnabled"] === true)
          warnings.push({ ...at, message: "it asks for a sandbox, and this host has none: it would run without" });
        if (expanded.missing.length > 0) throw new Error(`nobody gave the input ${expanded.missing.join(", ")}`);
        return await add(server.name, await targetOf(expanded.server, options), addOptions(server, options));
      } catch (error) {
        problems.push({ ...at, message: messageOf(error) });
        return undefined;
      }
    }),
  );
  return { servers: statuses.filter((status) => status !== undefined), problems, warnings };
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
