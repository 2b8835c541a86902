// Opens a session: `initialize`, the version both speak, `notifications/initialized`.
import { clientCodec } from "../era/client-codecs.js";
import type { ClientIdentity } from "../era/client-codec.js";
import { invalidResponse } from "../era/invalid-response.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { JsonObject } from "../jsonrpc/message.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { Conversation } from "./conversation.js";
import type { ServerFacts } from "./established.js";
import { initializedFacts, supportedVersions } from "./facts.js";
import type { Versions } from "./versions.js";

export interface HandshakeOptions {
  readonly versions: Versions;
  readonly identity: ClientIdentity;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Revisions the server is known to speak; empty when nothing is known. */
  readonly offered: readonly string[];
}

export interface Opened {
  readonly revision: Revision;
  readonly facts: ServerFacts;
}

/** Rejects with INCOMPATIBLE, with what the server answered (RpcError), or with the link's error. */
export async function handshake(conversation: Conversation, options: HandshakeOptions): Promise<Opened> {
  const { versions, offered } = options;
  const newest = versions.mutual("handshake", offered) ?? versions.newest("handshake");
  if (newest === undefined) throw versions.incompatible(offered);
  const result = await initialize(conversation, newest, options);
  const revision = versions.find(result["protocolVersion"]);
  if (revision?.era !== "handshake") {
    const version = result["protocolVersion"];
    if (typeof version !== "string") throw invalidResponse("initialize", "it names no protocolVersion");
    throw versions.incompatible([version]);
  }
  const facts = initializedFacts(result);
  conversation.speak(clientCodec(revision, options.identity));
  conversation.notify("notifications/initialized");
  conversation.established();
  return { revision, facts };
}

// Some servers refuse a version they do not speak instead of answering with their own; they name those they do.
async function initialize(
  conversation: Conversation,
  newest: Revision,
  options: HandshakeOptions,
): Promise<JsonObject> {
  const { versions } = options;
  try {
    return await ask(conversation, newest, options);
  } catch (error) {
    const supported = error instanceof RpcError ? supportedVersions(error.data) : undefined;
    if (supported === undefined) throw error;
    const mutual = versions.mutual("handshake", supported);
    if (mutual === undefined) throw versions.incompatible(supported);
    return ask(conversation, mutual, options);
  }
}

function ask(
  conversation: Conversation,
  revision: Revision,
  { identity, timeoutMs, signal }: HandshakeOptions,
): Promise<JsonObject> {
  const codec = clientCodec(revision, identity);
  conversation.speak(codec);
  const { capabilities, clientInfo } = codec;
  const params = { protocolVersion: revision.date, capabilities, clientInfo };
  const times = { timeoutMs, maxTimeoutMs: timeoutMs, timeOption: "connectTimeoutMs" };
  return conversation.request({ method: "initialize", params, ...times, signal });
}
