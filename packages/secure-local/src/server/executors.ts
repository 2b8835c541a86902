// Names the program of others that does what a call asks for, with all that makes it this one: what a consent is bound to.
import * as fs from "node:fs";
import { createHash, randomBytes } from "node:crypto";
import type { AskedCall, ExecutorOf } from "../guard/approvals/approvals.js";
import type { Policy } from "../policy/policy.js";
import type { LockedPlugin } from "./plugin-lock.js";

type Kind = "tool" | "resource" | "prompt";

export interface ExecutorsOptions {
  /** The plugin behind something that clients name. */
  readonly pluginOf: (kind: Kind, name: string) => string | undefined;
  /** SHA-256 of the content of a plugin that is started now. */
  readonly contentOf: (plugin: string) => string | undefined;
  /** The server behind something that clients name, as it was approved. */
  readonly serverOf: (
    kind: Kind,
    name: string,
  ) => { readonly grant: { readonly name: string }; readonly locked: LockedPlugin } | undefined;
}

const PLUGIN = "plugin:";
const RUN_COMMAND = "run_command";

export function executors({ pluginOf, contentOf, serverOf }: ExecutorsOptions): ExecutorOf {
  const named = (policy: Policy, { tool, actor, read, arguments: args }: Parameters<ExecutorOf>[1]): string[] => {
    const { kind, name } = read ?? { kind: "tool" as const, name: tool };
    const plugin = actor?.startsWith(PLUGIN) === true ? actor.slice(PLUGIN.length) : pluginOf(kind, name);
    // Of one that is not known at this moment nothing is the same twice.
    const content = plugin && `${PLUGIN}${plugin} ${contentOf(plugin) ?? randomBytes(16).toString("hex")}`;
    const server = serverOf(kind, name);
    const approved = server && `server:${server.grant.name} ${approvedDigest(server.locked)}`;
    return [content, approved, tool === RUN_COMMAND ? programOf(policy, args) : undefined].filter(
      (each) => each !== undefined,
    );
  };
  return (policy, does) => {
    const all = named(policy, does);
    return all.length === 0 ? undefined : JSON.stringify(all);
  };
}

const digests = new WeakMap<LockedPlugin, string>();

/** Of how a server is started and all that was approved of it, as the lock has it: another order of members is asked about again. */
function approvedDigest(locked: LockedPlugin): string {
  const known =
    digests.get(locked) ??
    createHash("sha256")
      .update(JSON.stringify([...locked.approved]))
      .digest("hex");
  digests.set(locked, known);
  return known;
}

/** The program of a command, as it lies there: where its path leads, which file that is and when it was written last. */
function programOf({ commands }: Policy, args: AskedCall["arguments"]): string | undefined {
  const name = (args as Readonly<Record<string, unknown>> | undefined)?.["command"];
  const command = typeof name === "string" ? commands.allowed.get(name) : undefined;
  if (command === undefined) return undefined;
  try {
    const real = fs.realpathSync(command.executable);
    const { dev, ino, size, mtimeNs, ctimeNs } = fs.statSync(real, { bigint: true });
    return `program ${[real, dev, ino, size, mtimeNs, ctimeNs].join(" ")}`;
  } catch {
    return "no program";
  }
}
