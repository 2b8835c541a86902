// `mcp-secure-local serve`: serves AI clients over HTTP until it is told to stop.
import type { HttpServing } from "@secure-local/mcp/http";
import type { AuditLog } from "../audit/audit-log.js";
import { Metrics } from "../observe/metrics.js";
import { telemetry } from "../observe/open-telemetry.js";
import { loadPolicy } from "../policy/load-policy.js";
import { httpOptions } from "../server/http-options.js";
import { followPolicyFile } from "../server/follow-policy-file.js";
import { memoryLimit } from "../server/http-room.js";
import { MemoryGate } from "../server/memory-gate.js";
import { suitEngine } from "../server/engine.js";
import { MemoryWatch } from "../server/memory-watch.js";
import { SecureServer } from "../server/secure-server.js";
import type { CommandLine } from "./command-line.js";
import { approveDesk } from "./desks.js";
import { auditKeeper, logPlaces, openAudit } from "./open-audit.js";
import { programVersion } from "./program-version.js";
import { listen } from "./serve-http-listen.js";
import { isLoopback, type ServeSettings, serveSettings } from "./serve-http-settings.js";
import { keptToken } from "./serve-http-token.js";
import { serveWelcome } from "./serve-http-welcome.js";
import { ownPlaces, pluginFolders, policyFile, tokenFile } from "./settings.js";
import { complain, ExitCode, print, styled } from "./terminal.js";

/** Milliseconds from the signal to the end, whatever still runs: what supervisors wait before they kill. */
const DEADLINE_MS = 30_000;

/** Resolves when the server was told to stop and has. @throws UsageError, PolicyError, AuditError, ServeError */
export async function serveHttpCommand(line: CommandLine): Promise<number> {
  const settings = serveSettings(line);
  const file = policyFile(line);
  const policy = await loadPolicy(file);
  const token = settings.auth ? keptToken(tokenFile()) : undefined;
  const version = programVersion();
  const metrics = new Metrics(version);
  const onRefused = (): void => void (metrics.shed += 1);
  const gate = new MemoryGate({ watch: new MemoryWatch({ limit: memoryLimit() }), onRefused });
  outliveReaders();
  const audit = await openAudit(line, policy, say);
  const observed = { audit: metrics.listenTo(audit), telemetry: await telemetry(version, say) };
  const kept = { own: [...ownPlaces(line), ...logPlaces(line, policy)], ...pluginFolders() };
  const secure = new SecureServer({
    policy,
    version,
    say,
    ...kept,
    desk: approveDesk(say),
    ...observed,
    admit: gate.middleware,
  });
  metrics.plugins = () => secure.pluginHealth();
  suitEngine();
  const serving = await begin({ settings, token, audit, secure, metrics, gate });
  secure.start();
  const stopFollowing = followPolicyFile(secure, file, { say, adopt: auditKeeper(audit, line, { policy, say }) });
  announce(settings, serving, token);
  await serving.closed;
  stopFollowing();
  metrics.close();
  await secure.stop();
  await audit.close();
  // A handler that does not listen to its signal must not keep the process from ending.
  process.exit(ExitCode.Ok);
}

interface Parts {
  readonly settings: ServeSettings;
  readonly token: string | undefined;
  readonly audit: AuditLog;
  readonly secure: SecureServer;
  readonly metrics: Metrics;
  readonly gate: MemoryGate;
}

async function begin({ settings, token, audit, secure, metrics, gate }: Parts): Promise<HttpServing> {
  let serving: HttpServing | undefined;
  const { sse, perSecond, origins } = settings;
  const options = httpOptions({ sse, perSecond, origins, token, audit, metrics, gate, serving: () => serving! });
  try {
    serving = await listen(secure.server, settings, options);
  } catch (error) {
    await audit.close();
    throw error;
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => drain(signal));
  return serving;
}

/** The library has begun to drain at the same signal, and ends at once at a second one. */
function drain(signal: string): void {
  say(`${signal}: no new requests are taken, what runs may finish; once more ends at once`);
  setTimeout(() => process.exit(ExitCode.Failed), DEADLINE_MS).unref();
}

function announce(settings: ServeSettings, { url }: HttpServing, token: string | undefined): void {
  const { socketPath, sse, host, quiet } = settings;
  if (!quiet) print(serveWelcome({ url, socketPath, token, tokenFile: tokenFile(), sse }));
  say(`serving at ${socketPath ?? url}`);
  if (token === undefined) {
    const who = socketPath === undefined ? "every program on this machine" : "every program of yours";
    warn(`--no-auth: ${who} may call this server without a token`);
  }
  if (socketPath === undefined && !isLoopback(host)) {
    warn(`${host} is reached from other machines, and the token goes there unencrypted: put a TLS proxy in front`);
  }
}

/** A terminal or log that goes away must not take the server with it. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

function say(text: string): void {
  complain(`mcp-secure-local: ${text}`);
}

function warn(text: string): void {
  complain(styled("red", `mcp-secure-local: WARNING: ${text}`, "stderr"));
}
