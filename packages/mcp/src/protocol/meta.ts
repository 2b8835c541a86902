// Names what the specification defines, so that nobody types it by hand: the `_meta` keys, and the error codes MCP adds
// to those of JSON-RPC.
/** The open `_meta` object that requests, results, notifications and most list items may carry. */
export interface Meta {
  [key: string]: unknown;
}

/** Every `_meta` key with a meaning of its own (2026-07-28, except `relatedTask` and `immediateResponse`: 2025-11-25). */
export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
  relatedTask: "io.modelcontextprotocol/related-task",
  immediateResponse: "io.modelcontextprotocol/model-immediate-response",
  progressToken: "progressToken",
} as const;

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
