// `mcp-secure-local plugins`: lists the plugins of the policy and how they are, makes new ones, and computes their hashes.
import { existsSync, realpathSync } from "node:fs";
import { noAudit } from "../audit/memory-audit.js";
import { loadPolicy } from "../policy/load-policy.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { PluginHealth } from "../plugins/plugin.js";
import { lastLines } from "../plugins/plugin-end.js";
import type { PluginReview } from "../server/plugin-reviews.js";
import { SecureServer } from "../server/secure-server.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { programVersion } from "./program-version.js";
import { ownPlaces, pluginFolders, policyFile } from "./settings.js";
import { sayBesides, startPlugins } from "./started-plugins.js";
import { complain, ExitCode, print, printJson, styled } from "./terminal.js";

type Action = (line: CommandLine) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  list,
  new: async (line) => (await import("./new-plugin.js")).newPlugin(line.words),
  lock: async (line) => (await import("./plugins-lock.js")).lockPlugins(line),
  hash,
};
export async function pluginsCommand(line: CommandLine): Promise<number> {
  const [action = "list", ...words] = line.words;
  if (!Object.hasOwn(ACTIONS, action)) {
    throw new UsageError(
      `plugins needs one of ${Object.keys(ACTIONS).join(", ")}${nearest(action, Object.keys(ACTIONS))}`,
    );
  }
  return await ACTIONS[action]!({ ...line, words });
}

/** Starts them all, as a server would, and says what became of each. */
async function list(line: CommandLine): Promise<number> {
  const policy = await loadPolicy(policyFile(line));
  const kept = { own: ownPlaces(line), ...pluginFolders() };
  const secure = new SecureServer({ policy, audit: noAudit, version: programVersion(), ...kept, say: sayBesides });
  await startPlugins(secure, true);
  const health = secure.pluginHealth();
  const reviews = secure.pluginReviews();
  await secure.stop();
  const listed = health.map((plugin) => ({ ...plugin, ...reviewed(reviews, plugin.name) }));
  if (line.json) printJson(listed);
  else show(listed);
  const well = listed.every(({ state, withheld }) => state === "ready" && Object.keys(withheld).length === 0);
  return well ? ExitCode.Ok : ExitCode.Failed;
}

type Listed = PluginHealth & ReturnType<typeof reviewed>;

function reviewed(reviews: readonly PluginReview[], name: string) {
  const review = reviews.find(({ plugin }) => plugin === name);
  const { findings = [], changes = [], withheld = new Map<string, string>() } = review ?? {};
  return { findings, changes, withheld: Object.fromEntries(withheld) };
}

function show(health: readonly Listed[]): void {
  if (health.length === 0) print("The policy loads no plugin; name some in plugins.load.");
  for (const { name, state, version, tools, note, output, wall, ...review } of health) {
    const known = version === undefined ? "" : ` ${cleanLine(version)}, ${tools} ${tools === 1 ? "tool" : "tools"}`;
    const walled = wall === undefined ? "" : ` (${wall === "none" ? "no sandbox" : wall})`;
    print(`${styled("bold", name)}  ${styled(state === "ready" ? "green" : "red", state)}${known}${walled}`);
    if (note !== "") print(`  ${cleanLine(note)}`);
    for (const line of lastLines(output)) print(styled("dim", `  | ${cleanLine(line)}`));
    showReview(review);
  }
}

function showReview({ findings, withheld, changes }: Pick<Listed, "findings" | "withheld" | "changes">): void {
  for (const [item, reason] of Object.entries(withheld))
    print(`  ${styled("red", "withheld")}  ${cleanLine(item)}: ${cleanLine(reason)}`);
  for (const { tier, id, kind, item, at, about, excerpt } of findings) {
    const word = tier === "hard" ? styled("red", "hard") : styled("yellow", "review");
    print(
      `  ${word}  ${id}  ${cleanLine(`${kind} ${item} ${at}`)}: ${about}\n    ${styled("dim", cleanLine(excerpt))}`,
    );
  }
  if (changes.length > 0)
    print("  It is not as it was approved. Read what changed, and approve it: mcp-secure-local plugins lock");
}

async function hash({ words: [path, ...more] }: CommandLine): Promise<number> {
  if (path === undefined || more.length > 0)
    throw new UsageError("plugins hash needs one path, as in plugins hash ./weather");
  if (!existsSync(path)) throw new UsageError(`there is nothing at ${path}`);
  const { hashPlugin } = await import("../plugins/plugin-content.js");
  const { PluginError } = await import("../plugins/plugin-error.js");
  try {
    print(hashPlugin(realpathSync(path)));
    return ExitCode.Ok;
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    complain(cleanLine(error.message));
    return ExitCode.Failed;
  }
}
