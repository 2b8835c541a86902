// Serves an AI client over stdin and stdout.
import { serveStdio } from "@secure-local/mcp/stdio";
import { AuditLog } from "../audit/audit-log.js";
import { loadPolicy } from "../policy/load-policy.js";
import { tracing } from "../observe/open-telemetry.js";
import { reloadOnHangup } from "../server/reload-on-hangup.js";
import { SecureServer } from "../server/secure-server.js";
import type { CommandLine } from "./command-line.js";
import { programVersion } from "./program-version.js";
import { auditFile, policyFile } from "./settings.js";
import { complain, ExitCode } from "./terminal.js";

/** Resolves when the client has gone. @throws PolicyError, AuditError before anything is served */
export async function serveCommand(line: CommandLine): Promise<number> {
  const file = policyFile(line);
  const policy = await loadPolicy(file);
  const audit = await AuditLog.open(auditFile(line, policy));
  const version = programVersion();
  const secure = new SecureServer({ policy, audit, version, say, around: await tracing(version, say) });
  secure.recordLife("start");
  const stopReloading = reloadOnHangup(secure, file, say);
  const serving = await serveStdio(secure.server);
  await serving.closed;
  stopReloading();
  secure.recordLife("stop");
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
