// Chooses the era of each request: the only file that names both.
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { JsonObject, NotificationMessage, RequestMessage } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { NEWEST_HANDSHAKE, revision } from "../protocol/revisions/all.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { Codec } from "./codec.js";
import { codecFor } from "./codecs.js";
import { type Handshake, negotiate } from "./handshake/handshake.js";
import { claimOf, type Envelope, missingEnvelope, readEnvelope } from "./stateless/envelope.js";
import { quotedWords } from "../jsonrpc/visible-text.js";

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

/** Settles the handshake that `initialize` asks for. */
export function openSession(params: JsonObject): Handshake {
  return negotiate(params);
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
