// Joins git repositories as resources to the policy: whether they are offered, and what stands against a URI before it is touched.
import { FileError } from "../capabilities/files/file-error.js";
import { plainPath } from "../capabilities/files/plain-path.js";
import { gitAddress, isGitUri } from "../capabilities/git/git-uri.js";
import type { Decision } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { FileResourceOptions } from "../resources/file-resources.js";
import { GIT_TEMPLATE, gitTemplate } from "../resources/git-resources.js";
import { rulesOf } from "./file-family.js";
import type { ResourceFamily } from "./resource-family.js";
import { unmetNeed } from "./unmet-need.js";

/** The template; nothing where the policy lets no file be read. */
export function gitOffer(
  policy: Policy,
  options: Pick<FileResourceOptions, "files"> | undefined,
): ReadonlyMap<string, ResourceFamily> {
  if (options === undefined || unmetNeed(policy, ["readable-files"]) !== undefined) return new Map();
  return new Map([[GIT_TEMPLATE, { definition: gitTemplate(options.files), claims: isGitUri, objection }]]);
}

/** By the words of the address alone: as the file of that name in the work tree. */
function objection(policy: Policy, uri: string): Decision | undefined {
  if (uri === GIT_TEMPLATE) return undefined;
  try {
    const { repository, path } = gitAddress(uri);
    const [rules, file] = [rulesOf(policy), plainPath(`${repository}/${path}`)];
    const refusal = rules.judge(plainPath(repository), "list") ?? rules.judge(file, "read");
    if (refusal === undefined || rules.judge(file, "list") === undefined) return undefined;
    return { allowed: false, rule: { text: refusal.rule }, reason: `"${uri}" may not be read. ${refusal.reason}` };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { allowed: false, rule: { text: "built-in rule: only plain git URIs" }, reason: error.message };
  }
}
