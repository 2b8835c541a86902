// Turns the text of a policy file into a policy, or tells every fault in it.
import { hash } from "node:crypto";
import { resolve } from "node:path";
import { decide } from "./decide.js";
import { Faults } from "./faults.js";
import { didYouMean } from "./near-name.js";
import type { Environment } from "./path-value.js";
import { extendTree } from "./extend-tree.js";
import { nextRevision, type Policy } from "./policy.js";
import { MAX_POLICY_BYTES } from "./policy-defaults.js";
import { readTree } from "./policy-tree.js";
import { readApprovals } from "./read-approvals.js";
import { readCommands } from "./read-commands.js";
import { readDatabases, readSecrets } from "./read-data.js";
import { readPrompts, readResources, readTools } from "./read-names.js";
import { readNetwork } from "./read-network.js";
import { readAudit, readFilesystem } from "./read-paths.js";
import { readPlugins } from "./read-plugins.js";
import { readOutput, readSandbox } from "./read-sandbox.js";
import type { Rule } from "./rule.js";
import { Section, type Wanted } from "./section.js";

export interface ParseOptions {
  /** The name of the file, for messages and rules. */
  readonly file: string;
  /** Where `${NAME}` is looked up; `process.env` when absent. */
  readonly environment?: Environment;
}

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
  const extended = extendTree(tree!, faults);
  const root = new Section(extended.tree, "", faults);
  const environment = options.environment ?? process.env;
  const policy = await readPolicy(root, { text, file: options.file, environment, presets: extended.presets });
  checkSearchEndpoint(root, policy);
  checkReferences(root, policy);
  checkOwnPlaces(root, policy);
  faults.throwIfAny();
  return policy;
}

interface Source {
  readonly text: string;
  readonly file: string;
  readonly environment: Environment;
  readonly presets: readonly string[];
}

async function readPolicy(root: Section, from: Source): Promise<Policy> {
  const { environment } = from;
  if (root.tree("version") === undefined)
    root.faults.add(root.place, 'version is missing; begin the policy with version: "1.0"');
  else root.value("version", VERSION);
  // Its presets are in the tree already.
  root.tree("extends");
  const tools = readTools(root.section("tools"));
  const bothLimits = root.section("tools").tree("max_output_bytes") !== undefined;
  const output = readOutput(root.section("output"), tools, bothLimits);
  const policy: Policy = {
    version: "1.0",
    file: from.file,
    hash: hash("sha256", from.text),
    revision: nextRevision(),
    presets: from.presets,
    network: readNetwork(root.section("network")),
    filesystem: readFilesystem(root.section("filesystem"), environment),
    commands: await readCommands(root.section("commands"), environment),
    // Both names of the limit have the same value.
    tools: { ...tools, maxOutputBytes: output.maxBytes },
    resources: readResources(root.section("resources")),
    prompts: readPrompts(root.section("prompts"), environment),
    audit: readAudit(root.section("audit"), environment),
    approvals: readApprovals(root, environment),
    secrets: readSecrets(root.section("secrets"), environment),
    databases: readDatabases(root.section("databases"), environment),
    plugins: readPlugins(root.section("plugins"), environment),
    sandbox: readSandbox(root, environment),
    output,
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

/** A name that nothing has would be found out at the first call; better to say so now. */
function checkReferences(root: Section, { commands, databases, plugins, secrets }: Policy): void {
  const check = (rule: Rule, what: string, name: string, known: ReadonlyMap<string, unknown>): void => {
    if (known.has(name)) return;
    const hint = didYouMean(name, known.keys()) || `; add it to ${what}`;
    root.faults.add(
      { line: rule.line ?? 1, column: rule.column ?? 1 },
      `${rule.text} names "${name}", which ${what} does not have${hint}`,
    );
  };
  for (const { rule, store } of databases.values()) {
    if (store.kind === "postgresql") check(rule, "secrets", store.secret, secrets);
  }
  for (const { rule, ...plugin } of plugins.load.values()) {
    for (const name of plugin.commands) check(rule, "commands.allowed", name, commands.allowed);
    for (const name of plugin.secrets) check(rule, "secrets", name, secrets);
  }
}

/** What a sandbox may write must not hold what the guard itself goes by. */
function checkOwnPlaces(root: Section, policy: Policy): void {
  const { audit, commands, file, plugins } = policy;
  const lineOf = (key: string): string => {
    const line = root.section("audit").tree(key)?.place.line;
    return line === undefined ? "" : ` (line ${line}: audit.${key})`;
  };
  const own = [
    { what: "this policy", path: file ? resolve(file) : undefined },
    { what: `the audit log${lineOf("log_file")}`, path: audit.logFile },
    { what: `the file of checkpoints${lineOf("checkpoints")}`, path: audit.checkpoints?.file },
  ];
  const tell = ({ text, line = 1, column = 1 }: Rule, what: string): void =>
    root.faults.add(
      { line, column },
      `${text} would let a program write where ${what} lies; put that elsewhere, or grant another folder`,
    );
  for (const { what, path } of own) {
    if (path === undefined) continue;
    for (const { filesystem } of plugins.load.values()) {
      const rule = filesystem.readOnly === undefined ? filesystem.allowed.find(path) : undefined;
      if (rule !== undefined) tell(rule, what);
    }
    for (const { rule, workingDirectory: folder } of commands.allowed.values()) {
      if (folder === undefined || !path.startsWith(`${folder === "/" ? "" : folder}/`)) continue;
      const { allowed } = decide(policy, { kind: "file", path: folder, op: "write" });
      if (allowed) tell({ ...rule, text: `${rule.text}: working_directory ${folder}` }, what);
    }
  }
}
