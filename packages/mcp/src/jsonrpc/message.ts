// The four shapes of a JSON-RPC 2.0 message, as they stand on the wire.
import { errorMessage } from "./visible-text.js";

/** A string or an integer within ±(2^53 − 1); never null. */
export type RequestId = string | number;

/** Whatever JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** An object as JSON has it: members are not checked yet. */
export interface JsonObject {
  [key: string]: unknown;
}

/** A message that wants one answer with its id (JSON-RPC 2.0, section 4). */
export interface RequestMessage {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: JsonObject;
}

/** A message that nobody answers (JSON-RPC 2.0, section 4.1). */
export interface NotificationMessage {
  jsonrpc: "2.0";
  method: string;
  params?: JsonObject;
}

/** The answer to a request that was served (JSON-RPC 2.0, section 5). */
export interface SuccessMessage {
  jsonrpc: "2.0";
  id: RequestId;
  result: JsonObject;
}

/** `id` is null or absent when the sender could not read the id of what it refuses. */
export interface FailureMessage {
  jsonrpc: "2.0";
  id?: RequestId | null;
  error: ErrorObject;
}

/** `code` is an integer. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Writes messages as JSON text, from parts that are serialised already where they can be.

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
  return `{"jsonrpc":"2.0",${member}"error":${jsonText(told)}}`;
}

export function notificationText(method: string, params?: object): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${paramsMember(params)}}`;
}

export function requestText(id: RequestId, method: string, params?: object): string {
  return `{"jsonrpc":"2.0","id":${idText(id)},"method":${JSON.stringify(method)}${paramsMember(params)}}`;
}

let write: ((value: unknown) => string) | undefined;

/** The text of what a message holds: as `JSON.stringify` writes it, unless somebody writes numbers by their own digits. */
export function jsonText(value: unknown): string {
  return write === undefined ? JSON.stringify(value) : write(value);
}

/** From now on `jsonText` writes so. */
export function writeBy(writer: (value: unknown) => string): void {
  write = writer;
}

function idText(id: RequestId): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}

function paramsMember(params: object | undefined): string {
  return params === undefined ? "" : `,"params":${jsonText(params)}`;
}

// What functions of an author may return: a value, or anything that gives one later.

/** A value, a promise, or anything else with a `then`: the query builders of Drizzle, Knex and Mongoose have one. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Whether a value has to be awaited. Only a promise may call its `then`, once: a query builder runs its query each time. */
export function isThenable<T>(value: Awaitable<T>): value is PromiseLike<T> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}
