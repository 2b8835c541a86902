// `mcp-secure-local plugins`: lists the plugins of the policy and how they are, makes new ones, and computes their
// hashes.
import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { OfferedDefinitions } from "@secure-local/console/api";
import type { Change, Items } from "@secure-local/inspection/drift";
import { membersOf } from "../audit/call-records.js";
import { noAudit } from "../audit/event-text.js";
import { type StoragePlace, storagePlace } from "../capabilities/storage-folder.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { type ChangedFiles, changedFiles } from "../plugins/changed-files.js";
import { lastLines } from "../plugins/plugin-process.js";
import type { PluginHealth } from "../plugins/plugin.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { PluginGrant, Policy } from "../policy/policy.js";
import {
  type LockedPlugin,
  LockError,
  lockFileOf,
  type PluginLock,
  changesOf,
  readLock,
  relocked,
  writeLock,
} from "../server/plugin-lock.js";
import { secretFault } from "../server/open-server.js";
import { itemsOf } from "../server/plugin-names.js";
import type { PluginReview } from "../server/plugin-reviews.js";
import { SecureServer } from "../server/secure-server.js";
import { type CommandLine, inUse, nearest, UsageError } from "./command-line.js";
import {
  approvedAlone,
  approvesShown,
  asApproved,
  checkYes,
  type ComparedOffer,
  differenceLines,
  digestOf,
  itemWords,
  tellUnusedDigest,
  offeredDefinitions,
} from "./offered-definitions.js";
import { ownPlaces, pluginFolders, policyFile, programVersion } from "./settings.js";
import { sayBesides, startPlugins } from "./started-plugins.js";
import { complain, complainJson, ExitCode, print, printJson, styled, tell } from "./terminal.js";

// The plugins that `plugins new` writes, one a language: a tool that greets, and a test that runs it.

type Language = "js" | "ts" | "python" | "sh";

export interface TemplateFile {
  readonly text: string;
  readonly executable?: boolean;
}

export interface Template {
  readonly files: Readonly<Record<string, TemplateFile>>;
  /** The command that runs the test. */
  readonly test: string;
}

export function pluginFiles(name: string, language: Language): Template {
  switch (language) {
    case "js":
      return moduleFiles(name, { file: "plugin.mjs", typing: TYPING.js });
    case "ts":
      return moduleFiles(name, { file: "plugin.ts", typing: TYPING.ts });
    case "python":
      return executableFiles(name, { file: "main.py", run: "[python3, main.py]", text: PYTHON });
    case "sh":
      return executableFiles(name, { file: "main.sh", run: "[sh, main.sh]", text: SHELL });
  }
}

interface ModuleTemplate {
  readonly file: string;
  /** What stands in front of the plugin, and behind a parameter and the plugin, so that an editor knows their types. */
  readonly typing: readonly [before: string, parameter: string, after: string];
}

const TYPING: Readonly<Record<"js" | "ts", ModuleTemplate["typing"]>> = {
  js: ['/** @type {import("mcp-secure-local/plugin").PluginDefinition} */\nexport default ', "", ";"],
  ts: [
    'import type { PluginDefinition } from "mcp-secure-local/plugin";\n\nexport default ',
    ": { who?: string }",
    " satisfies PluginDefinition;",
  ],
};

/** Of a test: an older Node runs the plugin in the sandbox all the same. */
const SKIP_OLDER = `
// Node itself reads TypeScript from 22.18 on. On an older one try it in the server: mcp-secure-local call
const skip = process.features.typescript ? false : "this Node reads no TypeScript; 22.18 and later do";
`;

function moduleFiles(name: string, { file, typing: [before, parameter, after] }: ModuleTemplate): Template {
  const typed = file.endsWith(".ts");
  const plugin = `// To have types while you write, in the folder above: npm install --save-dev ./mcp-secure-local-VERSION.tgz
${before}{
  name: "${name}",
  version: "1.0.0",
  tools: {
    greet: {
      description: "Greets somebody",
      input: { type: "object", properties: { who: { type: "string", maxLength: 100 } } },
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      run: ({ who = "world" }${parameter}) => \`Hello, \${who}!\`,
    },
  },
}${after}
`;
  const test = `// Run with: node --test
import assert from "node:assert/strict";
import test from "node:test";
${typed ? SKIP_OLDER : `import plugin from "./${file}";\n`}
test("greets", ${typed ? "{ skip }, async " : ""}() => {
${typed ? `  const { default: plugin } = await import("./${file}");\n` : ""}  assert.equal(plugin.tools.greet.run({ who: "Ada" }), "Hello, Ada!");
});
`;
  return { files: { [file]: { text: plugin }, "plugin.test.mjs": { text: test } }, test: "node --test" };
}

