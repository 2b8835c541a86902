// What the console's page may have done, each by the functions of the command of the same name: policy, audit verify, plugins lock.
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import type {
  Explanation,
  OfferedDefinitions,
  ServerTest,
  ShownDefinitions,
  Verification,
} from "@secure-local/console/api";
import { membersOf, recordOf, textOf } from "../audit/call-records.js";
import { readAtOnce } from "../audit/owned-files.js";
import { verifyAudit } from "../audit/verify-audit.js";
import type { ConsoleCommands, NamedOffer } from "../console/console-api.js";
import { ConsoleFault } from "../console/console-listener.js";
import type { LogOf } from "../console/console-state.js";
import { cleanText } from "../guard/cleaning/clean-text.js";
import { describePolicy, ruleLines } from "../policy/describe-policy.js";
import { loadPolicy } from "../policy/load-policy.js";
import { PolicyError } from "../policy/faults.js";
import type { Policy } from "../policy/policy.js";
import { serverLogFile } from "../server/server-log.js";
import { knownLogs, usualFile, verifyOptions } from "./audit-command.js";
import { continuesText } from "./audit-lines.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { judgeQuestion, type PolicyQuestion, readQuestionText, VERDICTS } from "./policy-explain.js";
import { reachOf } from "./policy-map.js";
import type { LockOutcome } from "./plugins-command.js";
import { rememberRefusal } from "./refused-definitions.js";
import { pluginFolders, policyFile, programVersion, policyContext } from "./settings.js";
import { ExitCode } from "./terminal.js";

/** The commands for the policy that a command line names. */
export function consoleCommands(line: CommandLine): ConsoleCommands {
  const file = policyFile(line);
  return {
    version: programVersion(),
    policy: () => policyNow(file),
    explain: (question, profile) => explain(line, question, profile),
    trial: async (text, calls) => {
      const current = (await policyNow(file)).text;
      return (await import("./policy-trial.js")).tryPolicy(line, { text, current }, calls);
    },
    lines: async () => {
      try {
        const policy = await loadPolicy(file);
        return { hash: policy.hash, lineOf: ruleLines(policy) };
      } catch (error) {
        if (error instanceof PolicyError) return undefined;
        throw error;
      }
    },
    save: (text, digest) => save(file, { text, digest }),
    async verify(logs) {
      let own: ReturnType<typeof verifyOptions> | undefined;
      const optionsFor = (log: LogOf) => (log.isOwn ? (own ??= verifyOptions(line)) : optionsOf(line, log));
      const all = [...logs, ...(await takenAway(line, logs, optionsFor))];
      return Promise.all(all.map((each) => verification(each, optionsFor(each))));
    },
    policyFile: file === undefined ? undefined : resolve(file),
    definitions,
    serverLog,
    logIn,
    logOut,
    test,
    approve,
    refuse,
    reach: async (profile) =>
      reachOf(await usable(file, profile)).map(({ title, entries, denied }) => ({
        kind: title,
        reached: entries,
        denied,
      })),
  };
}

/** The policy as it is written; one with faults is shown with them. */
async function policyNow(file: string | undefined): ReturnType<ConsoleCommands["policy"]> {
  if (file === undefined) {
    const policy = await loadPolicy(undefined);
    const text = describePolicy(policy);
    return { hash: policy.hash, digest: digestOf(text), text, profiles: [...policy.profiles.keys()] };
  }
  const text = readText(file);
  const read = { file, digest: digestOf(text), text };
  try {
    const { hash, profiles } = await loadPolicy(file);
    return { ...read, hash, profiles: [...profiles.keys()] };
  } catch (error) {
    if (error instanceof PolicyError) return { ...read, hash: "", profiles: [], fault: error.message };
    throw error;
  }
}

function readText(file: string): string {
  try {
    return readAtOnce(file);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConsoleFault(
      409,
      `The policy cannot be read: ${why}.`,
      "Make the file readable, and load the page again.",
    );
  }
}

async function usable(file: string | undefined, profile?: string): Promise<Policy> {
  try {
    return await loadPolicy(file, profile);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new ConsoleFault(409, error.message, "Mend the policy, on the page Policy or in the file.");
  }
}

async function explain(line: CommandLine, text: string, profile: string | undefined): Promise<Explanation> {
  const policy = await usable(policyFile(line), profile);
  let question: PolicyQuestion;
  try {
    question = readQuestionText(text);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new ConsoleFault(400, "This is no call.", error.message);
  }
  const { verdict, steps, need } = judgeQuestion(policy, question, await policyContext(policy, line));
  return {
    verdict: VERDICTS[verdict],
    steps: steps.map(({ about, decision: { allowed, reason, rule } }) => ({
      about,
      allowed,
      reason,
      rule: rule.text,
      line: rule.line,
    })),
    approval: need && `within ${need.timeoutMs / 1_000} s, by ${[...need.answerBy].join(" or ") || "nobody"}`,
  };
}

