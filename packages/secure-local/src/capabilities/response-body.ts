// Reads the body of an answer: one content encoding undone, every byte counted before it is kept.
import type { IncomingMessage } from "node:http";
import { PassThrough, type Transform } from "node:stream";
import { Buffer } from "node:buffer";
import { FetchError } from "./fetch-error.js";

/** What `fetch` offers in `accept-encoding`, and all it undoes. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** What a body may be decoded to, as a multiple of what was sent; honest pages are a tenth of it. */
const MAX_RATIO = 100;
/** Bytes that may be decoded whatever was sent: repetitive pages of this size are honest. */
const RATIO_FREE = 262_144;
/** Pieces one body may come in: each costs as much as a hundred bytes. */
const MAX_PIECES = 100_000;

/**
 * Returns at most `maxBytes` bytes as sent and as decoded.
 *
 * @throws FetchError `too-large`, also for what is decoded to more than a hundred times its size; `encoding`, `broken`
 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(response.headers["content-length"]);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const decoder = (await decoderFor(response.headers["content-encoding"])) ?? new PassThrough();
  const sent = counted(response, maxBytes);
  response.once("error", (error) => decoder.destroy(error));
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response.pipe(decoder) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      if (size > RATIO_FREE && size > sent.bytes * MAX_RATIO) throw bomb();
      chunks.push(chunk);
    }
  } catch (error) {
    response.destroy();
    if (error instanceof FetchError) throw error;
    throw new FetchError("broken", "The answer broke off or could not be decoded.");
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
}

/** Bytes on the wire are limited too: a decoder may swallow any amount without giving out one. So are their pieces. */
function counted(response: IncomingMessage, maxBytes: number): { readonly bytes: number } {
  const sent = { bytes: 0 };
  let pieces = 0;
  response.on("data", (chunk: Buffer) => {
    sent.bytes += chunk.length;
    pieces += 1;
    if (sent.bytes > maxBytes) response.destroy(tooLarge(maxBytes));
    else if (pieces > MAX_PIECES) response.destroy(new FetchError("too-large", "The answer comes in too many pieces."));
  });
  return sent;
}

function bomb(): FetchError {
  return new FetchError("too-large", `The answer is decoded to more than ${MAX_RATIO} times its size.`);
}

async function decoderFor(encoding: string | undefined): Promise<Transform | undefined> {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return undefined;
  const zlib = await import("node:zlib");
  switch (name) {
    case "gzip":
    case "x-gzip":
      return zlib.createGunzip();
    case "br":
      return zlib.createBrotliDecompress();
    default:
      throw new FetchError("encoding", "The answer has a content encoding that was not asked for.");
  }
}

function tooLarge(maxBytes: number): FetchError {
  return new FetchError("too-large", `The answer is larger than ${maxBytes} bytes.`);
}
