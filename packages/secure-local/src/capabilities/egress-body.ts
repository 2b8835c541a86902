// Gathers the body of a request that passes the proxy as far as secrets may have to be put in it.
import type { IncomingMessage } from "node:http";
import { Buffer } from "node:buffer";
import { FetchError } from "./fetch-error.js";
import { MAX_BODY_BYTES, type SecretExchange } from "./secret-exchange.js";

/** A body that secrets are put in is a form or a message: it is there at once, or its sender has stopped. */
const GATHER_MS = 30_000;

/** What is sent first. When it is not all of the body, the rest is passed on as it comes. */
export interface GatheredBody {
  readonly bytes: Buffer;
  readonly whole: boolean;
}

/**
 * The body with its secrets; undefined where none can be in it, and nothing was read. One that is too large goes as it is.
 *
 * @throws FetchError `denied` for a secret that may not be sent, `timeout`, `cancelled`
 */
export async function gatherBody(asked: IncomingMessage, secrets: SecretExchange): Promise<GatheredBody | undefined> {
  const { headers } = asked;
  const has = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  if (!has || !secrets.fills(headers)) return undefined;
  const { bytes, whole } = await read(asked);
  return { bytes: secrets.body(bytes, headers), whole };
}

function read(asked: IncomingMessage): Promise<GatheredBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        fail(new FetchError("timeout", `The body of the request did not come within ${GATHER_MS / 1_000} seconds.`)),
      GATHER_MS,
    );
    const settle = (): void => {
      clearTimeout(timer);
      asked.off("data", more).off("end", ended).off("close", gone).pause();
    };
    const fail = (error: FetchError): void => {
      settle();
      reject(error);
    };
    const done = (whole: boolean): void => {
      settle();
      resolve({ bytes: Buffer.concat(chunks, size), whole });
    };
    const more = (chunk: Buffer): void => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BODY_BYTES) done(false);
    };
    const ended = (): void => done(true);
    const gone = (): void => fail(new FetchError("cancelled", "The client went away."));
    // Stays: what breaks off later is told by the connection as well.
    asked.on("error", () => undefined);
    asked.on("data", more).once("end", ended).once("close", gone);
  });
}
