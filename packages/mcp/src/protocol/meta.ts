// Names the `_meta` keys the specification defines, so that nobody types the prefix by hand.

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
