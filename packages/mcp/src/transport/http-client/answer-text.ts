// Tells from a text, mostly without parsing it, whether it is the answer to a request.
import { resolveLimits } from "../../jsonrpc/limits.js";
import { isJsonObject, type RequestId } from "../../jsonrpc/message.js";
import { parseJson } from "../../jsonrpc/parse.js";

/** Writes the id as it stands in a message: made once a request. */
export function idText(id: RequestId): string {
  return typeof id === "number" ? String(id) : JSON.stringify(id);
}

/**
 * Whether `text` holds the response to the request `id`, alone or in a batch. `written` is `idText(id)`. Texts as
 * servers commonly write them are recognised by their two ends; what looks unusual is parsed.
 */
export function answers(text: string, id: RequestId, written: string): boolean {
  const head = `{"jsonrpc":"2.0","id":${written},"`;
  if (text.startsWith(head)) {
    if (text.startsWith('result":', head.length) || text.startsWith('error":', head.length)) return true;
    if (text.startsWith('method":', head.length)) return false;
  }
  const tail = `,"id":${written}}`;
  if (text.endsWith(`,"jsonrpc":"2.0"${tail}`) || text.endsWith(tail)) {
    if (text.startsWith('{"result":') || text.startsWith('{"error":')) return true;
    if (text.startsWith('{"jsonrpc":"2.0","result":') || text.startsWith('{"jsonrpc":"2.0","error":')) return true;
  }
  // A notification is the commonest of all other messages.
  if (text.startsWith('{"jsonrpc":"2.0","method":') || text.startsWith('{"method":')) return false;
  return someResponse(text, (message) => message["id"] === id);
}

/** Whether `text` is a JSON-RPC response, whosever it is. */
export function isResponse(text: string): boolean {
  return someResponse(text, () => true);
}

/** Whether `text` is an error response with this code. */
export function isErrorWith(text: string, code: number): boolean {
  return someResponse(text, ({ error }) => isJsonObject(error) && error["code"] === code);
}

// Whether to read it is the receiver's decision: no limit but the one that keeps recursion safe. Its length is bounded already.
const MOST = Number.MAX_SAFE_INTEGER;
const LIMITS = resolveLimits({ messageBytes: MOST, values: MOST, members: MOST });

function someResponse(text: string, accepts: (message: Record<string, unknown>) => boolean): boolean {
  const value = parseJson(text, LIMITS);
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value];
  return messages.some(
    (message) =>
      isJsonObject(message) &&
      message["method"] === undefined &&
      (message["result"] !== undefined || isJsonObject(message["error"])) &&
      accepts(message),
  );
}
