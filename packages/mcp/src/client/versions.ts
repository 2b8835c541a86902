// Decides which revisions a client may speak, and which of them both sides do; and reads the errors of all of them as one.
import type { ClientCodec, ClientDescription, HeaderArgument } from "../era/codec.js";
import { HandshakeClientCodec, StatelessClientCodec } from "../era/client-codec.js";
import { mirroredParams } from "../era/stateless/headers.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { McpErrorCode } from "../protocol/meta.js";
import { revision as revisionOf, REVISIONS } from "../protocol/revisions/all.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** A revision of the protocol, for programs that examine other people's servers. */
export interface KnownRevision {
  /** Its name, as in `protocolVersion`. */
  readonly date: string;
  /** Whether it begins with `initialize`, or says everything in each request. */
  readonly era: "handshake" | "stateless";
  /** A server has to take JSON-RPC batches. */
  readonly batches: boolean;
  /** Over HTTP each request after the first says its revision in `MCP-Protocol-Version`. */
  readonly versionHeader: boolean;
  /** Code of the error for a resource that is not there. */
  readonly resourceNotFound: number;
}

/** The revisions this library speaks, newest first. */
export const KNOWN_REVISIONS: readonly KnownRevision[] = REVISIONS.map(({ date, era, rules }) => ({
  date,
  era,
  batches: rules.batches,
  versionHeader: rules.versionHeader,
  resourceNotFound: rules.resourceNotFound,
}));

/** The revisions a client may speak, newest first. */
export class Versions {
  readonly allowed: readonly Revision[];

  /** Throws UNKNOWN_REVISION, or INCOMPATIBLE when the pin is of another era than the one asked for. */
  constructor(options: { readonly revision?: string; readonly era?: "auto" | "handshake" | "stateless" }) {
    const { revision, era = "auto" } = options;
    const known = revision === undefined ? REVISIONS : [pinned(revision)];
    this.allowed = known.filter((each) => era === "auto" || each.era === era);
    if (this.allowed.length > 0) return;
    throw new LocalError(
      "INCOMPATIBLE",
      `Revision ${revision} is not of the ${era} era: leave one of the two options out.`,
    );
  }

  /** The newest one of an era. */
  newest(era: Revision["era"]): Revision | undefined {
    return this.allowed.find((each) => each.era === era);
  }

  /** The newest one of an era that is among `dates`. */
  mutual(era: Revision["era"], dates: readonly string[]): Revision | undefined {
    return this.allowed.find((each) => each.era === era && dates.includes(each.date));
  }

  /** The one with this date, if it may be spoken. */
  find(date: unknown): Revision | undefined {
    return this.allowed.find((each) => each.date === date);
  }

  /** INCOMPATIBLE, naming both sides' lists. */
  incompatible(theirs: readonly string[]): LocalError {
    const ours = this.allowed.map(({ date }) => date).join(", ");
    const spoken = theirs.length === 0 ? "none it names" : theirs.join(", ");
    const text = `There is no common revision: the server speaks ${spoken}; this client may speak ${ours}. Update the older side, or drop the pin.`;
    return new LocalError("INCOMPATIBLE", text);
  }
}

function pinned(date: string): Revision {
  const found = revisionOf(date);
  if (found !== undefined) return found;
  const known = REVISIONS.map((each) => each.date).join(", ");
  throw new LocalError("UNKNOWN_REVISION", `There is no revision "${date}". This client speaks ${known}.`);
}

// Remembers how a server spoke the last time, so that the next connection need not find out again.

/** What was found out about one target. */
export interface Verdict {
  readonly era: "handshake" | "stateless";
  /** Date of the revision agreed on. */
  readonly version: string;
  /** Whether only the fallback link (HTTP+SSE) reached it. */
  readonly fallback: boolean;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Where verdicts are kept, by target: a command line, a URL. May be a file shared by several programs. */
export interface VerdictStore {
  get(key: string): Verdict | undefined | Promise<Verdict | undefined>;
  set(key: string, verdict: Verdict): void | Promise<void>;
  delete(key: string): void | Promise<void>;
}

/** A gateway's worth of servers; each entry is a hundred bytes. */
const MOST_VERDICTS = 1_000;

/** Keeps verdicts in memory, the newest thousand. */
export class MemoryVerdicts implements VerdictStore {
  readonly #verdicts = new Map<string, Verdict>();

  get(key: string): Verdict | undefined {
    const verdict = this.#verdicts.get(key);
    if (verdict === undefined || verdict.expiresAt > Date.now()) return verdict;
    this.#verdicts.delete(key);
    return undefined;
  }

  set(key: string, verdict: Verdict): void {
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdict);
    if (this.#verdicts.size <= MOST_VERDICTS) return;
    const [oldest] = this.#verdicts.keys();
    if (oldest !== undefined) this.#verdicts.delete(oldest);
  }

  delete(key: string): void {
    this.#verdicts.delete(key);
  }
}

// Makes the codec of a client for one revision.

export function clientCodec(revision: Revision, identity: ClientDescription): ClientCodec {
  return revision.era === "stateless"
    ? new StatelessClientCodec(revision, identity)
    : new HandshakeClientCodec(revision, identity);
}

/** The arguments a tool wants repeated in headers, or a sentence saying what makes it invalid over HTTP. */
export function mirrorsOf(inputSchema: JsonObject): readonly HeaderArgument[] | string {
  return mirroredParams(inputSchema);
}

/** By method: codes other than -32602 that say "there is no such thing". */
const NOT_FOUND: Readonly<Record<string, readonly number[]>> = {
  "resources/read": [McpErrorCode.ResourceNotFound, -32001],
  "resources/subscribe": [McpErrorCode.ResourceNotFound, -32001],
  "tools/call": [-32002],
  "prompts/get": [-32003],
};

/**
 * The error with the code 2026-07-28 has for it. `data.originalCode` tells what the server sent where that was another;
 * an unknown resource has `data.uri`.
 */
export function readError(method: string, params: JsonObject | undefined, error: RpcError): RpcError {
  const { code, message, data } = error;
  if (NOT_FOUND[method]?.includes(code) !== true) return error;
  const given = isJsonObject(data) ? data : {};
  const uri = params?.["uri"];
  const about = typeof uri === "string" ? { uri } : {};
  return new RpcError(ErrorCode.InvalidParams, message, { ...about, ...given, originalCode: code });
}
