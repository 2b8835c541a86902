// Chooses the era of each request. Only this file and those that make the codecs name both eras.
import {
  type JsonObject,
  type NotificationMessage,
  peerWords,
  quotedWords,
  type RequestMessage,
} from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { NEWEST_HANDSHAKE, REVISIONS, revision } from "../protocol/revisions/all.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { McpErrorCode, META } from "../protocol/meta.js";
import {
  INITIALIZE,
  type InitializeRequestParams,
  levelIndex,
  type LoggingLevel,
} from "../protocol/features/lifecycle.js";
import { checkedParams } from "../protocol/method.js";
import type { Codec } from "./codec.js";
import { HandshakeCodec } from "./handshake/codec.js";
import { StatelessCodec } from "./stateless/codec.js";

// Opens a handshake-era session: version negotiation and what the client said of itself.

/** What `initialize` settled. */
export interface Handshake {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly client: Implementation | undefined;
}

/**
 * Settles a handshake. A version we do not speak in this era is answered with our newest one: the client decides whether
 * to go on (basic/lifecycle, "Version Negotiation").
 */
function negotiate({ protocolVersion, capabilities, clientInfo: client }: InitializeRequestParams): Handshake {
  const asked = revision(protocolVersion);
  return {
    revision: asked?.era === "handshake" ? asked : NEWEST_HANDSHAKE,
    capabilities,
    client,
  };
}

// Reads the per-request envelope of the stateless era: version, capabilities, identity and log level in `params._meta`.

/** What a valid envelope says. */
interface Envelope {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly client: Implementation | undefined;
  readonly logLevel: LoggingLevel | undefined;
}

/** The request's `_meta` when it claims the stateless era: by a version, or by capabilities whose version was forgotten. */
export function claimOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?.["_meta"];
  if (typeof meta !== "object" || meta === null) return undefined;
  return META.protocolVersion in meta || META.clientCapabilities in meta ? meta : undefined;
}

/** Reads an envelope, or says what is wrong with it: -32602 for a missing or malformed key, -32022 for a version we do not serve this way. */
export function readEnvelope(meta: JsonObject): Envelope | RpcError {
  const version = meta[META.protocolVersion];
  if (version === undefined) return missingEnvelope();
  if (typeof version !== "string") return badKey(META.protocolVersion, "must be a string");
  const known = revision(version);
  if (known?.era !== "stateless") return unsupported(version);
  const capabilities = meta[META.clientCapabilities];
  if (!isObject(capabilities)) return badKey(META.clientCapabilities, "must be an object ({} when there are none)");
  const client = meta[META.clientInfo];
  if (client !== undefined && !isObject(client)) return badKey(META.clientInfo, "must be an object");
  const logLevel = meta[META.logLevel];
  if (logLevel !== undefined && levelIndex(logLevel) < 0) return badKey(META.logLevel, "must be a log level");
  return {
    revision: known,
    capabilities: capabilities,
    client: client as Implementation | undefined,
    logLevel: logLevel as LoggingLevel | undefined,
  };
}

/** -32602 for a request that needs an envelope and has none. */
export function missingEnvelope(): RpcError {
  return badKey(META.protocolVersion, "is missing");
}

function unsupported(requested: string): RpcError {
  const supported = REVISIONS.map((known) => known.date);
  return new RpcError(
    McpErrorCode.UnsupportedProtocolVersion,
    `Unsupported protocol version: ${peerWords(requested)}`,
    {
      supported,
      requested,
    },
  );
}

function badKey(key: string, constraint: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `params._meta["${key}"] ${constraint}`, {
    path: `/_meta/${key.replaceAll("/", "~1")}`,
    constraint,
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Makes the five codecs, once.

const CODECS: ReadonlyMap<Revision, Codec> = new Map(
  REVISIONS.map((revision) => [
    revision,
    revision.era === "stateless" ? new StatelessCodec(revision) : new HandshakeCodec(revision),
  ]),
);

/** The codec of one of the library's own revisions. */
export function codecFor(revision: Revision): Codec {
  const codec = CODECS.get(revision);
  if (codec === undefined) throw new TypeError(`There is no codec for ${revision.date}`);
  return codec;
}

// Which era a request belongs to.

/** How a request is to be served. */
export type Selection =
  | { readonly kind: "stateless"; readonly codec: Codec; readonly envelope: Envelope }
  | { readonly kind: "session" }
  | { readonly kind: "opening"; readonly codec: Codec }
  | { readonly kind: "refused"; readonly error: RpcError };

const SESSION: Selection = { kind: "session" };
const OPENING: Selection = { kind: "opening", codec: codecFor(NEWEST_HANDSHAKE) };

/** Whether there is a session, and whether a new one may take its place: a pipe may come to have another client behind it. */
export type SessionState = "none" | "replaceable" | "fixed";

/**
 * Judges one request by itself: an envelope claims the stateless era, `initialize` opens a session, and everything else
 * belongs to the session if there is one. `ping` is served at any time; `server/discover` alone pins nothing.
 */
export function select(message: RequestMessage, session: SessionState): Selection {
  const claim = claimOf(message.params);
  if (claim !== undefined) {
    const envelope = readEnvelope(claim);
    if (envelope instanceof RpcError) return refused(envelope);
    return { kind: "stateless", codec: codecFor(envelope.revision), envelope };
  }
  if (message.method === "initialize") {
    return session === "fixed"
      ? refused(new RpcError(ErrorCode.InvalidRequest, "This session is already initialized"))
      : OPENING;
  }
  if (session !== "none") return SESSION;
  if (message.method === "ping") return OPENING;
  if (message.method === "server/discover") return refused(missingEnvelope());
  const what = `Server not initialized: call "initialize" before ${quotedWords(message.method)}`;
  return refused(new RpcError(ErrorCode.InvalidRequest, what));
}

/** Settles the handshake that `initialize` asks for, or says with -32602 what is wrong with its params. */
export function openSession(params: JsonObject): Handshake | RpcError {
  const fault = INITIALIZE.check(params);
  if (fault === undefined) return negotiate(checkedParams(INITIALIZE, params));
  const { path, constraint, message } = fault;
  return new RpcError(ErrorCode.InvalidParams, message, { path, constraint });
}

/**
 * The revision of a message without a session: what its header says, or the oldest one that may leave the header out.
 * Undefined when the header names none of the handshake era.
 */
export function assumedRevision(header: string | undefined): Revision | undefined {
  const named = revision(header ?? "2025-03-26");
  return named?.era === "handshake" ? named : undefined;
}

/** Whether a version is of the era that needs no session. */
export function namesStateless(version: string): boolean {
  return revision(version)?.era === "stateless";
}

/** Whether a message claims the stateless era, which has no batches. */
export function claimsStateless(message: RequestMessage | NotificationMessage): boolean {
  return claimOf(message.params) !== undefined;
}

function refused(error: RpcError): Selection {
  return { kind: "refused", error };
}
