// Whole replies: JSON, refusals, and the empty ones.
import { failureText, type RequestId } from "../../jsonrpc/message.js";
import type { RpcError } from "../../jsonrpc/errors.js";
import { McpErrorCode } from "../../protocol/error-codes.js";
import { EVENT_STREAM_HEADERS } from "./event-stream.js";
import type { HeaderList, HttpExchange } from "./exchange.js";

export const JSON_HEADERS: HeaderList = ["content-type", "application/json"];
const NO_HEADERS: HeaderList = [];
/** Seconds: what is being served now makes room within moments. */
const SOON: HeaderList = ["retry-after", "1"];
const CLOSING: HeaderList = ["content-type", "text/plain; charset=utf-8", "connection", "close"];

/** Says no to a request: the status, its headers, and a text for a person. */
export interface HttpRefusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text?: string;
}

/** Names and values of a record as replies want them. */
export function headerList(headers: Readonly<Record<string, string>> = {}): HeaderList {
  return Object.entries(headers).flat();
}

/** Says that a message was taken and gets no answer. */
export function accepted(exchange: HttpExchange): void {
  exchange.reply(202, NO_HEADERS);
}

/**
 * Ends the reply to a request that was cancelled. It has to be of one of the two types of answers (basic/transports, "Sending
 * Messages to the Server"): a stream without a message, or an error for who reads no streams.
 */
export function cancelled(exchange: HttpExchange, headers: HeaderList): void {
  if (readsStreams(exchange)) return exchange.reply(200, [...EVENT_STREAM_HEADERS, ...headers], ": cancelled\n\n");
  const error = { code: McpErrorCode.RequestCancelled, message: "Request cancelled" };
  exchange.reply(200, [...JSON_HEADERS, ...headers], failureText(undefined, error));
}

/** Whether a client can read a stream: one that says nothing of it can, as the specification asks. */
export function readsStreams(exchange: HttpExchange): boolean {
  const accept = exchange.header("accept");
  return accept === undefined || accept.includes("text/event-stream") || accept.includes("*/*");
}

/** Whether a client takes its answers in streams alone. */
export function readsOnlyStreams(exchange: HttpExchange): boolean {
  const accept = exchange.header("accept");
  if (accept === undefined || accept.includes("application/json")) return false;
  return accept.includes("text/event-stream") && !accept.includes("*/*") && !accept.includes("application/*");
}

/** Refuses a message that was read, as a JSON-RPC error. */
export function refuseMessage(
  exchange: HttpExchange,
  status: number,
  error: RpcError,
  about: { readonly id?: RequestId | null | undefined; readonly headers?: HeaderList } = {},
): void {
  const headers = about.headers === undefined ? JSON_HEADERS : [...JSON_HEADERS, ...about.headers];
  exchange.reply(status, headers, failureText(about.id, error.toObject()));
}

/** Refuses a request whose body was read or has none. */
export function refuse(exchange: HttpExchange, status: number, text: string, headers: HeaderList = NO_HEADERS): void {
  exchange.reply(status, ["content-type", "text/plain; charset=utf-8", ...headers], text);
}

/** Refuses a request whose body was read, in the words of a hook. */
export function refuseAs(exchange: HttpExchange, { status, headers, text = "" }: HttpRefusal): void {
  refuse(exchange, status, text, headerList(headers));
}

/** Refuses a request without reading its body: the connection ends with the reply. */
export function turnAway(exchange: HttpExchange, status: number, text: string, headers: HeaderList = NO_HEADERS): void {
  exchange.reply(status, headers.length === 0 ? CLOSING : [...CLOSING, ...headers], text);
}

/** Refuses a request for whose body there is no room while others are served. */
export function turnAwayForNow(exchange: HttpExchange): void {
  turnAway(exchange, 503, "There is no room for so large a request now: try again later", SOON);
}
