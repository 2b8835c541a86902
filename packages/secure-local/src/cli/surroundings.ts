// What a policy is asked in: the built-in tools, and the files of this machine under the names the policy has for them.
import { FileRules } from "../capabilities/files/file-rules.js";
import { ownFiles } from "../capabilities/files/own-files.js";
import type { FileOperation } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { Catalogue } from "../server/catalogue.js";
import type { CommandLine } from "./command-line.js";
import { programVersion } from "./program-version.js";
import { ownPlaces } from "./settings.js";

export interface Surroundings {
  /** What is known of a tool by its annotations; undefined for one there is not. */
  effects(tool: string): { readonly readOnly: boolean; readonly destructive: boolean } | undefined;
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
    judge: (path, op) => rules.judge(path, op),
  };
}

/** The built-in tools by name; loaded only by commands that ask, because they cost a start more than the policy does. */
export async function knownTools(policy: Policy): Promise<Catalogue["tools"]> {
  const { catalogueOf } = await import("../server/catalogue.js");
  const { SERVER_NAME } = await import("../server/secure-server.js");
  const identity = { name: SERVER_NAME, version: programVersion() };
  return catalogueOf(policy, { identity, tools: [] }).tools;
}
