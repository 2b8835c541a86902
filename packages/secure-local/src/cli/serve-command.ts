// Serves an AI client over stdin and stdout.
import { serveStdio } from "@secure-local/mcp/stdio";
import type { AuditLog } from "../audit/audit-log.js";
import { loadPolicy } from "../policy/load-policy.js";
import { telemetry } from "../observe/open-telemetry.js";
import { suitEngine } from "../server/engine.js";
import { LateStart } from "../server/late-start.js";
import { followPolicyFile } from "../server/follow-policy-file.js";
import { SecureServer } from "../server/secure-server.js";
import type { CommandLine } from "./command-line.js";
import { approveDesk } from "./desks.js";
import { auditKeeper, logPlaces, openAudit } from "./open-audit.js";
import { programVersion } from "./program-version.js";
import { ownPlaces, pluginFolders, policyFile } from "./settings.js";
import { complain, ExitCode } from "./terminal.js";

/** Resolves when the client has gone. @throws PolicyError, AuditError before anything is served */
export async function serveCommand(line: CommandLine): Promise<number> {
  const file = policyFile(line);
  const policy = await loadPolicy(file);
  const audit = await openAudit(line, policy, say);
  const version = programVersion();
  const late = new LateStart(audit);
  const secure = new SecureServer({
    policy,
    audit: late,
    version,
    say,
    own: [...ownPlaces(line), ...logPlaces(line, policy)],
    ...pluginFolders(),
    desk: approveDesk(say),
    telemetry: await telemetry(version, say),
  });
  const stopFollowing = followPolicyFile(secure, file, { say, adopt: auditKeeper(audit, line, { policy, say }) });
  suitEngine();
  const serving = await serveStdio(secure.server);
  late.after(() => secure.start());
  await serving.closed;
  stopFollowing();
  await secure.stop();
  // A handler that does not listen to its signal must not keep the process from following its client.
  process.exit(await closed(audit));
}

async function closed(audit: AuditLog): Promise<number> {
  try {
    await audit.close();
    return ExitCode.Ok;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return ExitCode.Failed;
  }
}

function say(text: string): void {
  complain(`mcp-secure-local: ${text}`);
}
