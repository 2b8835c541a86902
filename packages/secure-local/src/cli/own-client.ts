// Connects a command to the server this program is itself: through the same guard, log and policy that a client's calls pass.
import { type Client, connect, type NodeConnectOptions } from "@secure-local/mcp/client/node";
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import { DEFAULT_MENU, type Policy } from "../policy/policy.js";
import { loadPolicy } from "../policy/load-policy.js";
import { SecureServer } from "../server/secure-server.js";
import type { CommandLine } from "./command-line.js";
import { ownTerminalChannel } from "./approval-channels.js";
import { openAudit } from "./open-audit.js";
import { ownPlaces, pluginFolders, policyFile, programVersion } from "./settings.js";
import { startPlugins } from "./started-plugins.js";
import { complain } from "./terminal.js";

/** The policy's time limits hold; this one is only there so that something does. */
const LONGEST_MS = 86_400_000;
/** Milliseconds that a call which was interrupted may take to clean up. */
const CLEANUP_MS = 5_000;

/** Runs a command on it, and leaves nothing behind, interrupted or not. @throws PolicyError, AuditError */
export async function withOwnServer(
  line: CommandLine,
  {
    client: options,
    needsPlugins,
  }: { readonly client: NodeConnectOptions; readonly needsPlugins: (secure: SecureServer) => boolean },
  work: (client: Client) => Promise<number>,
): Promise<number> {
  // A person names the tool: all of them stand in the list, with what they take.
  const loaded = { ...(await loadPolicy(policyFile(line), line.profile)), menu: DEFAULT_MENU };
  const policy = options.elicit === undefined ? loaded : askedAtTerminal(loaded);
  const audit = new SettledAudit(await openAudit(line, policy, complain));
  const kept = { own: ownPlaces(line), ...pluginFolders(), channel: ownTerminalChannel() };
  const told = { say: complain, tellPrinted: line.debug };
  const secure = new SecureServer({ policy, audit, version: programVersion(), ...told, ...kept });
  const plugins = policy.plugins.load.size + policy.servers.size > 0 && needsPlugins(secure);
  try {
    if (plugins) await startPlugins(secure);
    const client = await connect(secure.server, { ...options, timeoutMs: LONGEST_MS, maxTimeoutMs: LONGEST_MS });
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  } finally {
    await audit.settled(CLEANUP_MS);
    if (plugins) await secure.stop();
    await audit.close();
  }
}

/** A person at the terminal is asked by the guard itself: two ways to the same person are one too many. */
function askedAtTerminal(policy: Policy): Policy {
  const approvals = policy.approvals.map((each) => {
    const { answerBy } = each;
    return answerBy.has("terminal")
      ? { ...each, answerBy: new Set([...answerBy].filter((by) => by !== "client")) }
      : each;
  });
  return { ...policy, approvals };
}

/** A log that knows which calls have begun and not ended: a handler that was interrupted removes what it had begun. */
class SettledAudit implements AuditSink {
  readonly #log: AuditSink;
  #open = 0;
  #none: (() => void) | undefined;

  constructor(log: AuditSink) {
    this.#log = log;
  }

  get failure(): Error | undefined {
    return this.#log.failure;
  }

  record(event: AuditEvent): Promise<void> {
    if (event.kind === "call.intent") this.#open += 1;
    if (event.kind === "call.result" && (this.#open -= 1) === 0) this.#none?.();
    return this.#log.record(event);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  /** Resolves when every call has ended, or after so many milliseconds. */
  async settled(ms: number): Promise<void> {
    if (this.#open === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#none = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }
}
