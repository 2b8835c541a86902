// Reads what a server says of itself in the answer to `initialize` or `server/discover`.
import { invalidResponse } from "../era/invalid-response.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import type { Implementation } from "../protocol/implementation.js";
import { META } from "../protocol/meta.js";
import type { ServerFacts } from "./established.js";

const NOBODY: Implementation = { name: "unknown", version: "unknown" };

/** Throws INVALID_RESPONSE when the answer is none. */
export function discoveredFacts(result: JsonObject): ServerFacts {
  const { supportedVersions, _meta: meta } = result;
  if (!isStrings(supportedVersions)) throw invalidResponse("server/discover", "it lists no supportedVersions");
  // Drafts had the server's identity in the result itself.
  const info = isJsonObject(meta) && isJsonObject(meta[META.serverInfo]) ? meta[META.serverInfo] : result["serverInfo"];
  return { ...common("server/discover", result, info), offered: supportedVersions };
}

/** Throws INVALID_RESPONSE when the answer is none. */
export function initializedFacts(result: JsonObject): ServerFacts {
  return { ...common("initialize", result, result["serverInfo"]), offered: [] };
}

/** The versions an error names; undefined when it names none. */
export function supportedVersions(data: unknown): readonly string[] | undefined {
  const supported = isJsonObject(data) ? data["supported"] : undefined;
  return isStrings(supported) && supported.length > 0 ? supported : undefined;
}

function common(method: string, result: JsonObject, info: unknown): Omit<ServerFacts, "offered"> {
  const { instructions } = result;
  const declared = result["capabilities"] ?? {};
  if (!isJsonObject(declared)) throw invalidResponse(method, "its capabilities are no object");
  // Null is how some servers write what they do not have.
  const capabilities = Object.fromEntries(Object.entries(declared).filter(([, value]) => value !== null));
  return {
    server: isJsonObject(info) ? { ...NOBODY, ...info } : NOBODY,
    capabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
