// What is known of a server once it is settled how to speak to it.
import type { Implementation, ServerCapabilities } from "../protocol/capabilities.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { Conversation } from "./conversation.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject, peerWords } from "../jsonrpc/message.js";
import { invalidResponse } from "../era/read-result.js";
import { META } from "../protocol/meta.js";

/** What a server says of itself. */
export interface ServerFacts {
  readonly server: Implementation;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** Revisions it says it speaks, where it says so. */
  readonly offered: readonly string[];
}

export interface Established extends ServerFacts {
  readonly conversation: Conversation;
  readonly revision: Revision;
}

// The error of a connection that could not be made: what was tried, what came of each, and what to do.

/** One thing that was tried on the way. */
export interface Attempt {
  /** `server/discover over http`. */
  readonly what: string;
  /** What came of it, in one sentence. */
  readonly outcome: string;
}

/**
 * `code` is that of the transport's error (SPAWN_FAILED, EXITED, TIMEOUT, HTTP_STATUS, UNAUTHORIZED, FORBIDDEN …), or
 * - `INCOMPATIBLE`: the two sides have no revision in common,
 * - `NOT_SUPPORTED`: something in `require` is missing,
 * - `REFUSED`: the server answered the handshake with an error,
 * - `INVALID_RESPONSE`: its answer to the handshake cannot be used.
 */
export class ConnectError extends LocalError {
  override readonly name = "ConnectError";
  readonly attempts: readonly Attempt[];
  /** HTTP status, when that was what failed. */
  readonly status: number | undefined;

  constructor(
    code: string,
    message: string,
    about: { attempts: readonly Attempt[]; cause?: unknown; status?: number | undefined },
  ) {
    super(code, message, { cause: about.cause });
    this.attempts = about.attempts;
    this.status = about.status;
  }
}

/** The word for an error on the way. */
export function codeOf(error: unknown): string {
  if (error instanceof LocalError) return error.code;
  return error instanceof RpcError ? "REFUSED" : "FAILED";
}

/** One sentence for what came of an attempt. */
export function outcomeText(error: unknown): string {
  if (error instanceof RpcError) return `answered with error ${error.code}: ${peerWords(error.message)}`;
  return error instanceof Error ? error.message : String(error);
}

// Reads what a server says of itself in the answer to `initialize` or `server/discover`.

const NOBODY: Implementation = { name: "unknown", version: "unknown" };

/** Throws INVALID_RESPONSE when the answer is none. */
export function discoveredFacts(result: JsonObject): ServerFacts {
  const { supportedVersions, _meta: meta } = result;
  if (!isStrings(supportedVersions)) throw invalidResponse("server/discover", "it lists no supportedVersions");
  // Drafts had the server's identity in the result itself.
  const info = isJsonObject(meta) && isJsonObject(meta[META.serverInfo]) ? meta[META.serverInfo] : result["serverInfo"];
  return { ...common("server/discover", result, info), offered: supportedVersions };
}

/** Throws INVALID_RESPONSE when the answer is none. */
export function initializedFacts(result: JsonObject): ServerFacts {
  return { ...common("initialize", result, result["serverInfo"]), offered: [] };
}

/** The versions an error names; undefined when it names none. */
export function supportedVersions(data: unknown): readonly string[] | undefined {
  const supported = isJsonObject(data) ? data["supported"] : undefined;
  return isStrings(supported) && supported.length > 0 ? supported : undefined;
}

function common(method: string, result: JsonObject, info: unknown): Omit<ServerFacts, "offered"> {
  const { instructions } = result;
  const declared = result["capabilities"] ?? {};
  if (!isJsonObject(declared)) throw invalidResponse(method, "its capabilities are no object");
  // Null is how some servers write what they do not have.
  const capabilities = Object.fromEntries(Object.entries(declared).filter(([, value]) => value !== null));
  return {
    server: isJsonObject(info) ? { ...NOBODY, ...info } : NOBODY,
    capabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
