// Replaces the variables in a server's configuration, in the spelling of the program the file is for.
import type { ConfigServer, ServersConfig } from "./config-servers.js";

export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string | undefined;
  readonly workspaceFolder: string | undefined;
  /** What `${input:id}` stands for; undefined when nobody said. */
  readonly input: (id: string) => Promise<string | undefined>;
}

export interface Expanded {
  readonly server: ConfigServer;
  /** Variables that are not set: those of `${env:…}` became empty, all others were left as they stand. */
  readonly unset: readonly string[];
  /** Inputs nobody gave. */
  readonly missing: readonly string[];
}

const VARIABLE = /\$\{([^{}]*)\}/g;
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces, in the command, arguments, variables, folders, URL and headers: `${env:VAR}`, `${userHome}`, `${workspaceFolder}`
 * in both formats; `${VAR}` and `${VAR:-default}` under `mcpServers`; `${input:id}` under `servers`. What was put in is not read again.
 */
export async function expandServer(
  server: ConfigServer,
  format: ServersConfig["format"],
  variables: Variables,
): Promise<Expanded> {
  const unset = new Set<string>();
  const missing = new Set<string>();
  const found = new Map<string, string | undefined>();
  for (const text of textsOf(server)) {
    for (const [, name = ""] of text.matchAll(VARIABLE)) {
      if (!found.has(name)) found.set(name, await valueOf(name, { format, variables, unset, missing }));
    }
  }
  const put = (text: string): string => text.replace(VARIABLE, (whole, name: string) => found.get(name) ?? whole);
  const maybe = (text: string | undefined): string | undefined => (text === undefined ? undefined : put(text));
  const map = (values: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, put(value)]));
  const { command, args, env, envFile, cwd, url, headers } = server;
  const expanded = {
    ...server,
    ...{ command: maybe(command), args: args.map(put), env: map(env) },
    ...{ envFile: maybe(envFile), cwd: maybe(cwd), url: maybe(url), headers: map(headers) },
  };
  return { server: expanded, unset: [...unset], missing: [...missing] };
}

function textsOf({ command, args, env, envFile, cwd, url, headers }: ConfigServer): string[] {
  const texts = [command, ...args, ...Object.values(env), envFile, cwd, url, ...Object.values(headers)];
  return texts.filter((text) => text !== undefined);
}

interface Context {
  readonly format: ServersConfig["format"];
  readonly variables: Variables;
  readonly unset: Set<string>;
  readonly missing: Set<string>;
}

async function valueOf(inner: string, { format, variables, unset, missing }: Context): Promise<string | undefined> {
  const { env, userHome, workspaceFolder, input } = variables;
  if (inner.startsWith("env:")) {
    const name = inner.slice("env:".length);
    if (valueIn(env, name) === undefined) unset.add(name);
    return valueIn(env, name) ?? "";
  }
  const known: Readonly<Record<string, string | undefined>> = {
    userHome,
    workspaceFolder,
    workspaceFolderBasename: workspaceFolder?.split(/[/\\]/).findLast((part) => part !== ""),
  };
  if (Object.hasOwn(known, inner)) {
    if (known[inner] === undefined) unset.add(inner);
    return known[inner];
  }
  if (format === "mcpServers") return plainVariable(inner, env, unset);
  if (!inner.startsWith("input:")) return undefined;
  const id = inner.slice("input:".length);
  const value = await input(id);
  if (value === undefined) missing.add(id);
  return value;
}

function plainVariable(inner: string, env: Variables["env"], unset: Set<string>): string | undefined {
  const seam = inner.indexOf(":-");
  const name = seam < 0 ? inner : inner.slice(0, seam);
  if (!PLAIN_NAME.test(name)) return undefined;
  const value = valueIn(env, name);
  if (seam >= 0) return value === undefined || value === "" ? inner.slice(seam + 2) : value;
  if (value === undefined) unset.add(name);
  return value;
}

function valueIn(env: Variables["env"], name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}