/** Takes the place of the file by renaming, if the file still is the one that was shown and the text can be used. */
async function save(
  file: string | undefined,
  { text, digest }: { readonly text: string; readonly digest: string },
): Promise<string> {
  if (file === undefined)
    throw new ConsoleFault(
      409,
      "This is the built-in policy.",
      "Write one with mcp-secure-local policy init, and start the console with --policy FILE.",
    );
  try {
    const { parsePolicy } = await import("../policy/parse-policy.js");
    await parsePolicy(text, { file });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new ConsoleFault(400, error.message, "Nothing was saved. Mend the text.");
  }
  if (digestOf(readText(file)) !== digest)
    throw new ConsoleFault(
      409,
      "The file was changed meanwhile.",
      "Nothing was saved. Load the page again, and make your change anew.",
    );
  const path = fs.realpathSync(file);
  const draft = `${path}.${randomBytes(6).toString("hex")}.new`;
  const fd = fs.openSync(draft, "wx", fs.statSync(path).mode & 0o777);
  try {
    fs.writeFileSync(fd, text);
    fs.fsyncSync(fd);
    fs.renameSync(draft, path);
  } finally {
    fs.closeSync(fd);
    fs.rmSync(draft, { force: true });
  }
  return digestOf(text);
}

const NO_CHECKPOINT =
  "not covered: records cut from its end. No signed checkpoint of it has been written yet; audit.checkpoints in the policy has them written";

/** Another policy has checkpoints of its own, of logs that may have the same names; of an unknown one nobody knows any. */
async function optionsOf(line: CommandLine, { policy }: LogOf): ReturnType<typeof verifyOptions> {
  if (policy !== undefined) return verifyOptions({ ...line, policy });
  const { archives } = await verifyOptions(line);
  return { archives };
}

/** Logs that checkpoints of the policies in use know beside these, and that nobody could read. */
async function takenAway(
  line: CommandLine,
  logs: readonly LogOf[],
  optionsFor: (log: LogOf) => ReturnType<typeof verifyOptions>,
): Promise<readonly LogOf[]> {
  const found = new Map<string, LogOf>();
  for (const log of logs) {
    if (!log.isOwn && log.policy === undefined) continue;
    const usual = log.isOwn ? usualFile(line) : usualFile({ ...line, audit: undefined, policy: log.policy });
    // A broken policy is told where its options are read.
    const named = await usual.catch(() => log.file);
    if (dirname(named) !== dirname(log.file)) continue;
    for (const file of await knownLogs(named, await optionsFor(log))) found.set(file, { ...log, file });
  }
  for (const { file } of logs) found.delete(file);
  return [...found.values()];
}

async function verification(
  { file, isOwn, policy }: LogOf,
  options: ReturnType<typeof verifyOptions>,
): Promise<Verification> {
  const command = `mcp-secure-local audit verify ${file}${isOwn || policy === undefined ? "" : ` --policy ${policy}`}`;
  try {
    const looked = await verifyAudit(file, { ...(await options), signed: true });
    const { files = 1, tornTail, inJournal, continues, earlierArchives = [], ...report } = looked;
    const notes = [
      ...(continues === undefined ? [] : [`continues from ${continuesText(continues)}`]),
      ...earlierArchives.map((each) => `before that, ${continuesText(each)}`),
      ...(tornTail === undefined ? [] : [`an unfinished last line of ${tornTail} bytes, which the next start repairs`]),
      ...(report.ok && (report.checkpoints ?? 0) === 0 ? [NO_CHECKPOINT] : []),
      ...(inJournal === undefined ? [] : [`${inJournal} more in its journal, which the next start puts back`]),
    ];
    return { file, files, notes, command, ...report };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file yet" : message;
    return { file, ok: code === "ENOENT", records: 0, files: 0, notes: [], command, reason };
  }
}

/**
 * Each plugin as `plugins lock` shows it, and each server as `servers review` does. Processes of their own start them for that:
 * this one is a person's page, and whatever they do at their start is to be nobody's but their sandbox's and that process's.
 */
async function definitions(policies: readonly string[]): Promise<readonly ShownDefinitions[]> {
  return (await Promise.all(policies.flatMap((policy) => [offeredPlugins(policy), offeredServers(policy)]))).flat();
}

