// Says how one revision writes: the one door through which neutral shapes leave.
import type { ErrorObject, JsonObject, RequestId } from "../jsonrpc/message.js";
import type { RpcError } from "../jsonrpc/errors.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { MethodRecord } from "../protocol/method.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { Addressee } from "./project-result.js";
import type { LoggingLevel } from "../protocol/features/lifecycle.js";

/** Five instances exist, one for each revision, made once. They keep no state and change none of their arguments. */
export interface Codec extends Addressee {
  /**
   * JSON text of a neutral result (2026-07-28 shape without `resultType`; a result that carries its own keeps it).
   * `identity` is the server's; the stateless era puts it into the result's `_meta`.
   */
  resultText(record: MethodRecord, result: object, identity: Implementation): string;
  /** The same; in pieces where it holds texts so long that it would cost to join them. */
  resultPieces(record: MethodRecord, result: object, identity: Implementation): string | readonly string[];
  /** The error as this revision numbers it. */
  error(error: RpcError): ErrorObject;
  /** Params of a notification from the server, or undefined when the revision lacks the notification. */
  notification(method: string, params: object): object | undefined;
}

// Says how a client writes requests and reads answers in one revision: inside, everything has the shape of 2026-07-28.

/** Who the client is and what it can do, as its author said. */
export interface ClientDescription {
  readonly clientInfo: Implementation;
  readonly capabilities: ClientCapabilities;
}

/** What one request carries beside its params. */
export interface RequestExtras {
  readonly progressToken?: RequestId | undefined;
  readonly logLevel?: LoggingLevel | undefined;
  /** The request declares the tasks extension (stateless era). */
  readonly tasks?: boolean | undefined;
}

/** One argument that is repeated in a header, and where it is found. */
export interface HeaderArgument {
  readonly header: string;
  readonly path: readonly string[];
}

/** Keeps no state of the conversation and changes none of its arguments. */
export interface ClientCodec {
  readonly revision: Revision;
  /** The capabilities as this revision writes them. */
  readonly capabilities: ClientCapabilities;
  /** The client's identity as this revision writes it. */
  readonly clientInfo: object;
  /** JSON text of a request's params; undefined when it has none. */
  paramsText(params: object | undefined, extras: RequestExtras | undefined): string | undefined;
  /** Headers of a message, for transports that have headers. */
  headers(
    method: string,
    params: JsonObject | undefined,
    mirrored?: readonly HeaderArgument[],
  ): Readonly<Record<string, string>>;
  /** The neutral result. Throws a LocalError with code INVALID_RESPONSE that names what is wrong with it. */
  readResult(method: string, result: JsonObject): JsonObject;
  /** The answer to a question of the server, as this revision writes it. */
  answer(method: string, result: object): object;
}
