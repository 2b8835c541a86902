// Whole replies: JSON, refusals, and the empty ones.
import type { RequestId } from "../../jsonrpc/message.js";
import { failureText } from "../../jsonrpc/respond.js";
import type { RpcError } from "../../jsonrpc/rpc-error.js";
import type { HeaderList, HttpExchange } from "./exchange.js";

export const JSON_HEADERS: HeaderList = ["content-type", "application/json"];
const NO_HEADERS: HeaderList = [];
const CLOSING: HeaderList = ["content-type", "text/plain; charset=utf-8", "connection", "close"];

/** Says that a message was taken and gets no answer. */
export function accepted(exchange: HttpExchange): void {
  exchange.reply(202, NO_HEADERS);
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

/** Refuses a request without reading its body: the connection ends with the reply. */
export function turnAway(exchange: HttpExchange, status: number, text: string, headers: HeaderList = NO_HEADERS): void {
  exchange.reply(status, headers.length === 0 ? CLOSING : [...CLOSING, ...headers], text);
}
