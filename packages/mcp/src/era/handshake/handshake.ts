// Opens a handshake-era session: version negotiation and what the client said of itself.
import type { JsonObject } from "../../jsonrpc/message.js";
import type { ClientCapabilities } from "../../protocol/capabilities.js";
import type { Implementation } from "../../protocol/implementation.js";
import type { Revision } from "../../protocol/revisions/revision.js";
import { NEWEST_HANDSHAKE, revision } from "../../protocol/revisions/all.js";

/** What `initialize` settled. */
export interface Handshake {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly client: Implementation | undefined;
}

/**
 * Settles a handshake. A version we do not speak in this era is answered with our newest one: the client decides whether
 * to go on (basic/lifecycle, "Version Negotiation").
 */
export function negotiate(params: JsonObject): Handshake {
  const asked = revision(params["protocolVersion"] as string);
  return {
    revision: asked?.era === "handshake" ? asked : NEWEST_HANDSHAKE,
    capabilities: params["capabilities"] as ClientCapabilities,
    client: params["clientInfo"] as Implementation | undefined,
  };
}
