// What a policy is asked in: the built-in tools, and the files of this machine under the names the policy has for them.
import { FileRules } from "../capabilities/files/file-rules.js";
import { ownFiles } from "../capabilities/files/own-files.js";
import type { FileOperation } from "../policy/decide.js";
import { didYouMean } from "../policy/near-name.js";
import type { Policy } from "../policy/policy.js";
import type { KnownTool } from "../policy/review-policy.js";
import type { Catalogue } from "../server/catalogue.js";
import { unmetNeed } from "../server/unmet-need.js";
import type { CommandLine } from "./command-line.js";
import { programVersion } from "./program-version.js";
import { ownPlaces } from "./settings.js";

export interface Surroundings {
  /** What is known of a tool by its annotations; undefined for one there is not. */
  effects(tool: string): { readonly readOnly: boolean; readonly destructive: boolean } | undefined;
  /** Why a tool that the policy allows cannot be called all the same: there is none of that name, or nothing for it to work on. */
  idle(tool: string): string | undefined;
  /** Why a path, free of links, is refused; undefined when it is not. */
  judge(path: string, op: FileOperation): { readonly rule: string; readonly reason: string } | undefined;
}

export async function surroundingsOf(policy: Policy, line: CommandLine): Promise<Surroundings> {
  const tools = await knownTools(policy);
  const rules = await FileRules.of(policy, await ownFiles(policy, ownPlaces(line)));
  return {
    effects(name) {
      const annotations = tools.get(name)?.annotations;
      if (annotations === undefined) return undefined;
      const { readOnlyHint, destructiveHint } = annotations;
      return { readOnly: readOnlyHint, destructive: destructiveHint && !readOnlyHint };
    },
    idle(name) {
      const tool = tools.get(name);
      if (tool !== undefined) return unmetNeed(policy, tool.needs);
      if (policy.plugins.load.size > 0) return undefined;
      return `There is no tool "${name}"${didYouMean(name, [...tools.keys()])}.`.replace("?.", "?");
    },
    judge: (path, op) => rules.judge(path, op),
  };
}

/** The built-in tools, and what the policy lacks for each. */
export async function reviewedTools(policy: Policy): Promise<KnownTool[]> {
  return [...(await knownTools(policy)).values()].map(({ name, needs }) => ({ name, lack: unmetNeed(policy, needs) }));
}

/** The built-in tools by name; loaded only by commands that ask, because they cost a start more than the policy does. */
async function knownTools(policy: Policy): Promise<Catalogue["tools"]> {
  const { catalogueOf } = await import("../server/catalogue.js");
  const { SERVER_NAME } = await import("../server/secure-server.js");
  const identity = { name: SERVER_NAME, version: programVersion() };
  return catalogueOf(policy, { identity, tools: [] }).tools;
}
