// Chooses the era of each request. Only this file and those that make the codecs name both eras.
import { type JsonObject, quotedWords, type RequestMessage } from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { NEWEST_HANDSHAKE, REVISIONS, revision } from "../protocol/revisions/all.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { INITIALIZE, type InitializeRequestParams } from "../protocol/features/lifecycle.js";
import { checkedParams, claimOf } from "../protocol/method.js";
import type { Codec } from "./codec.js";
import { HandshakeCodec } from "./handshake/codec.js";
import { type Envelope, missingEnvelope, readEnvelope, statelessCodec } from "./stateless/codec.js";

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

// Makes the five codecs, once.

const CODECS: ReadonlyMap<Revision, Codec> = new Map(
  REVISIONS.map((revision) => [revision, statelessCodec(revision.date) ?? new HandshakeCodec(revision)]),
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
    return { kind: "stateless", codec: envelope.codec, envelope };
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

function refused(error: RpcError): Selection {
  return { kind: "refused", error };
}
