// The error of an answer that is valid JSON-RPC and still no answer to what was asked.
import { LocalError } from "../jsonrpc/local-error.js";

/** `what` completes the sentence: `its content is no array`. */
export function invalidResponse(method: string, what: string): LocalError {
  const text = `The server's answer to ${method} cannot be used: ${what}. This is a fault of the server; report it there.`;
  return new LocalError("INVALID_RESPONSE", text);
}
