// `mcp-secure-local audit verify`: checks that nobody changed, removed or added a line of an audit log.
import { existingLogs } from "../audit/log-lock.js";
import { verifyAudit } from "../audit/verify-audit.js";
import { loadPolicy } from "../policy/load-policy.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { auditFile, policyFile } from "./settings.js";
import { complain, ExitCode, print, styled } from "./terminal.js";

export async function auditCommand(line: CommandLine): Promise<number> {
  const [action, named, ...rest] = line.words;
  if (action !== "verify")
    throw new UsageError(`audit needs verify${action === undefined ? "" : nearest(action, ["verify"])}`);
  if (rest.length > 0) throw new UsageError(`audit verify takes one file, not also "${rest[0]}"`);
  // Servers that run at the same time write logs of their own beside the first one.
  const files = named === undefined ? existingLogs(await usualFile(line)) : [named];
  if (files.length === 0) {
    complain(`mcp-secure-local: there is no audit log at ${await usualFile(line)} yet`);
    return ExitCode.Failed;
  }
  const passed = await Promise.all(files.map((file) => verify(file)));
  return passed.every(Boolean) ? ExitCode.Ok : ExitCode.Failed;
}

async function usualFile(line: CommandLine): Promise<string> {
  // The policy is only asked where its answer counts, so that a broken one does not keep a log from being checked.
  const without = auditFile(line, undefined);
  const file = line.audit === undefined && !process.env["MCP_SECURE_LOCAL_AUDIT"] ? policyFile(line) : undefined;
  return file === undefined ? without : auditFile(line, await loadPolicy(file));
}

async function verify(file: string): Promise<boolean> {
  try {
    const { ok, records, firstBadLine, reason, tornTail } = await verifyAudit(file);
    if (!ok) {
      complain(`${file}:${firstBadLine}: ${reason}`);
      return false;
    }
    const torn =
      tornTail === undefined ? "" : `; an unfinished last line of ${tornTail} bytes, which the next start repairs`;
    print(`${styled("green", "ok")}  ${file}: ${records} records, none changed, missing or added${torn}`);
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    complain(
      `mcp-secure-local: ${code === "ENOENT" ? `there is no file ${file}` : `${file} cannot be read: ${message}`}`,
    );
    return false;
  }
}
