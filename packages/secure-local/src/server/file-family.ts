// Joins the files as resources to the policy: which are offered, and what stands against a URI before it is touched.
import type { ResourceDefinition } from "@secure-local/mcp/server";
import { FileError } from "../capabilities/files/file-error.js";
import { FileRules } from "../capabilities/files/file-rules.js";
import { isFileUri, pathOfUri } from "../capabilities/files/file-uri.js";
import { plainPath } from "../capabilities/files/plain-path.js";
import type { Decision } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import { FILE_TEMPLATE, type FileResourceOptions, fileTemplate, folderResource } from "../resources/file-resources.js";
import type { ResourceFamily } from "./resource-family.js";
import { unmetNeed } from "./unmet-need.js";

const RULES = new WeakMap<Policy, FileRules>();

export interface FileOffer {
  readonly templates: ReadonlyMap<string, ResourceFamily>;
  readonly resources: readonly (readonly [string, ResourceDefinition])[];
}

const NOTHING: FileOffer = { templates: new Map(), resources: [] };

/** The template and the folders to begin with; nothing where the policy lets no file be read. */
export function fileOffer(policy: Policy, options: FileResourceOptions | undefined): FileOffer {
  if (options === undefined || unmetNeed(policy, ["readable-files"]) !== undefined) return NOTHING;
  const family: ResourceFamily = { definition: fileTemplate(options), claims: isFileUri, objection };
  return {
    templates: new Map([[FILE_TEMPLATE, family]]),
    resources: rulesOf(policy).folders.map((folder) => folderResource(folder, options)),
  };
}

/** By the words of the path alone, so that it is the same whether there is such a file or not. */
function objection(policy: Policy, uri: string): Decision | undefined {
  if (uri === FILE_TEMPLATE) return undefined;
  try {
    const path = plainPath(pathOfUri(uri));
    const refusal = rulesOf(policy).judge(path, "read");
    if (refusal === undefined || rulesOf(policy).judge(path, "list") === undefined) return undefined;
    return { allowed: false, rule: { text: refusal.rule }, reason: `"${uri}" may not be read. ${refusal.reason}` };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { allowed: false, rule: { text: "built-in rule: only plain file URIs" }, reason: error.message };
  }
}

/** The rules of a policy by names alone, made once for each. */
export function rulesOf(policy: Policy): FileRules {
  let rules = RULES.get(policy);
  if (rules === undefined) RULES.set(policy, (rules = FileRules.byName(policy)));
  return rules;
}