interface ExecutableTemplate {
  readonly file: string;
  readonly run: string;
  readonly text: string;
}

function executableFiles(name: string, { file, run, text }: ExecutableTemplate): Template {
  const manifest = `# What this plugin is. The policy has to grant what stands under needs.
name: ${name}
version: "1.0.0"
run: ${run}
# One process answers many calls; without it each call gets a process of its own.
persistent: true
needs: { network: [], filesystem: [] }
tools:
  - name: greet
    description: Greets somebody
    input: { type: object, properties: { who: { type: string, maxLength: 100 } } }
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false }
`;
  const command = run.slice(1, -1).replace(", ", " ");
  const test = `#!/bin/sh
# Sends one call, as the server does, and compares the answer.
cd "$(dirname "$0")" || exit 1
answer=$(printf '{"id":1,"tool":"greet","arguments":{"who":"Ada"}}\\n' | ${command})
case "$answer" in
  *'"Hello, Ada!"'*) echo passed ;;
  *) echo "failed: $answer"; exit 1 ;;
esac
`;
  return {
    files: {
      "manifest.yaml": { text: manifest },
      [file]: { text, executable: true },
      "test.sh": { text: test, executable: true },
    },
    test: "sh test.sh",
  };
}

const PYTHON = `# Answers calls: one JSON line in, one JSON line out, with the same id. Print nothing else to stdout.
import json
import sys

for line in sys.stdin:
    call = json.loads(line)
    if "cancel" in call:
        continue
    who = call.get("arguments", {}).get("who", "world")
    answer = {"id": call["id"], "content": "Hello, " + who + "!"}
    print(json.dumps(answer, ensure_ascii=False), flush=True)
`;

const SHELL = `# Answers calls: one JSON line in, one JSON line out, with the same id. One with more to read would do so with jq.
LC_ALL=C
export LC_ALL
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"id":\\([0-9]*\\).*/\\1/p')
  # The text stays as JSON has it, with its escapes, and is put into JSON again.
  who=$(printf '%s' "$line" | sed -nE 's/.*"who":"(([^"\\\\]|\\\\.)*)".*/\\1/p')
  [ -n "$id" ] && printf '{"id":%s,"content":"Hello, %s!"}\\n' "$id" "\${who:-world}"
done
`;

type Action = (line: CommandLine) => Promise<number>;

const ACTIONS: Readonly<Record<string, Action>> = {
  list,
  new: async (line) => newPlugin(line),
  lock: async (line) => lockPlugins(line),
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
  if (line.words.length > 0)
    throw new UsageError(`plugins list takes no "${line.words[0]}": it shows every plugin; leave it out`);
  const policy = await loadPolicy(policyFile(line));
  const kept = { own: ownPlaces(line), ...pluginFolders(), tryPlugins: true };
  const secure = new SecureServer({ policy, audit: noAudit, version: programVersion(), ...kept, say: sayBesides });
  await startPlugins(secure, true);
  const health = secure.pluginHealth();
  const reviews = secure.pluginReviews();
  const allowed = secure.tools().map((tool) => tool.name);
  await secure.stop();
  const listed = health.map((plugin) => ({
    ...plugin,
    ...reviewed(reviews, plugin.name),
    keeps: keptBy(policy.plugins.load.get(plugin.name)),
    unlisted: isShutOut(plugin, allowed),
  }));
  if (line.json) printJson(listed);
  else {
    show(listed, line, (name) => unreadSecrets(policy, name));
    const { file } = policy;
    if (file !== undefined && listed.length > 0 && !existsSync(lockFileOf(file)))
      print(`Not locked; to approve what the plugins are now: mcp-secure-local plugins lock${inUse(line)}`);
  }
  const well = listed.every(({ state, withheld }) => state === "ready" && Object.keys(withheld).length === 0);
  return well ? ExitCode.Ok : ExitCode.Failed;
}

