// What the raw client says about itself.

export const MODERN = "2026-07-28";
const CLIENT = { name: "raw", version: "1.0.0" };
export const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT };
const PREFIX = "io.modelcontextprotocol/";
export const ENVELOPE = {
  [`${PREFIX}protocolVersion`]: MODERN,
  [`${PREFIX}clientInfo`]: CLIENT,
  [`${PREFIX}clientCapabilities`]: {},
};
