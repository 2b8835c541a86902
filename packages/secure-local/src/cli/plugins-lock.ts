// `mcp-secure-local plugins lock`: shows what changed in the plugins since it was approved, and writes down what is approved now.
import { noAudit } from "../audit/memory-audit.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { Change } from "../inspection/drift.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import { itemsOf } from "../server/plugin-items.js";
import {
  LockError,
  lockFileOf,
  type LockedPlugin,
  type PluginLock,
  readLock,
  relocked,
  writeLock,
} from "../server/plugin-lock.js";
import { changesOf } from "../server/plugin-reviews.js";
import { SecureServer } from "../server/secure-server.js";
import { askInTerminal, askYesNo } from "./ask-in-terminal.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { programVersion } from "./program-version.js";
import { ownPlaces, pluginFolders, policyFile } from "./settings.js";
import { sayBesides, startPlugins } from "./started-plugins.js";
import { complain, ExitCode, print, styled } from "./terminal.js";

/** One plugin as it is and as it was approved. */
interface Compared {
  readonly name: string;
  readonly changes: readonly Change[];
  readonly locked: LockedPlugin;
}

export async function lockPlugins(line: CommandLine): Promise<number> {
  const [wanted, ...more] = line.words;
  if (more.length > 0) throw new UsageError("plugins lock takes one plugin at most, as in plugins lock weather");
  const policy = await loadPolicy(policyFile(line));
  const { file } = policy;
  if (file === undefined) throw new UsageError("plugins lock needs a policy file that names plugins");
  if (policy.plugins.load.size === 0) throw new UsageError(`${file} loads no plugin; name some in plugins.load`);
  if (wanted !== undefined && !policy.plugins.load.has(wanted))
    throw new UsageError(`the policy loads no plugin ${wanted}`);
  const before = lockBefore(lockFileOf(file));
  const compared = await compare(policy, { line, before, wanted });
  const changed = compared.filter(({ changes }) => changes.length > 0);
  for (const { name, changes } of changed) print(`${styled("bold", name)}\n${changes.map(changeText).join("\n")}`);
  if (compared.length === 0) return ExitCode.Failed;
  if (changed.length === 0 && before !== undefined) {
    print(`${lockFileOf(file)} is as the plugins are.`);
    return ExitCode.Ok;
  }
  if (!(await approved(line))) return ExitCode.Failed;
  writeLock(
    lockFileOf(file),
    new Map([...(before ?? []), ...compared.map(({ name, locked }) => [name, locked] as const)]),
  );
  print(
    `${lockFileOf(file)} is written: a running server takes it in a moment and offers nothing of its plugins that is not in it.`,
  );
  return ExitCode.Ok;
}

/** A damaged lock is told when the plugins are started, and then written anew. */
function lockBefore(file: string): PluginLock | undefined {
  try {
    return readLock(file);
  } catch (error) {
    if (!(error instanceof LockError)) throw error;
    return new Map();
  }
}

async function compare(
  policy: Policy,
  {
    line,
    before,
    wanted,
  }: { readonly line: CommandLine; readonly before: PluginLock | undefined; readonly wanted: string | undefined },
): Promise<Compared[]> {
  const kept = { own: ownPlaces(line), ...pluginFolders(), startUnapproved: true };
  const secure = new SecureServer({ policy, audit: noAudit, version: programVersion(), ...kept, say: sayBesides });
  await startPlugins(secure);
  const found: Compared[] = [];
  for (const { name, state, note } of secure.pluginHealth()) {
    const grant = policy.plugins.load.get(name);
    const review = secure.pluginReviews().find(({ plugin }) => plugin === name);
    if (grant === undefined || (wanted !== undefined && name !== wanted)) continue;
    if (review === undefined) {
      complain(`${name} is ${state} and cannot be locked: ${cleanLine(note)}`);
      continue;
    }
    const { description, launch } = review;
    const items = itemsOf(description);
    found.push({
      name,
      changes: changesOf(before?.get(name), items, launch),
      locked: relocked(before?.get(name), new Map([...items, ["launch", launch]])),
    });
  }
  await secure.stop();
  return found;
}

export function changeText({ item, kind, lines }: Change): string {
  const color = kind === "added" ? "green" : kind === "removed" ? "red" : "yellow";
  return [`  ${styled(color, kind)} ${cleanLine(item)}`, ...lines.map((each) => `    ${cleanLine(each)}`)].join("\n");
}

async function approved({ yes }: CommandLine): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) {
    complain("Nothing is written: read what changed, then approve it with --yes.");
    return false;
  }
  return askInTerminal((ask) => askYesNo(ask, "Approve what stands above?", false));
}
