// Writes the sections approvals, secrets, databases, commands, plugins and sandbox out as they stand in a policy file.
import type { ApprovalRule } from "./approvals-policy.js";
import type { AllowedCommand, ArgumentGrammar, CommandsPolicy } from "./commands-policy.js";
import type { DatabasePolicy, SecretPolicy } from "./data-policy.js";
import { endpoints, filesystem, network, patterns, type Value } from "./describe-reach.js";
import type { PluginsPolicy } from "./plugins-policy.js";
import type { SandboxPolicy } from "./sandbox-policy.js";

export function approvals(rules: readonly ApprovalRule[]): Value {
  return rules.map(({ approve, when, timeoutMs, remember, answerBy }) => ({
    approve: typeof approve === "string" ? approve : patterns(approve.rules),
    when: when.length === 0 ? undefined : Object.fromEntries(when.map(({ argument, pattern }) => [argument, pattern])),
    timeout: timeoutMs / 1_000,
    remember: remember.kind === "minutes" ? remember.minutes : remember.kind,
    answer_by: [...answerBy],
  }));
}

export function secrets(entries: ReadonlyMap<string, SecretPolicy>): Value {
  return mapped(entries, ({ from, hosts, header, query, body }) => ({
    from: from.kind === "env" ? `env:${from.name}` : `file:${from.path}`,
    hosts: endpoints(hosts.rules),
    header,
    query,
    body,
  }));
}

export function databases(entries: ReadonlyMap<string, DatabasePolicy>): Value {
  return mapped(entries, ({ store, readOnly, rowLimit, timeoutMs, functions, superuser }) => ({
    ...(store.kind === "sqlite"
      ? { file: store.file }
      : { secret: store.secret, functions: patterns(functions.rules), superuser }),
    read_only: readOnly,
    row_limit: rowLimit,
    timeout: timeoutMs / 1_000,
  }));
}

export function commands({ blocked, allowed }: CommandsPolicy): Value {
  return { blocked: patterns(blocked), allowed: [...allowed.values()].map(command) };
}

function command(given: AllowedCommand): Value {
  return {
    name: given.name,
    executable: given.executable,
    sha256: given.sha256,
    arguments: given.positions.map((position) => ({
      ...grammar(position.grammar),
      optional: position.optional,
      repeat: position.repeat,
    })),
    flags: given.flags.map(({ flag, value }) => (value === undefined ? flag : { flag, ...grammar(value) })),
    env: Object.fromEntries(given.env),
    working_directory: given.workingDirectory,
    timeout: given.timeoutMs / 1_000,
    network: network(given.network),
  };
}

function grammar(given: ArgumentGrammar): { readonly [key: string]: Value } {
  switch (given.kind) {
    case "fixed":
      return { fixed: given.text };
    case "enum":
      return { enum: given.values };
    case "pattern":
      return { pattern: given.source };
    case "path":
      return { path: given.access };
    case "integer":
      return { integer: [given.min, given.max] };
  }
}

export function plugins({ folder, load }: PluginsPolicy): Value {
  const loaded = [...load.values()].map((plugin) => ({
    name: plugin.name,
    path: plugin.path,
    sha256: plugin.sha256,
    enabled: plugin.enabled,
    network: network(plugin.network),
    filesystem: filesystem(plugin.filesystem),
    commands: plugin.commands,
    secrets: plugin.secrets,
    accept: plugin.accept.length === 0 ? undefined : plugin.accept,
    storage_kb: plugin.storageBytes === 0 ? undefined : plugin.storageBytes / 1_024,
  }));
  return { folder, load: loaded };
}

export function sandbox(policy: SandboxPolicy): Value {
  return {
    mode: policy.mode,
    processes: policy.processes,
    memory_mb: policy.memoryMb,
    cpu_seconds: policy.cpuSeconds,
    file_mb: policy.fileMb,
    read_only_paths: policy.readOnlyPaths,
    homes: policy.homes,
  };
}

function mapped<T>(entries: ReadonlyMap<string, T>, write: (entry: T) => Value): Value {
  return Object.fromEntries([...entries].map(([name, entry]) => [name, write(entry)]));
}
