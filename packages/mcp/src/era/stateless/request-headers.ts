// Writes the headers of 2026-07-28 that repeat the body.
import type { JsonObject } from "../../jsonrpc/message.js";
import type { HeaderArgument } from "../client-codec.js";
import { encodeHeader } from "./header-value.js";
import { NAMED, valueAt } from "./headers.js";

export interface HeaderSource {
  readonly version: string;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Arguments of the tool that is called which want a header of their own. */
  readonly mirrored?: readonly HeaderArgument[] | undefined;
}

/** By lower-case name. */
export function requestHeaders({ version, method, params, mirrored }: HeaderSource): Record<string, string> {
  const headers: Record<string, string> = { "mcp-protocol-version": version, "mcp-method": method };
  const member = NAMED[method];
  const name = member === undefined ? undefined : params?.[member];
  if (typeof name === "string") headers["mcp-name"] = encodeHeader(name);
  if (mirrored === undefined) return headers;
  for (const { header, path } of mirrored) {
    const value = valueAt(params?.["arguments"], path);
    if (typeof value === "string") headers[header] = encodeHeader(value);
    else if (typeof value === "number" || typeof value === "boolean") headers[header] = String(value);
  }
  return headers;
}
