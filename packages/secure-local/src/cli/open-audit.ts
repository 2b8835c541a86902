// Opens the audit log as the policy wants it: put away when it is long, with signed checkpoints in a second place.
import { join } from "node:path";
import { AuditLog, type AuditLogOptions } from "../audit/audit-log.js";
import type { CheckpointWriter } from "../audit/checkpoint-writer.js";
import type { CheckpointPolicy, Policy } from "../policy/policy.js";
import type { CommandLine } from "./command-line.js";
import { auditFile, stateFolder } from "./settings.js";

/** @throws AuditError when the log or the key of its checkpoints cannot be used */
export async function openAudit(
  line: Pick<CommandLine, "audit">,
  policy: Policy,
  say: (line: string) => void,
): Promise<AuditLog> {
  const { rotateBytes, checkpoints } = policy.audit;
  const writer = checkpoints && (await checkpointWriter(checkpoints, say));
  const options: AuditLogOptions = { rotateBytes, ...(writer === undefined ? {} : { checkpoints: writer }) };
  const log = await AuditLog.open(auditFile(line, policy), options);
  writer?.begin(log.file);
  return log;
}

/** Where the key of this person's checkpoints is kept; no tool may reach it. */
export function checkpointKeyFile(): string {
  return join(stateFolder(), "audit-key.pem");
}

/** Loaded only where it is asked for: signing costs a start some milliseconds. */
async function checkpointWriter(policy: CheckpointPolicy, say: (line: string) => void): Promise<CheckpointWriter> {
  const { checkpointKey } = await import("../audit/checkpoint-key.js");
  const { CheckpointWriter: Writer } = await import("../audit/checkpoint-writer.js");
  return new Writer({ ...policy, key: checkpointKey(checkpointKeyFile()), say });
}
