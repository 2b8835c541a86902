// Requests of 2026-07-28 as a fetch server gets them.

const MIO = "io.modelcontextprotocol/";

interface More {
  readonly headers?: Readonly<Record<string, string>>;
  /** What the client says that it can. Default: nothing. */
  readonly capabilities?: object;
  readonly signal?: AbortSignal;
}

/** A request with all that the revision wants of it, in the body and in its headers. */
export function fetchRequest(id: number, method: string, params: object, more: More = {}): Request {
  const { headers = {}, capabilities = {}, signal } = more;
  const _meta = { [`${MIO}protocolVersion`]: "2026-07-28", [`${MIO}clientCapabilities`]: capabilities };
  const { name } = params as { readonly name?: string };
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name === undefined ? {} : { "mcp-name": name }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }),
    ...(signal === undefined ? {} : { signal }),
  });
}
