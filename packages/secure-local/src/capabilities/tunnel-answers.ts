// What the two kinds of proxies say to a client that asked for a tunnel.
import { Buffer } from "node:buffer";
import { FetchError } from "./fetch-error.js";
import { replyBytes, SocksReply } from "./socks-request.js";

/** A refusal for people. */
export interface Refusal {
  /** With its number, as in `403 Forbidden`. */
  readonly status: string;
  readonly text: string;
}

export interface TunnelAnswers {
  readonly stands: Buffer;
  /** `stood`: whether it was told before that the tunnel stands. */
  readonly refused: (error: unknown, refusal: Refusal, stood: boolean) => Buffer;
}

export const HTTP_TUNNEL: TunnelAnswers = {
  stands: Buffer.from("HTTP/1.1 200 Connection established\r\n\r\n"),
  refused: (_error, { status, text }) =>
    Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${text}\n`),
};

/** A reply is given once: later there is nothing left but to close. */
export const SOCKS_TUNNEL: TunnelAnswers = {
  stands: replyBytes(SocksReply.Granted),
  refused: (error, _refusal, stood) => (stood ? Buffer.alloc(0) : replyBytes(codeOf(error))),
};

function codeOf(error: unknown): SocksReply {
  if (!(error instanceof FetchError)) return SocksReply.Failed;
  switch (error.code) {
    case "denied":
    case "not-public":
    case "bad-url":
      return SocksReply.NotAllowed;
    case "unresolvable":
      return SocksReply.HostUnreachable;
    case "connect":
      return SocksReply.Refused;
    default:
      return SocksReply.Failed;
  }
}
