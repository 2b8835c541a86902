// Asks a server which era it speaks, and judges whatever comes of it.
import { clientCodec } from "../era/client-codecs.js";
import type { ClientIdentity } from "../era/client-codec.js";
import { LocalError } from "../jsonrpc/local-error.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { Conversation } from "./conversation.js";
import type { ServerFacts } from "./established.js";
import { discoveredFacts, supportedVersions } from "./facts.js";
import { statusOf } from "./status-error.js";
import type { Versions } from "./versions.js";

/** What asking told. */
export type Discovery =
  | { readonly era: "stateless"; readonly revision: Revision; readonly facts: ServerFacts }
  /** `offered`: what the server says it speaks, where it says so. */
  | { readonly era: "handshake"; readonly because: string; readonly offered: readonly string[] };

export interface DiscoverOptions {
  readonly versions: Versions;
  readonly identity: ClientIdentity;
  /** Milliseconds until the question itself is given up. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Rejects with INCOMPATIBLE when no revision is common, and with the link's error when that says nothing about the era
 * (401, 403, 5xx, refused, TIMEOUT).
 */
export async function discover(conversation: Conversation, options: DiscoverOptions): Promise<Discovery> {
  const { versions } = options;
  let revision = versions.newest("stateless") as Revision;
  for (let retried = false; ; retried = true) {
    try {
      return judged(await ask(conversation, revision, options), versions);
    } catch (error) {
      const offered = offeredBy(error);
      if (offered === undefined) return fallback(error, conversation);
      const mutual = versions.mutual("stateless", offered);
      // A server that names what was asked for may have refused the first request by rule: it is asked once more.
      if (mutual !== undefined && !retried) revision = mutual;
      else if (versions.mutual("handshake", offered) !== undefined) return legacy("it names older revisions", offered);
      else throw versions.incompatible(offered);
    }
  }
}

async function ask(
  conversation: Conversation,
  revision: Revision,
  { identity, timeoutMs, signal }: DiscoverOptions,
): Promise<{ revision: Revision; facts: ServerFacts }> {
  conversation.speak(clientCodec(revision, identity));
  const method = "server/discover";
  const result = await conversation.request({ method, timeoutMs, maxTimeoutMs: timeoutMs, signal });
  return { revision, facts: discoveredFacts(result) };
}

function judged({ revision, facts }: { revision: Revision; facts: ServerFacts }, versions: Versions): Discovery {
  const { offered } = facts;
  if (offered.includes(revision.date)) return { era: "stateless", revision, facts };
  const mutual = versions.mutual("stateless", offered);
  if (mutual !== undefined) return { era: "stateless", revision: mutual, facts };
  if (versions.mutual("handshake", offered) !== undefined) return legacy("it lists older revisions only", offered);
  throw versions.incompatible(offered);
}

/** Only -32022 with a list is evidence of the stateless era: a server of that era cannot answer this question otherwise. */
function offeredBy(error: unknown): readonly string[] | undefined {
  const isIt = error instanceof RpcError && error.code === McpErrorCode.UnsupportedProtocolVersion;
  return isIt ? supportedVersions(error.data) : undefined;
}

function fallback(error: unknown, conversation: Conversation): Discovery {
  const status = statusOf(error);
  if (status !== undefined && !saysNothingElse(status)) throw error;
  if (error instanceof RpcError) return legacy(`it answered with error ${error.code}`);
  if (!(error instanceof LocalError)) throw error;
  if (status !== undefined) return legacy(`it answered with HTTP status ${status}`);
  if (error.code === "INVALID_RESPONSE") return legacy("its answer was none");
  // Where the process is the server, one that ends at a method it does not know is an old one.
  if (conversation.link.kind === "stdio" && conversation.ended) return legacy("it ended at the question");
  throw error;
}

/** Whether a status may come from a server that does not know the method; all others say nothing about the era. */
export function saysNothingElse(status: number): boolean {
  if (status < 400) return true;
  return status < 500 && ![401, 403, 407, 408, 425, 429].includes(status);
}

function legacy(because: string, offered: readonly string[] = []): Discovery {
  return { era: "handshake", because, offered };
}
