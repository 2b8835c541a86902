// Turns the text of a policy file into a policy, or tells every fault in it.
import { hash } from "node:crypto";
import { decide } from "./decide.js";
import { Faults } from "./faults.js";
import type { Environment } from "./path-value.js";
import { nextRevision, type Policy } from "./policy.js";
import { readTree } from "./policy-tree.js";
import { readPrompts, readResources, readTools } from "./read-names.js";
import { readNetwork } from "./read-network.js";
import { readAudit, readCommands, readFilesystem } from "./read-paths.js";
import { Section, type Wanted } from "./section.js";

export interface ParseOptions {
  /** The name of the file, for messages and rules. */
  readonly file: string;
  /** Where `${NAME}` is looked up; `process.env` when absent. */
  readonly environment?: Environment;
}

/** Longest policy: a thousand rules with a comment each. What is longer is not a policy a person can judge. */
export const MAX_POLICY_BYTES: number = 256 * 1024;

const VERSION: Wanted<"1.0"> = {
  words: 'the text "1.0", in quotes',
  read: (value) => (value === "1.0" ? value : undefined),
};

/** @throws PolicyError with every fault of the text. */
export async function parsePolicy(text: string, options: ParseOptions): Promise<Policy> {
  const faults = new Faults(options.file);
  const plain = text.startsWith("\ufeff") ? text.slice(1) : text;
  if (Buffer.byteLength(plain) > MAX_POLICY_BYTES) {
    faults.add({ line: 1, column: 1 }, `the file is longer than ${MAX_POLICY_BYTES} bytes; shorten it`);
    faults.throwIfAny();
  }
  const tree = await readTree(plain, faults);
  faults.throwIfAny();
  if (!tree) faults.add({ line: 1, column: 1 }, 'the policy is empty; begin it with version: "1.0"');
  faults.throwIfAny();
  const root = new Section(tree, "", faults);
  const policy = readPolicy(root, { text, file: options.file, environment: options.environment ?? process.env });
  checkSearchEndpoint(root, policy);
  faults.throwIfAny();
  return policy;
}

function readPolicy(root: Section, from: { text: string; file: string; environment: Environment }): Policy {
  const { environment } = from;
  if (root.tree("version") === undefined)
    root.faults.add(root.place, 'version is missing; begin the policy with version: "1.0"');
  else root.value("version", VERSION);
  const policy: Policy = {
    version: "1.0",
    file: from.file,
    hash: hash("sha256", from.text),
    revision: nextRevision(),
    network: readNetwork(root.section("network")),
    filesystem: readFilesystem(root.section("filesystem"), environment),
    commands: readCommands(root.section("commands")),
    tools: readTools(root.section("tools")),
    resources: readResources(root.section("resources")),
    prompts: readPrompts(root.section("prompts"), environment),
    audit: readAudit(root.section("audit"), environment),
  };
  root.finish();
  return policy;
}

/** A search page that the network section forbids would fail at every call; better to say so now. */
function checkSearchEndpoint(root: Section, policy: Policy): void {
  const { endpoint } = policy.tools.webSearch;
  if (endpoint === undefined || root.faults.count > 0) return;
  const url = new URL(endpoint);
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const { allowed } = decide(policy, { kind: "network", host: url.hostname, port });
  const mayResolve = policy.network.dnsNames?.find(url.hostname, port) !== undefined;
  if (allowed || mayResolve) return;
  const place =
    root.section("tools").section("web_search").value("endpoint", { words: "", read: String })?.place ?? root.place;
  root.faults.add(
    place,
    `the network section does not allow ${url.hostname} port ${port}; add it to network.allowed_endpoints`,
  );
}
