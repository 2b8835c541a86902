// Names the error codes MCP adds to those of JSON-RPC.

/** MCP's own error codes; the comment beside each says which revisions may send it. */
export const McpErrorCode = {
  /** Up to 2025-11-25, with `data.uri`; 2026-07-28 uses -32602 with `data.uri`. */
  ResourceNotFound: -32002,
  /** 2025-11-25 only, with `data.elicitations`. */
  UrlElicitationRequired: -32042,
  /** 2026-07-28, HTTP only. */
  HeaderMismatch: -32020,
  /** 2026-07-28, with `data.requiredCapabilities` (a capabilities object). */
  MissingRequiredClientCapability: -32021,
  /** 2026-07-28, with `data.supported` and `data.requested`. */
  UnsupportedProtocolVersion: -32022,
  /** Answers a cancellation that came as `$/cancelRequest`, and nothing else. */
  RequestCancelled: -32800,
  /** Up to 2025-11-25: a person refused a sampling request. */
  SamplingRejected: -1,
} as const;
