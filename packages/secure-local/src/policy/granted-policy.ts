// Makes the policy that one plugin or command lives under: its own permissions, everybody's denials.
import { basename, isAbsolute, join } from "node:path";
import { HostMatcher } from "./host-matcher.js";
import { PathMatcher } from "./path-matcher.js";
import type { AllowedCommand, FilesystemPolicy, NetworkPolicy, Policy, StartedFile } from "./policy.js";

/** What a plugin or command was granted; what is absent it gets nothing of. */
export interface Grant {
  readonly network: NetworkPolicy;
  readonly filesystem?: FilesystemPolicy;
  /** Names from `commands.allowed`. */
  readonly commands?: readonly string[];
  /** Names from `secrets`. */
  readonly secrets?: readonly string[];
}

/** `policy` with what was granted in place of its own permissions. Whatever `policy` denies stays denied. */
export function grantedPolicy(policy: Policy, grant: Grant): Policy {
  return {
    ...policy,
    started: startedFiles(policy),
    network: grantedNetwork(policy.network, grant.network),
    filesystem: grantedFiles(policy.filesystem, grant.filesystem),
    commands: { ...policy.commands, allowed: named(policy.commands.allowed, grant.commands) },
    secrets: named(policy.secrets, grant.secrets),
    databases: new Map(),
  };
}

function named<T>(all: ReadonlyMap<string, T>, names: readonly string[] | undefined): ReadonlyMap<string, T> {
  return new Map([...all].filter(([name]) => names?.includes(name)));
}

function grantedNetwork(all: NetworkPolicy, own: NetworkPolicy): NetworkPolicy {
  return {
    offline: all.offline ?? own.offline,
    allowedEndpoints: own.allowedEndpoints,
    deniedEndpoints: new HostMatcher([...all.deniedEndpoints.rules, ...own.deniedEndpoints.rules]),
    allowedRanges: own.allowedRanges,
    blockedPorts: new Map([...own.blockedPorts, ...all.blockedPorts]),
    dnsRefused: all.dnsRefused ?? own.dnsRefused,
    dnsNames: commonNames(all.dnsNames, own.dnsNames),
  };
}

/** The names both lists let be looked up; a pattern stays when the other list covers all of it. */
function commonNames(all: HostMatcher | undefined, own: HostMatcher | undefined): HostMatcher | undefined {
  if (all === undefined || own === undefined) return own ?? all;
  const covered = (by: HostMatcher) => (rule: HostMatcher["rules"][number]) => by.find(rule.pattern, 443) !== undefined;
  return new HostMatcher([...own.rules.filter(covered(all)), ...all.rules.filter(covered(own))]);
}

function grantedFiles(all: FilesystemPolicy, own: FilesystemPolicy | undefined): FilesystemPolicy {
  return {
    allowed: own?.allowed ?? new PathMatcher([], false),
    readable: own?.readable ?? new PathMatcher([], false),
    denied: new PathMatcher([...all.denied.rules, ...(own?.denied.rules ?? [])], true),
    unwritable: new PathMatcher([...all.unwritable.rules, ...(own?.unwritable.rules ?? [])], true),
    readOnly: all.readOnly ?? own?.readOnly,
  };
}

/** The files that secrets come from: nobody's, whoever was granted the secret. */
export function secretFiles(secrets: Policy["secrets"]): string[] {
  return [...secrets.values()].flatMap(({ from }) => (from.kind === "file" ? [from.path] : []));
}

/** What a policy starts, and what it shows to every program that it starts. */
export function startedFiles({ started, plugins, commands, servers, sandbox }: Policy): readonly StartedFile[] {
  if (started !== undefined) return started;
  const programs = [...commands.allowed.values()].flatMap(({ executable, sha256, workingDirectory: from }) =>
    sha256 === undefined ? [{ path: executable, except: undefined, from }] : [],
  );
  const served = [...servers.values()].flatMap(({ launch }) =>
    launch.kind === "command" ? launch.command.slice(0, 1).filter((word) => isAbsolute(word)) : [],
  );
  const named = [...commands.allowed.values()].flatMap((command) =>
    filesNamed(command).flatMap(({ path, runs }) => (runs ? [{ path, except: undefined, existing: true }] : [])),
  );
  return [
    ...programs,
    ...named,
    ...[...served, ...sandbox.readOnlyPaths].map((path) => ({ path, except: undefined })),
    ...[...plugins.load.values()].flatMap(({ path, sha256, filesystem }) => {
      if (sha256 !== undefined) return [];
      const data = filesystem.allowed.rules.filter(
        ({ pattern }) => pattern.startsWith(`${path}/`) && !/^[^/]*[*?]/.test(pattern.slice(path.length + 1)),
      );
      return [{ path, except: data.length === 0 ? undefined : new PathMatcher(data, false) }];
    }),
  ];
}

/** Programs that run what their first arguments name. */
const INTERPRETER =
  /^(?:node(?:js)?|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby[\d.]*|perl[\d.]*|php[\d.]*|lua(?:jit)?[\d.]*|Rscript|java|sh|bash|dash|zsh|ksh|fish)(?:\.exe)?$/i;
/** Variables by which an interpreter is told to run more. */
const CODE_VARIABLES: ReadonlySet<string> = new Set(
  "NODE_OPTIONS BUN_OPTIONS RUBYOPT PERL5OPT BASH_ENV ENV PYTHONSTARTUP JAVA_TOOL_OPTIONS".split(" "),
);

export interface NamedFile {
  readonly path: string;
  /** Whether the command runs it for certain: its program is an interpreter, or a variable says so. */
  readonly runs: boolean;
  /** Whether it is run as soon as it exists. */
  readonly later: boolean;
}

/** What the fixed arguments and the variables of a command may name; whether it is there nobody has looked. */
export function filesNamed({ executable, positions, env, workingDirectory: folder }: AllowedCommand): NamedFile[] {
  const runs = INTERPRETER.test(basename(executable));
  const at = (word: string): string[] => {
    if (word === "" || word.startsWith("-")) return [];
    if (isAbsolute(word)) return [word];
    return folder === undefined ? [] : [join(folder, word)];
  };
  const fixed = positions.flatMap(({ grammar }) => (grammar.kind === "fixed" ? [grammar.text] : []));
  const words = fixed.flatMap((text) => at(text.replace(/^-[^=]*=/, "")));
  const module = runs ? fixed[fixed.indexOf("-m") + 1] : undefined;
  const modules = !fixed.includes("-m") || module === undefined ? [] : at(module.replaceAll(".", "/"));
  const told = [...env].flatMap(([name, value]) =>
    CODE_VARIABLES.has(name) ? value.split(/\s+/).flatMap((word) => at(word.replace(/^-[^=]*=|^-r(?=.)/, ""))) : [],
  );
  return [
    ...words.map((path) => ({ path, runs, later: false })),
    ...modules.flatMap((path) =>
      [`${path}.py`, `${path}/__init__.py`, `${path}/__main__.py`].map((one) => ({ path: one, runs, later: true })),
    ),
    ...told.map((path) => ({ path, runs: true, later: true })),
  ];
}