async function offeredPlugins(policy: string): Promise<readonly ShownDefinitions[]> {
  try {
    const { plugins } = await usable(policy);
    if (plugins.load.size === 0) return [];
    const found = (await lockOutcome(["plugins", "lock"], policy)).plugins.map((each) => ({ ...each, policy }));
    const missing = [...plugins.load.keys()].filter((name) => !found.some((each) => each.name === name));
    const faults = missing.map((name) => ({ kind: "plugin", name, policy, fault: NOT_LOOKED_AT }) as const);
    return [...found, ...faults];
  } catch (error) {
    if (!(error instanceof ConsoleFault)) throw error;
    return [{ kind: "plugin", name: "", policy, fault: `${error.message} ${error.advice}` }];
  }
}

const NOT_LOOKED_AT = "It could not be started; mcp-secure-local plugins list says why.";

async function offeredServers(policy: string): Promise<readonly ShownDefinitions[]> {
  let enabled: readonly string[];
  try {
    const { servers } = await usable(policy);
    enabled = [...servers.values()].filter((each) => each.enabled).map(({ name }) => name);
  } catch (error) {
    // What is wrong with the policy is said where its plugins stand.
    if (error instanceof ConsoleFault) return [];
    throw error;
  }
  if (enabled.length === 0) return [];
  const { found, faults, stderr } = await reviewed([], policy);
  return enabled.map((name): ShownDefinitions => {
    const offered = found.find((each) => each.name === name);
    if (offered !== undefined) return { ...offered, policy };
    return { kind: "server", name, policy, fault: faults.get(name) ?? reasonIn(stderr) };
  });
}

interface Reviewed {
  readonly found: readonly OfferedDefinitions[];
  /** Why a server could not be looked at, by its name. */
  readonly faults: ReadonlyMap<string, string>;
  readonly stderr: string;
}

async function reviewed(words: readonly string[], policy: string): Promise<Reviewed> {
  const { stdout, stderr } = await runOurselves(["servers", "review", ...words, "--json", "--policy", policy]);
  const outcome: unknown = recordOf(stdout);
  const faults = stderr.split("\n").flatMap((line): [string, string][] => {
    const { server, message } = membersOf(recordOf(line)?.["error"]);
    return typeof server === "string" ? [[server, cleanText(textOf(message)).slice(0, MAX_REASON)]] : [];
  });
  return { found: Array.isArray(outcome) ? (outcome as OfferedDefinitions[]) : [], faults: new Map(faults), stderr };
}

/** What stands in the request has been compared with what runs; the rest is the command's to judge. */
async function approve({ policy, kind, name, digest, only }: NamedOffer): Promise<ShownDefinitions> {
  const { plugins, servers } = await usable(policy);
  if (!(kind === "plugin" ? plugins.load : servers).has(name))
    throw new ConsoleFault(409, `There is no ${kind} ${name} to approve.`, "Look again at what is offered.");
  const after = await approved({ policy, kind, name, digest, only });
  if (after !== undefined) return { ...after, policy };
  throw new ConsoleFault(
    409,
    `What ${name} offers is not what was shown.`,
    "Nothing was approved. Look again, and decide then.",
  );
}

function refuse(digests: readonly string[]): string {
  if (!digests.every((digest) => /^[0-9a-f]{64}$/.test(digest)))
    throw new ConsoleFault(400, "Nothing has this digest.", "Load the page again.");
  for (const digest of digests) rememberRefusal(digest);
  return new Date().toISOString();
}

/** @returns what it offers beside what is approved by then; undefined where that is not what the digest was shown of */
async function approved({ policy, kind, name, digest, only }: NamedOffer): Promise<OfferedDefinitions | undefined> {
  const agreed = [name, "--yes", "--digest", digest, ...only.flatMap((item) => ["--only", item])];
  const isDone = (after: OfferedDefinitions): boolean =>
    only.length === 0
      ? after.approved
      : only.every((item) => after.items.every((each) => each.item !== item || each.kind === "same"));
  if (kind === "server") return (await reviewed(agreed, policy)).found.find(isDone);
  const { written, plugins } = await lockOutcome(["plugins", "lock", ...agreed], policy);
  return plugins.find((each) => each.name === name && isDone(each) && (written || each.digest === digest));
}

async function lockOutcome(words: readonly string[], policy: string): Promise<LockOutcome> {
  const { stdout, stderr } = await runOurselves([...words, "--json", "--policy", policy]);
  const outcome = recordOf(stdout) as Partial<LockOutcome> | undefined;
  if (outcome?.plugins !== undefined) return outcome as LockOutcome;
  throw new ConsoleFault(
    409,
    `The plugins could not be looked at: ${reasonIn(stderr)}`,
    "mcp-secure-local plugins list shows more.",
  );
}

/** Lines of a server's standard error that are shown: what `servers logs` shows. */
const LOG_LINES = 100;

function serverLog(policy: string, server: string): string {
  const file = serverLogFile(pluginFolders().logs, policy, server);
  if (!fs.existsSync(file)) return "";
  return readText(file).trimEnd().split("\n").slice(-LOG_LINES).join("\n");
}

