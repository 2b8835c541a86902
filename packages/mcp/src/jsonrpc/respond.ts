// Writes messages as JSON text, from parts that are serialised already where they can be.
import type { ErrorObject, RequestId } from "./message.js";
import { errorMessage } from "./visible-text.js";

/** `resultJson` is the result, serialised already. */
export function successText(id: RequestId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"result":${resultJson}}`;
}

/** The same in pieces, for a result whose bytes are kept, or whose text is long. */
export function successPieces<T extends string | Uint8Array>(id: RequestId, resultJson: T): readonly (string | T)[] {
  return [`{"jsonrpc":"2.0","id":${idText(id)},"result":`, resultJson, "}"];
}

/** An `id` of undefined leaves the member out, null writes null: revisions differ in what an unreadable id becomes. */
export function failureText(id: RequestId | null | undefined, error: ErrorObject): string {
  const member = id === undefined ? "" : `"id":${id === null ? "null" : idText(id)},`;
  const message = errorMessage(error.message);
  const told = message === error.message ? error : { ...error, message };
  return `{"jsonrpc":"2.0",${member}"error":${JSON.stringify(told)}}`;
}

export function notificationText(method: string, params?: object): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${paramsMember(params)}}`;
}

export function requestText(id: RequestId, method: string, params?: object): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"method":${JSON.stringify(method)}${paramsMember(params)}}`;
}

function idText(id: RequestId): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}

function paramsMember(params: object | undefined): string {
  return params === undefined ? "" : `,"params":${JSON.stringify(params)}`;
}