type Listed = PluginHealth &
  ReturnType<typeof reviewed> & {
    readonly keeps: StoragePlace | undefined;
    /** Whether the policy lets none of its tools through. */
    readonly unlisted: boolean;
  };

function isShutOut({ name, state, tools }: PluginHealth, allowed: readonly string[]): boolean {
  return state === "ready" && tools > 0 && !allowed.some((tool) => tool.startsWith(`${name}_`));
}

/** Where a plugin keeps data, if it may. */
function keptBy(grant: PluginGrant | undefined): StoragePlace | undefined {
  return grant === undefined || grant.storageBytes === 0 ? undefined : storagePlace(pluginFolders().storage, grant);
}

function storageLines(keeps: StoragePlace | undefined): string[] {
  if (keeps === undefined) return [];
  const { folder, taken } = keeps;
  if (taken === undefined) return [`keeps data in ${folder}`];
  return [
    `keeps data in ${folder}`,
    `not in ${taken.folder}, which belongs to the plugin in ${taken.by}; if this is that plugin and was moved, see Storage in docs/plugins.md`,
  ];
}

function reviewed(reviews: readonly PluginReview[], name: string) {
  const review = reviews.find(({ plugin }) => plugin === name);
  const { findings = [], changes = [], withheld = new Map<string, string>() } = review ?? {};
  return { findings, changes, withheld: Object.fromEntries(withheld) };
}

/** Secrets of a plugin that cannot be read here; where it is served a variable may be set. */
function unreadSecrets({ plugins, secrets }: Policy, name: string): string[] {
  return (plugins.load.get(name)?.secrets ?? []).flatMap((each) => {
    const fault = secretFault(secrets.get(each));
    return fault === undefined ? [] : [`the secret ${each} cannot be read: ${fault}`];
  });
}

function show(health: readonly Listed[], line: CommandLine, lacks: (name: string) => readonly string[]): void {
  if (health.length === 0) print("The policy loads no plugin; name some in plugins.load.");
  for (const { name, state, version, tools, note, output, wall, keeps, unlisted, ...review } of health) {
    const known = version === undefined ? "" : ` ${cleanLine(version)}, ${tools} ${tools === 1 ? "tool" : "tools"}`;
    const walled = wall === undefined ? "" : ` (${wall === "none" ? "no sandbox" : wall})`;
    print(`${styled("bold", name)}  ${styled(state === "ready" ? "green" : "red", state)}${known}${walled}`);
    if (note !== "") print(`  ${cleanLine(note)}`);
    for (const lack of lacks(name)) print(`  ${cleanLine(lack)}`);
    for (const kept of storageLines(keeps)) print(`  ${cleanLine(kept)}`);
    if (unlisted && Object.keys(review.withheld).length === 0)
      print(`  No tool of it is offered: tools.allowed names none; add "${name}_*" for all of them`);
    for (const line of lastLines(output)) print(styled("dim", `  | ${cleanLine(line)}`));
    showReview(name, review, line);
  }
}

function showReview(
  plugin: string,
  { findings, withheld, changes }: Pick<Listed, "findings" | "withheld" | "changes">,
  line: CommandLine,
): void {
  for (const [item, reason] of Object.entries(withheld))
    print(`  ${styled("red", "withheld")}  ${cleanLine(item)}: ${cleanLine(reason)}`);
  showFindings(findings);
  if (changes.length === 0) return;
  print(
    `  It is not as you approved it. Read what changed, and approve it: mcp-secure-local ${lockCommand(plugin, line)}`,
  );
}

/** What the inspection noticed in its texts. */
function showFindings(findings: Listed["findings"]): void {
  for (const { tier, id, kind, item, at, about, excerpt } of findings) {
    const word = tier === "hard" ? styled("red", "hard") : styled("yellow", "review");
    print(
      `  ${word}  ${id}  ${cleanLine(`${kind} ${item} ${at}`)}: ${about}\n    ${styled("dim", cleanLine(excerpt))}`,
    );
  }
}

function lockCommand(plugin: string, line: CommandLine): string {
  return `plugins lock ${plugin}${inUse(line)}`;
}

