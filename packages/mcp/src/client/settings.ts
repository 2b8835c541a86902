// Fills in the defaults of a client's options, once.
import type { ClientIdentity } from "../era/client-codec.js";
import { CLIENT_LIMITS, type JsonRpcLimits, resolveLimits } from "../jsonrpc/limits.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import type { ClientOptions } from "./connect-options.js";
import { MemoryVerdicts, type VerdictStore } from "./verdicts.js";
import { Versions } from "./versions.js";

export interface Settings {
  readonly identity: ClientIdentity;
  readonly versions: Versions;
  readonly limits: JsonRpcLimits;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly verdicts: VerdictStore | undefined;
  readonly validateOutput: "strict" | "warn" | "off";
}

const SHARED_VERDICTS = new MemoryVerdicts();

/** Throws a RangeError for a limit or a time that makes no sense, UNKNOWN_REVISION and INCOMPATIBLE for the pins. */
export function settingsOf(options: ClientOptions): Settings {
  const { timeoutMs = 60_000, maxTimeoutMs = Math.max(600_000, timeoutMs) } = options;
  const { probeTimeoutMs = 1_500, connectTimeoutMs = 60_000 } = options;
  for (const [name, value] of Object.entries({ timeoutMs, maxTimeoutMs, probeTimeoutMs, connectTimeoutMs })) {
    if (!(value > 0)) throw new RangeError(`${name} must be a positive number of milliseconds, not ${value}`);
  }
  const { clientInfo = { name: "mcp-client", version: "1.0.0" } } = options;
  return {
    identity: { clientInfo, capabilities: capabilitiesOf(options) },
    versions: new Versions(options),
    limits: resolveLimits(options.limits, CLIENT_LIMITS),
    timeoutMs,
    maxTimeoutMs,
    probeTimeoutMs,
    connectTimeoutMs,
    verdicts: options.verdicts === false ? undefined : (options.verdicts ?? SHARED_VERDICTS),
    validateOutput: options.validateOutput ?? "strict",
  };
}

// What nobody answers is not declared, whatever the options say: a server would wait for the answer.
function capabilitiesOf({ capabilities = {}, elicit, sample, roots }: ClientOptions): ClientCapabilities {
  const { elicitation, sampling, roots: declaredRoots, ...rest } = capabilities;
  const declared: ClientCapabilities = { ...rest };
  if (elicit !== undefined) declared.elicitation = elicitation ?? { form: {} };
  if (sample !== undefined) declared.sampling = sampling ?? {};
  if (roots !== undefined) declared.roots = declaredRoots ?? { listChanged: true };
  return declared;
}
