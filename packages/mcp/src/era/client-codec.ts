// Says how a client writes requests and reads answers in one revision: inside, everything has the shape of 2026-07-28.
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import type { LoggingLevel } from "../protocol/features/logging.js";
import type { Implementation } from "../protocol/implementation.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** Who the client is and what it can do, as its author said. */
export interface ClientIdentity {
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
  /** Headers of a message, for links that have headers. */
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
