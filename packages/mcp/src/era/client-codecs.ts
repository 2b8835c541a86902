// Makes the codec of a client for one revision.
import type { JsonObject } from "../jsonrpc/message.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { ClientCodec, ClientDescription, HeaderArgument } from "./codec.js";
import { HandshakeClientCodec } from "./handshake/client-codec.js";
import { StatelessClientCodec } from "./stateless/client-codec.js";
import { mirroredParams } from "./stateless/headers.js";

export function clientCodec(revision: Revision, identity: ClientDescription): ClientCodec {
  return revision.era === "stateless"
    ? new StatelessClientCodec(revision, identity)
    : new HandshakeClientCodec(revision, identity);
}

/** The arguments a tool wants repeated in headers, or a sentence saying what makes it invalid over HTTP. */
export function mirrorsOf(inputSchema: JsonObject): readonly HeaderArgument[] | string {
  return mirroredParams(inputSchema);
}
