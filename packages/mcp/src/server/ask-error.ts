// The error of a question that got no usable answer: its words may be told to the peer.
import { LocalError } from "../jsonrpc/local-error.js";

/**
 * Codes: REFUSED (the client answered with an error; `cause` has it), TIMEOUT, EXPIRED, BAD_ANSWER, UNREACHABLE (no stream
 * could carry the question).
 */
export class AskError extends LocalError {
  override readonly name: string = "AskError";
}
