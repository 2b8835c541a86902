// Chooses the HTTP status of an error: the one table from JSON-RPC's codes to statuses.
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import { McpErrorCode } from "../../protocol/error-codes.js";

/** In sessions only what never became a valid message is the request's fault; all else was served. */
const HANDSHAKE: Readonly<Record<number, number>> = {
  [ErrorCode.ParseError]: 400,
  [ErrorCode.InvalidRequest]: 400,
};

/** In the stateless era, for requests that passed the header ladder: whose own refusals are always 400. */
const STATELESS: Readonly<Record<number, number>> = {
  [ErrorCode.MethodNotFound]: 404,
  [McpErrorCode.MissingRequiredClientCapability]: 400,
};

/** The status of a response; `code` is undefined for a success. */
export function handshakeStatus(code: number | undefined): number {
  return code === undefined ? 200 : (HANDSHAKE[code] ?? 200);
}

/** The status of a response; `code` is undefined for a success. */
export function statelessStatus(code: number | undefined): number {
  return code === undefined ? 200 : (STATELESS[code] ?? 200);
}
