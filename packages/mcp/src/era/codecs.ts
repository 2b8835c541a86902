// Makes the five codecs, once.
import type { Revision } from "../protocol/revisions/revision.js";
import { REVISIONS } from "../protocol/revisions/all.js";
import type { Codec } from "./codec.js";
import { HandshakeCodec } from "./handshake/codec.js";
import { StatelessCodec } from "./stateless/codec.js";

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
