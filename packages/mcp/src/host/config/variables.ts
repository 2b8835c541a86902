// Replaces the variables in a server's configuration, in the spelling of the program the file is for.
import type { ConfigServer, ServersConfig } from "./config-servers.js";

/** What the variables of a configuration stand for. */
export interface VariableSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string | undefined;
  readonly workspaceFolder: string | undefined;
  /** What `${input:id}` stands for; undefined when nobody said. */
  readonly input: (id: string) => Promise<string | undefined>;
}

/** An entry of a configuration with its variables filled in, and what could not be. */
export interface Expanded {
  readonly server: ConfigServer;
  /** Variables that are not set: those of `${env:…}` became empty, all others were left as they stand. */
  readonly unset: readonly string[];
  /** Inputs nobody gave. */
  readonly missing: readonly string[];
  /** `$NAME` in variables, headers and URL of a file whose client does not fill that in: passed on as it is written. */
  readonly literal: readonly string[];
}

const BRACES = /\$\{([^{}]*)\}/g;
/** How each client writes variables; what is not listed writes `${…}`. */
const FORMS: Partial<Record<ServersConfig["format"], RegExp>> = {
  gemini: /\$\{([^{}]*)\}|\$([A-Za-z_]\w*)/g,
  opencode: /\{((?:env|file):[^{}]*)\}/g,
  codex: /\$\{(env:[^{}]*)\}/g,
  // It has none.
  zed: /(?!)/g,
};
const BARE = /(?<![\w$\\])\$([A-Za-z_]\w*)/g;
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces, in the command, arguments, variables, folders, URL and headers: `${env:VAR}`, `${userHome}`, `${workspaceFolder}`
 * in both formats; `${VAR}` and `${VAR:-default}` under `mcpServers`, `$VAR` too in Gemini's; `${input:id}` under `servers`;
 * `{env:VAR}` in opencode's. What was put in is not read again.
 */
export async function expandServer(
  server: ConfigServer,
  format: ServersConfig["format"],
  variables: VariableSources,
): Promise<Expanded> {
  const unset = new Set<string>();
  const missing = new Set<string>();
  const found = new Map<string, string | undefined>();
  const form = FORMS[format] ?? BRACES;
  for (const text of textsOf(server)) {
    for (const [, braced, bare] of text.matchAll(form)) {
      const name = braced ?? bare ?? "";
      if (!found.has(name)) found.set(name, await valueOf(name, { format, variables, unset, missing }));
    }
  }
  const put = (text: string): string =>
    text.replace(form, (whole, braced?: string, bare?: string) => found.get(braced ?? bare ?? "") ?? whole);
  const maybe = (text: string | undefined): string | undefined => (text === undefined ? undefined : put(text));
  const map = (values: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, put(value)]));
  const { command, args, env, envFile, cwd, url, headers } = server;
  const expanded = {
    ...server,
    ...{ command: maybe(command), args: args.map(put), env: map(env) },
    ...{ envFile: maybe(envFile), cwd: maybe(cwd), url: maybe(url), headers: map(headers) },
  };
  const bare = form === BRACES ? [...Object.values(env), url ?? "", ...Object.values(headers)] : [];
  const literal = new Set(bare.flatMap((text) => [...text.matchAll(BARE)].map(([, name = ""]) => name)));
  return { server: expanded, unset: [...unset], missing: [...missing], literal: [...literal] };
}

function textsOf({ command, args, env, envFile, cwd, url, headers }: ConfigServer): string[] {
  const texts = [command, ...args, ...Object.values(env), envFile, cwd, url, ...Object.values(headers)];
  return texts.filter((text) => text !== undefined);
}

interface Context {
  readonly format: ServersConfig["format"];
  readonly variables: VariableSources;
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
  if (inner.startsWith("file:")) {
    missing.add(inner);
    return undefined;
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
  if (format === "mcpServers" || format === "gemini") return plainVariable(inner, env, unset);
  if (!inner.startsWith("input:")) return undefined;
  const id = inner.slice("input:".length);
  const value = await input(id);
  if (value === undefined) missing.add(id);
  return value;
}

function plainVariable(inner: string, env: VariableSources["env"], unset: Set<string>): string | undefined {
  const seam = inner.indexOf(":-");
  const name = seam < 0 ? inner : inner.slice(0, seam);
  if (!PLAIN_NAME.test(name)) return undefined;
  const value = valueIn(env, name);
  if (seam >= 0) return value === undefined || value === "" ? inner.slice(seam + 2) : value;
  if (value === undefined) unset.add(name);
  return value;
}

function valueIn(env: VariableSources["env"], name: string): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined;
}
