// Makes the five codecs, once.
import type { Revision } from "../protocol/revisions/revision.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import type { ClientCodec, ClientIdentity, Codec, HeaderArgument } from "./codec.js";
import { HandshakeCodec } from "./handshake/codec.js";
import { StatelessCodec } from "./stateless/codec.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { HandshakeClientCodec } from "./handshake/client-codec.js";
import { StatelessClientCodec } from "./stateless/client-codec.js";
import { mirroredParams } from "./stateless/headers.js";

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

// Makes the codec of a client for one revision.

export function clientCodec(revision: Revision, identity: ClientIdentity): ClientCodec {
  return revision.era === "stateless"
    ? new StatelessClientCodec(revision, identity)
    : new HandshakeClientCodec(revision, identity);
}

/** The arguments a tool wants repeated in headers, or a sentence saying what makes it invalid over HTTP. */
export function mirrorsOf(inputSchema: JsonObject): readonly HeaderArgument[] | string {
  return mirroredParams(inputSchema);
}