/** Milliseconds a person has to log in at a server's own page. */
const LOGIN_MS = 10 * 60_000;
const AT_PAGE = /^Open this page to log in, if your browser has not: (.*)$/m;

/** Begins a login, and says where the person goes on; undefined when there was nothing to do. */
async function logIn(policy: string, server: string, afterwards: () => void): Promise<string | undefined> {
  let found!: (page: string) => void;
  const page = new Promise<string>((resolve) => (found = resolve));
  const heard = (text: string): void => {
    const [, address] = AT_PAGE.exec(text) ?? [];
    if (address !== undefined) found(address);
  };
  // When the page was shown, a person looks at that, and the state of the server says the rest.
  const ended = loggedIn(policy, server, heard);
  ended.then(afterwards, () => undefined);
  return Promise.race([page, ended]);
}

async function loggedIn(policy: string, server: string, heard: (stderr: string) => void): Promise<undefined> {
  const words = ["servers", "login", server, "--policy", policy];
  const { code, stderr } = await runOurselves(words, { patienceMs: LOGIN_MS, heard });
  if (code === ExitCode.Ok) return undefined;
  throw new ConsoleFault(
    409,
    `${server} is not logged in: ${reasonIn(stderr)}`,
    `mcp-secure-local servers login ${server} shows more.`,
  );
}

async function logOut(policy: string, server: string): Promise<void> {
  const { code, stderr } = await runOurselves(["servers", "logout", server, "--policy", policy]);
  if (code !== ExitCode.Ok)
    throw new ConsoleFault(409, `${server} is not logged out: ${reasonIn(stderr)}`, "Look at its entry in the policy.");
}

/** Milliseconds an examination may take: it starts a server several times, and waits for what it does not answer. */
const TEST_MS = 10 * 60_000;

/** The examination starts the server once more, and asks it what `doctor` asks: the one that serves is left alone. */
async function test(policy: string, server: string): Promise<ServerTest> {
  const { stdout, stderr } = await runOurselves(["servers", "test", server, "--json", "--policy", policy], {
    patienceMs: TEST_MS,
  });
  const found = recordOf(stdout);
  if (!Array.isArray(found?.["findings"]))
    throw new ConsoleFault(
      409,
      `${server} could not be examined: ${saidIn(stderr)}`,
      `mcp-secure-local servers test ${server} shows more.`,
    );
  const { name, version } = membersOf(found["server"]);
  const findings = (found["findings"] as unknown[]).map(membersOf).map((each) => ({
    verdict: textOf(each["verdict"]),
    id: textOf(each["id"]),
    title: textOf(each["title"]),
    detail: textOf(each["detail"]),
    advice: textOf(each["advice"]),
  }));
  return {
    server: `${textOf(name)} ${textOf(version)}`.trim(),
    revisions: Array.isArray(found["revisions"]) ? found["revisions"].map(textOf) : [],
    startMs: Number(found["startMs"] ?? 0),
    counts: membersOf(found["counts"]) as ServerTest["counts"],
    findings: findings.filter(({ verdict }) => verdict !== "ok" && verdict !== "skipped"),
  };
}

/** What an error of `--json` says; otherwise what was said last. */
function saidIn(stderr: string): string {
  const { message } = membersOf(recordOf(stderr.trim().split("\n").at(-1) ?? "")?.["error"]);
  return typeof message === "string" ? cleanText(message).slice(0, MAX_REASON) : reasonIn(stderr);
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Characters of what a command of ours may say: the reviews of a hundred plugins. */
const MAX_SAID = 16 * 1024 * 1024;
/** Milliseconds a command has by default: plugins are given 11 s to say what they are, on a machine that has other work. */
const PATIENCE_MS = 120_000;

/** Runs another command of this program, which ends with this process at the latest. */
function runOurselves(
  words: readonly string[],
  { patienceMs = PATIENCE_MS, heard }: { readonly patienceMs?: number; readonly heard?: (stderr: string) => void } = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [process.argv[1] ?? "", ...words], { stdio: ["ignore", "pipe", "pipe"] });
    const said = { stdout: "", stderr: "" };
    const end = (): void => void child.kill("SIGTERM");
    const timer = setTimeout(end, patienceMs);
    process.once("exit", end);
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] = (said[name] + text).slice(0, MAX_SAID);
        if (name === "stderr") heard?.(said.stderr);
      });
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      process.off("exit", end);
      resolve({ code, ...said });
    });
  });
}

/** What a command says last, without what acts on a terminal. */
function reasonIn(stderr: string): string {
  return cleanText(stderr.trim().split("\n").at(-1) ?? "").slice(0, MAX_REASON) || "it said nothing";
}

const MAX_REASON = 500;

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