async function hash({ words: [path, ...more], json }: CommandLine): Promise<number> {
  if (path === undefined || more.length > 0)
    throw new UsageError("plugins hash needs one path, as in plugins hash ./weather");
  if (!existsSync(path)) throw new UsageError(`there is nothing at ${path}; check the path`);
  const { hashPlugin } = await import("../plugins/plugin-content.js");
  const { PluginError } = await import("../plugins/plugin-description.js");
  try {
    const sha256 = hashPlugin(realpathSync(path));
    tell({ json }, { path, sha256 }, sha256);
    return ExitCode.Ok;
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    const message = cleanLine(error.message);
    if (json) complainJson({ error: { code: "PLUGIN", message } });
    else complain(message);
    return ExitCode.Failed;
  }
}

// `mcp-secure-local plugins new`: writes a plugin that works, with a test.

const LANGUAGES: readonly Language[] = ["js", "ts", "python", "sh"];
/** What else people call them. */
const CALLED: Readonly<Record<string, Language>> = {
  py: "python",
  javascript: "js",
  typescript: "ts",
  bash: "sh",
  shell: "sh",
};
const NAME = /^[a-z][a-z0-9_-]{0,47}$/;

/** `NAME [LANGUAGE]`: a folder of that name in the current one. Nothing that exists is touched. */
export async function newPlugin(line: Pick<CommandLine, "words" | "json">): Promise<number> {
  const [name, language = "js", ...more] = line.words;
  if (name === undefined || !NAME.test(name) || more.length > 0) {
    throw new UsageError(
      "plugins new needs a name of lower-case letters, digits, - and _, a letter first, as in plugins new weather python",
    );
  }
  const known =
    LANGUAGES.find((each) => each === language) ?? (Object.hasOwn(CALLED, language) ? CALLED[language] : undefined);
  if (known === undefined) {
    throw new UsageError(
      `there is no template for "${language}", only ${LANGUAGES.join(", ")}${nearest(language, LANGUAGES)}`,
    );
  }
  const folder = resolve(name);
  if (existsSync(folder)) throw new UsageError(`${folder} exists already; choose another name`);
  const { files, test } = pluginFiles(name, known);
  mkdirSync(folder);
  for (const [file, { text, executable = false }] of Object.entries(files)) {
    writeFileSync(join(folder, file), text, { flag: "wx" });
    if (executable) chmodSync(join(folder, file), 0o755);
  }
  const written = Object.keys(files).map((file) => join(name, file));
  const policy = { tools: { allowed: [`${name}_*`] }, plugins: { load: [{ name, path: folder }] } };
  tell(
    line,
    { written, test, policy },
    `${written.join("\n")}

Try it:  cd ${name} && ${test}${older(known)}
Load it, in your policy:

tools: { allowed: ["${name}_*"] }
plugins:
  load:
    - name: ${name}
      path: ${folder}

Then call it:  mcp-secure-local call ${name}_greet who=Ada --policy FILE`,
  );
  return ExitCode.Ok;
}

/** A test that is skipped shows nothing: said where it would be. */
function older(language: Language): string {
  if (language !== "ts" || (process.features as { readonly typescript?: unknown }).typescript !== undefined) return "";
  return `\n         (this Node ${process.versions.node} skips the test: it reads no TypeScript before 22.18; a call below tries the plugin all the same)`;
}

// `mcp-secure-local plugins lock`: shows what changed in the plugins since it was approved, and writes down what is approved now.

/** One plugin as it is and as it was approved. */
interface Compared {
  readonly name: string;
  readonly changes: readonly Change[];
  readonly items: Items;
  /** What was approved; undefined where it never was. */
  readonly before: LockedPlugin | undefined;
  readonly review: PluginReview;
  /** Which files of the program changed; undefined where its content did not. */
  readonly files: ChangedFiles | undefined;
}

/** What `plugins lock --json` prints. */
export interface LockOutcome {
  readonly file: string;
  readonly written: boolean;
  readonly changed: readonly Pick<Compared, "name" | "changes">[];
  /** Each with all that a person reads before approving it; where it is written, as it stands then. */
  readonly plugins: readonly OfferedDefinitions[];
}

function offerOf({ name, changes, items, before, review, files }: Compared): ComparedOffer {
  const { findings, withheld } = review;
  return { kind: "plugin", name, locked: before, items, changes, findings, withheld, files };
}

