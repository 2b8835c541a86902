// What the console's page may have done, each by the functions of the command of the same name: policy, audit verify, plugins lock.
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import type { Explanation, Verification } from "@secure-local/console/api";
import { verifyAudit } from "../audit/verify-audit.js";
import type { ConsoleCommands, OfferedPlugin, TriedCall } from "../console/console-api.js";
import { ConsoleFault } from "../console/console-listener.js";
import { describePolicy } from "../policy/describe-policy.js";
import { loadPolicy } from "../policy/load-policy.js";
import { PolicyError } from "../policy/policy-error.js";
import type { Policy } from "../policy/policy.js";
import { lockFileOf, writeLock } from "../server/plugin-lock.js";
import { verifyOptions } from "./audit-command.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { type Judgement, judgeQuestion } from "./judge-question.js";
import { VERDICTS } from "./policy-explain.js";
import { reachOf } from "./policy-map.js";
import { type PolicyQuestion, readQuestionText } from "./policy-question.js";
import { compare, type Compared, lockBefore } from "./plugins-command.js";
import { policyFile, programVersion, policyContext } from "./settings.js";

/** The commands for the policy that a command line names. */
export function consoleCommands(line: CommandLine): ConsoleCommands {
  const file = policyFile(line);
  return {
    version: programVersion(),
    policy: () => policyNow(file),
    explain: (question) => explain(line, question),
    trial: (text) => trial(line, text),
    save: (text, digest) => save(file, { text, digest }),
    async verify(files) {
      const options = await verifyOptions(line);
      return Promise.all(files.map((each) => verification(each, options)));
    },
    definitions: async () => (await offered(line)).map(shownPlugin),
    approve: (plugin, digest) => approve(line, plugin, digest),
    reach: async () =>
      Object.fromEntries(reachOf(await usable(file)).map(({ title, entries }) => [title, entries] as const)),
  };
}

/** The policy as it is written; one with faults is shown with them. */
async function policyNow(file: string | undefined): ReturnType<ConsoleCommands["policy"]> {
  if (file === undefined) {
    const policy = await loadPolicy(undefined);
    const text = describePolicy(policy);
    return { hash: policy.hash, digest: digestOf(text), text };
  }
  const text = readText(file);
  const read = { file, digest: digestOf(text), text };
  try {
    const { hash } = await loadPolicy(file);
    return { ...read, hash };
  } catch (error) {
    if (error instanceof PolicyError) return { ...read, hash: "", fault: error.message };
    throw error;
  }
}

function readText(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConsoleFault(
      409,
      `The policy cannot be read: ${why}.`,
      "Make the file readable, and load the page again.",
    );
  }
}

async function usable(file: string | undefined): Promise<Policy> {
  try {
    return await loadPolicy(file);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new ConsoleFault(409, error.message, "Mend the policy, on the page Policy or in the file.");
  }
}

async function explain(line: CommandLine, text: string): Promise<Explanation> {
  const policy = await usable(policyFile(line));
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

/** A text is judged as the file it may become. */
async function trial(line: CommandLine, text: string): ReturnType<ConsoleCommands["trial"]> {
  const file = policyFile(line);
  let policy: Policy;
  try {
    const { parsePolicy } = await import("../policy/parse-policy.js");
    policy = await parsePolicy(text, { file: file ?? "policy.yaml" });
  } catch (error) {
    if (error instanceof PolicyError) return error.message;
    throw error;
  }
  const around = await policyContext(policy, line);
  return (call) => {
    const question = questionOf(call);
    if (question === undefined) return { verdict: "allowed", rule: "" };
    const judged = judgeQuestion(policy, question, around);
    return { verdict: judged.verdict === "denied" ? "denied" : VERDICTS[judged.verdict], rule: lastRule(judged) };
  };
}

function questionOf({ method, name, arguments: given }: TriedCall): PolicyQuestion | undefined {
  const args = typeof given === "object" && given !== null ? (given as Readonly<Record<string, unknown>>) : {};
  if (method === "tools/call") return { kind: "tool", name, arguments: args };
  if (method === "prompts/get") return { kind: "prompt", name };
  return method === "resources/read" ? { kind: "resource", name } : undefined;
}

function lastRule({ steps, need }: Judgement): string {
  return need?.rules[0]?.text ?? steps.at(-1)?.decision.rule.text ?? "";
}

/** Takes the place of the file by renaming, if the file still is the one that was shown and the text can be used. */
async function save(
  file: string | undefined,
  { text, digest }: { readonly text: string; readonly digest: string },
): Promise<void> {
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
}

async function verification(file: string, options: Awaited<ReturnType<typeof verifyOptions>>): Promise<Verification> {
  const command = `mcp-secure-local audit verify ${file}`;
  try {
    const { files = 1, tornTail, inJournal, ...report } = await verifyAudit(file, options);
    const notes = [
      ...(tornTail === undefined ? [] : [`an unfinished last line of ${tornTail} bytes, which the next start repairs`]),
      ...(inJournal === undefined ? [] : [`${inJournal} more in its journal, which the next start puts back`]),
    ];
    return { file, files, notes, command, ...report };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file yet" : message;
    return { file, ok: code === "ENOENT", records: 0, files: 0, notes: [], command, reason };
  }
}

/** Starts the plugins as `plugins lock` does, and compares what they offer with what was approved. */
async function offered(line: CommandLine): Promise<Compared[]> {
  const policy = await usable(policyFile(line));
  const { file } = policy;
  if (file === undefined || policy.plugins.load.size === 0) return [];
  return compare(policy, { line, before: lockBefore(lockFileOf(file)), wanted: undefined });
}

function shownPlugin({ name, changes, review, isLocked }: Compared): OfferedPlugin {
  const { findings, withheld } = review;
  const shown = { name, findings, changes, withheld: Object.fromEntries(withheld) };
  return { ...shown, digest: digestOf(JSON.stringify(shown)), approved: isLocked && changes.length === 0 };
}

async function approve(line: CommandLine, plugin: string, digest: string): Promise<void> {
  const policy = await usable(policyFile(line));
  const found = (await offered(line)).find(({ name }) => name === plugin);
  if (found === undefined || policy.file === undefined)
    throw new ConsoleFault(409, `There is no plugin ${plugin} to approve.`, "Look again at what is offered.");
  if (shownPlugin(found).digest !== digest)
    throw new ConsoleFault(
      409,
      `What ${plugin} offers is not what was shown.`,
      "Nothing was approved. Look again, and decide then.",
    );
  const lock = lockFileOf(policy.file);
  writeLock(lock, new Map([...(lockBefore(lock) ?? []), [plugin, found.locked]]));
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
