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

// Checks the keys of `_meta` objects and says which are reserved.

const LABEL = /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;
const NAME = /^(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?$/;

/** Keys without a prefix that mean something: progress, and the W3C trace context (2026-07-28). */
const BARE_KEYS: ReadonlySet<string> = new Set(["progressToken", "traceparent", "tracestate", "baggage"]);

/** Says in one sentence what is wrong with a key, or returns undefined. A prefix is dot-separated labels and a slash. */
export function metaKeyFault(key: string): string | undefined {
  const slash = key.indexOf("/");
  const name = key.slice(slash + 1);
  if (
    slash >= 0 &&
    !key
      .slice(0, slash)
      .split(".")
      .every((label) => LABEL.test(label))
  ) {
    return `The prefix of the _meta key ${JSON.stringify(key)} must be labels joined by dots that start with a letter and end with a letter or digit`;
  }
  if (slash < 0 && name === "") return "A _meta key must not be empty";
  if (NAME.test(name)) return undefined;
  return `The name in the _meta key ${JSON.stringify(key)} must start and end with a letter or digit, with only letters, digits, "-", "_" and "." between`;
}

/** Says what is wrong with the first bad key of a `_meta` object, or returns undefined. */
export function metaFault(meta: Meta | undefined): string | undefined {
  for (const key of Object.keys(meta ?? {})) {
    const fault = metaKeyFault(key);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Whether the specification keeps a key for itself. 2025-06-18 reserves prefixes in which `mcp` or `modelcontextprotocol`
 * is followed by a further label; later revisions those whose second label is one of the two.
 */
export function isReservedMetaKey(
  key: string,
  { rules }: { readonly rules: { readonly metaReservation: string } },
): boolean {
  const slash = key.indexOf("/");
  if (slash < 0) return BARE_KEYS.has(key);
  if (rules.metaReservation === "second") return SECOND_IS_OURS.test(key);
  return key.slice(0, slash).split(".").slice(0, -1).some(isOurs);
}

/** Every `_meta` that is passed on is looked at, so nothing is taken apart for it. */
const SECOND_IS_OURS = /^[^./]*\.(?:mcp|modelcontextprotocol)[./]/;

function isOurs(label: string | undefined): boolean {
  return label === "mcp" || label === "modelcontextprotocol";
}