async function filesOf(before: unknown, now: unknown): Promise<ChangedFiles | undefined> {
  const [old, fresh] = [before, now].map((launch) => membersOf(launch)["content"]);
  if (typeof old !== "string" || typeof fresh !== "string" || old === fresh) return undefined;
  return await changedFiles(pluginFolders().copies, old, fresh);
}

function offeredOf(compared: Compared): OfferedDefinitions {
  return offeredDefinitions(offerOf(compared));
}

/** The one plugin that a command line names, if it does. */
function pluginNamed({ words: [wanted, ...more] }: CommandLine): string | undefined {
  if (more.length > 0) throw new UsageError("plugins lock takes one plugin at most, as in plugins lock weather");
  return wanted;
}

function notLoaded(file: string, wanted: string, { plugins }: Policy): string {
  return `${file} loads no plugin ${wanted}${nearest(wanted, plugins.load.keys()) || "; name it in plugins.load"}`;
}

export async function lockPlugins(line: CommandLine): Promise<number> {
  const wanted = pluginNamed(line);
  checkYes(line, "plugins lock");
  const policy = await loadPolicy(policyFile(line));
  const { file } = policy;
  if (file === undefined) throw new UsageError("plugins lock needs a policy file that names plugins");
  if (policy.plugins.load.size === 0) throw new UsageError(`${file} loads no plugin; name some in plugins.load`);
  if (wanted !== undefined && !policy.plugins.load.has(wanted)) throw new UsageError(notLoaded(file, wanted, policy));
  const before = lockBefore(lockFileOf(file));
  const compared = await compare(policy, { line, before, wanted });
  const changed = compared.filter(({ changes }) => changes.length > 0);
  if (!line.json)
    for (const each of changed) {
      print([styled("bold", each.name), ...differenceLines(offerOf(each))].join("\n"));
      for (const kept of storageLines(keptBy(policy.plugins.load.get(each.name)))) print(`  ${cleanLine(kept)}`);
      showFindings(each.review.findings);
    }
  const only = approvedAlone(line, compared);
  const outcome = (written: boolean): LockOutcome => ({
    file: lockFileOf(file),
    written,
    changed: changed.map(({ name, changes }) => ({ name, changes })),
    plugins: compared.map((each) => (written ? offeredDefinitions(asApproved(offerOf(each), only)) : offeredOf(each))),
  });
  const current = changed.length === 0 && before !== undefined;
  if (compared.length === 0 || current) {
    if (current && !line.json) tellUnusedDigest(line);
    tell(line, outcome(false), current ? `${lockFileOf(file)} is up to date.` : "No plugin could be looked at.");
    return current ? ExitCode.Ok : ExitCode.Failed;
  }
  if (!(await isApproved(line, compared.map(offeredOf)))) {
    if (line.json) printJson(outcome(false));
    return ExitCode.Failed;
  }
  writeLock(
    lockFileOf(file),
    new Map([
      ...(before ?? []),
      ...compared.map((each) => [each.name, relocked(each.before, each.items, only)] as const),
    ]),
  );
  tell(
    line,
    outcome(true),
    `${lockFileOf(file)} is written: a running server takes it in a moment and offers nothing of its plugins that is not in it.`,
  );
  return somethingWaits(compared, only) ? ExitCode.Failed : ExitCode.Ok;
}

/** Whether anything is not approved though these items were; says what. */
function somethingWaits(compared: readonly Compared[], only: ReadonlySet<string>): boolean {
  const waits = compared.flatMap((each) =>
    asApproved(offerOf(each), only).changes.map(({ item }) => `${each.name} ${item}`),
  );
  if (waits.length > 0) complain(`Not approved yet: ${itemWords(waits)}.`);
  return waits.length > 0;
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
    const approved = before?.get(name);
    found.push({
      name,
      changes: changesOf(approved, items, launch),
      items: new Map([...items, ["launch", launch]]),
      before: approved,
      review,
      files: await filesOf(approved?.approved.get("launch"), launch),
    });
  }
  await secure.stop();
  return found;
}

/** With `--json` nothing is approved but what a digest names. */
async function isApproved(line: CommandLine, offers: readonly OfferedDefinitions[]): Promise<boolean> {
  if (line.json) return line.yes && line.digest === digestOf(offers);
  return approvesShown(line, "plugins lock", offers);
}
