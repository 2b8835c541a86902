// Reads the body of an answer: one content encoding undone, every byte counted before it is kept.
import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { Buffer } from "node:buffer";
import { FetchError } from "./fetch-error.js";

/** What `fetch` offers in `accept-encoding`, and all it undoes. */
export const ACCEPTED_ENCODINGS = "gzip, br";

/** Returns at most `maxBytes` bytes as sent and as decoded. @throws FetchError `too-large`, `encoding`, `broken` */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(response.headers["content-length"]);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const decoder = await decoderFor(response.headers["content-encoding"]);
  const chunks: Buffer[] = [];
  let size = 0;
  const source = decoder === undefined ? response : counted(response, maxBytes).pipe(decoder);
  if (decoder !== undefined) response.once("error", (error) => decoder.destroy(error));
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    response.destroy();
    if (error instanceof FetchError) throw error;
    throw new FetchError("broken", "The answer broke off or could not be decoded.");
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
}

/** Bytes on the wire are limited too: a decoder may swallow any amount without giving out one. */
function counted(response: IncomingMessage, maxBytes: number): IncomingMessage {
  let size = 0;
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) response.destroy(tooLarge(maxBytes));
  });
  return response;
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
