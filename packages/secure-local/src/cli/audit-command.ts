// `mcp-secure-local audit verify | query | tail`: checks the audit log, looks into it, follows it.
import { readFileSync } from "node:fs";
import { publicKeyPath } from "../audit/checkpoint.js";
import { existingLogs } from "../audit/log-lock.js";
import { type VerifyOptions, verifyAudit } from "../audit/verify-audit.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { checkpointKeyFile } from "./open-audit.js";
import { auditFile, policyFile } from "./settings.js";
import { complain, ExitCode, print, styled } from "./terminal.js";

const ACTIONS = ["verify", "query", "tail"];

export async function auditCommand(line: CommandLine): Promise<number> {
  const [action, ...words] = line.words;
  if (action === undefined || !ACTIONS.includes(action))
    throw new UsageError(`audit needs verify, query or tail${action === undefined ? "" : nearest(action, ACTIONS)}`);
  if (action === "verify") return verifyAll(line, words);
  const files = existingLogs(await usualFile(line));
  if (files.length === 0) return noLog(line);
  if (action === "query") return (await import("./audit-query.js")).auditQuery(line, files, words);
  return (await import("./audit-tail.js")).auditTail(line, files, { words });
}

async function verifyAll(line: CommandLine, [named, ...rest]: readonly string[]): Promise<number> {
  if (rest.length > 0) throw new UsageError(`audit verify takes one file, not also "${rest[0]}"`);
  // Servers that run at the same time write logs of their own beside the first one.
  const files = named === undefined ? existingLogs(await usualFile(line)) : [named];
  if (files.length === 0) return noLog(line);
  const options = await verifyOptions(line);
  const passed = await Promise.all(files.map((file) => verify(file, options)));
  return passed.every(Boolean) ? ExitCode.Ok : ExitCode.Failed;
}

async function noLog(line: CommandLine): Promise<number> {
  complain(`mcp-secure-local: there is no audit log at ${await usualFile(line)} yet`);
  return ExitCode.Failed;
}

/** A broken policy must not keep a log from being checked; without it nobody knows of checkpoints, which is said. */
async function verifyOptions(line: CommandLine): Promise<VerifyOptions> {
  const file = policyFile(line);
  if (file === undefined) return {};
  let policy: Policy;
  try {
    policy = await loadPolicy(file);
  } catch {
    complain(`mcp-secure-local: ${file} cannot be used, so checkpoints are not compared`);
    return {};
  }
  const { checkpoints } = policy.audit;
  if (checkpoints === undefined) return {};
  const keyFile = publicKeyPath(checkpointKeyFile());
  try {
    return { checkpoints: { file: checkpoints.file, publicKey: readFileSync(keyFile, "utf8") } };
  } catch {
    throw new UsageError(`the checkpoints cannot be compared: there is no public key at ${keyFile}; copy it there`);
  }
}

async function usualFile(line: CommandLine): Promise<string> {
  // The policy is only asked where its answer counts, so that a broken one does not keep a log from being checked.
  const without = auditFile(line, undefined);
  const file = line.audit === undefined && !process.env["MCP_SECURE_LOCAL_AUDIT"] ? policyFile(line) : undefined;
  return file === undefined ? without : auditFile(line, await loadPolicy(file));
}

async function verify(file: string, options: VerifyOptions): Promise<boolean> {
  try {
    const report = await verifyAudit(file, options);
    const { ok, records, files = 1, checkpoints, badFile = file, firstBadLine, reason, tornTail, inJournal } = report;
    if (!ok) {
      complain(`${badFile}${firstBadLine === undefined ? "" : `:${firstBadLine}`}: ${reason}`);
      return false;
    }
    const notes = [
      files > 1 ? ` in ${files} files` : "",
      ", none changed, missing or added",
      checkpoints === undefined ? "" : `; ${checkpoints} signed checkpoints agree`,
      tornTail === undefined ? "" : `; an unfinished last line of ${tornTail} bytes, which the next start repairs`,
      inJournal === undefined ? "" : `; ${inJournal} more in its journal, which the next start puts back`,
    ];
    print(`${styled("green", "ok")}  ${file}: ${records} records${notes.join("")}`);
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = code === "ENOENT";
    complain(`mcp-secure-local: ${missing ? `there is no file ${file}` : `${file} cannot be read: ${message}`}`);
    return false;
  }
}
