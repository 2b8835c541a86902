// Opens the audit log as the policy wants it: put away when it is long, with signed checkpoints in a second place.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { AuditLog, type LogKeeping } from "../audit/audit-log.js";
import type { CheckpointWriter } from "../audit/checkpoint.js";
import { useRecordKey } from "../audit/owned-files.js";
import type { CheckpointPolicy, Policy } from "../policy/policy.js";
import type { CommandLine } from "./command-line.js";
import { auditFile, ownPlaces, usualAuditFile } from "./settings.js";
import { stateFolder } from "../policy/own-places.js";

/** @throws AuditError when the log or the key of its checkpoints cannot be used */
export async function openAudit(
  line: Pick<CommandLine, "audit">,
  policy: Policy,
  say: (line: string) => void,
  heads?: Heads,
): Promise<AuditLog> {
  const { keeping, writer } = await keepingOf(policy, say, heads);
  takeRecordKey(say);
  const file = auditFile(line, policy);
  const folder = dirname(file);
  // A path that was mistyped would be made without a word, and the log be looked for elsewhere.
  const isMade = file !== usualAuditFile() && !existsSync(folder);
  const checkpoints = policy.audit.checkpoints && dirname(policy.audit.checkpoints.file);
  const areMade = checkpoints !== undefined && !existsSync(checkpoints);
  const log = await AuditLog.open(file, { ...keeping, say });
  if (isMade)
    say(`the folder ${folder} was not there and is made for the audit log; if you mean another, stop this and name it`);
  writer?.begin(log.file, log);
  if (areMade && existsSync(checkpoints))
    say(
      `the folder ${checkpoints} was not there and is made for checkpoints; if you mean another, or its disk was not mounted, stop this and see to it`,
    );
  return log;
}

/** A log that is opened by its first record: most errands that may write one have nothing to write. */
export function lateAudit(
  line: Pick<CommandLine, "audit">,
  policy: Policy,
  say: (line: string) => void,
): Pick<AuditLog, "record" | "close"> {
  let log: Promise<AuditLog> | undefined;
  return {
    record: async (event) => (await (log ??= openAudit(line, policy, say))).record(event),
    close: async () => (await log?.catch(() => undefined))?.close(),
  };
}

/**
 * Keeps an open log as another policy wants it: from when on it is put away, and its checkpoints. Which file it is written
 * to is settled when the server starts.
 *
 * @throws AuditError when the key of the checkpoints cannot be used; nothing has changed then
 */
export function auditKeeper(
  log: AuditLog,
  line: Pick<CommandLine, "audit">,
  {
    policy: first,
    say,
    heads,
  }: { readonly policy: Policy; readonly say: (line: string) => void; readonly heads?: Heads | undefined },
): (policy: Policy) => Promise<void> {
  let current = first;
  return async (policy) => {
    const [before, after] = [auditFile(line, current), auditFile(line, policy)];
    if (before !== after) say(`audit.log_file: ${log.file} is written until the next start, and ${after} from then on`);
    if (!sameKeeping(current, policy)) {
      const { keeping, writer } = await keepingOf(policy, say, heads);
      writer?.begin(log.file, log, log.checkpoints);
      await log.keep(keeping);
    }
    current = policy;
  };
}

function sameKeeping(a: Policy, b: Policy): boolean {
  const keeping = ({ audit: { rotateBytes, checkpoints } }: Policy): string =>
    JSON.stringify([rotateBytes, checkpoints]);
  return keeping(a) === keeping(b);
}

async function keepingOf(
  { audit: { rotateBytes, checkpoints } }: Policy,
  say: (line: string) => void,
  heads: Heads | undefined,
): Promise<{ readonly keeping: LogKeeping; readonly writer: CheckpointWriter | undefined }> {
  const writer = checkpoints && (await checkpointWriter(checkpoints, say));
  return { keeping: { rotateBytes, checkpoints: together(writer, heads) }, writer };
}

/** What is told of the last record, too: where the processes of a server sign their heads. */
type Heads = NonNullable<LogKeeping["checkpoints"]>;

function together(writer: CheckpointWriter | undefined, heads: Heads | undefined): Heads | undefined {
  if (writer === undefined || heads === undefined) return writer ?? heads;
  return {
    health: writer.health,
    reached(link) {
      writer.reached(link);
      heads.reached(link);
    },
    async close() {
      await Promise.all([writer.close(), heads.close()]);
    },
  };
}

/** Where the log of this start lies: it stays out of reach though a later policy names another. */
export function logPlaces(line: Pick<CommandLine, "audit">, policy: Policy): string[] {
  return ownPlaces({ audit: auditFile(line, policy) });
}

/** Where the key of this person's checkpoints is kept; no tool may reach it. */
export function checkpointKeyFile(): string {
  return join(stateFolder(), "audit-key.pem");
}

/** Where the key is kept by which records tell apart what they cannot hold; no tool may reach it. */
function recordKeyFile(): string {
  return join(stateFolder(), "audit-record-key");
}

/** A folder that takes no key is no reason to serve nobody: records of one run are told apart all the same. */
function takeRecordKey(say: (line: string) => void): void {
  try {
    useRecordKey(recordKeyFile());
  } catch (error) {
    say(`${(error as Error).message} Until then each start has a key of its own.`);
  }
}

/** Loaded only where it is asked for: signing costs a start some milliseconds. */
async function checkpointWriter(policy: CheckpointPolicy, say: (line: string) => void): Promise<CheckpointWriter> {
  const { checkpointKey } = await import("../audit/checkpoint.js");
  const { CheckpointWriter: Writer } = await import("../audit/checkpoint.js");
  return new Writer({ ...policy, key: checkpointKey(checkpointKeyFile()), say });
}
