// Says how one revision writes: the one door through which neutral shapes leave.
import type { ErrorObject } from "../jsonrpc/message.js";
import type { RpcError } from "../jsonrpc/rpc-error.js";
import type { Implementation } from "../protocol/implementation.js";
import type { MethodRecord } from "../protocol/method.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** Five instances exist, one for each revision, made once. They keep no state and change none of their arguments. */
export interface Codec {
  readonly revision: Revision;
  /**
   * JSON text of a neutral result (2026-07-28 shape without `resultType`; a result that carries its own keeps it).
   * `identity` is the server's; the stateless era puts it into the result's `_meta`.
   */
  resultText(record: MethodRecord, result: object, identity: Implementation): string;
  /** The error as this revision numbers it. */
  error(error: RpcError): ErrorObject;
  /** Params of a notification from the server, or undefined when the revision lacks the notification. */
  notification(method: string, params: object): object | undefined;
  /**
   * Params of a question to the client (`elicitation/create`, `sampling/createMessage`, `roots/list`).
   * Throws a LocalError with code `NOT_EXPRESSIBLE` when the revision has no way to ask it.
   */
  serverRequest(method: string, params: object): object;
}
