// Writes MCP requests over HTTP as text that is ready for the wire, for the handshake era and for 2026-07-28.

export const LEGACY = "2025-11-25";
export const MODERN = "2026-07-28";
const BOTH = "application/json, text/event-stream";
const META_PREFIX = "io.modelcontextprotocol/";
const CLIENT = { name: "bench", version: "1.0.0" };
const ENVELOPE = {
  [`${META_PREFIX}protocolVersion`]: MODERN,
  [`${META_PREFIX}clientInfo`]: CLIENT,
  [`${META_PREFIX}clientCapabilities`]: {},
};

/** One client of the server at `port`: knows its headers, and its session once it has one. */
export class Requests {
  #head;
  #modern;

  /** `token` and `accept` go into every request; `modern` speaks 2026-07-28. */
  constructor({ port, path = "/mcp", token, accept = BOTH, modern = false }) {
    this.#modern = modern;
    this.#head =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n` +
      `Accept: ${accept}\r\n` +
      (token === undefined ? "" : `Authorization: Bearer ${token}\r\n`) +
      (modern ? `MCP-Protocol-Version: ${MODERN}\r\n` : "");
  }

  /** The handshake of the newest revision that has one. */
  initialize() {
    const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT };
    return this.#wrap({ jsonrpc: "2.0", id: "init", method: "initialize", params });
  }

  /** From now on requests name the session (none: undefined) and the revision the server chose. */
  joined(session, version) {
    this.#head += `MCP-Protocol-Version: ${version}\r\n`;
    if (session !== undefined) this.#head += `Mcp-Session-Id: ${session}\r\n`;
  }

  notification(method, params) {
    return this.#wrap({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  request(id, method, params = {}, extra = "") {
    if (!this.#modern) return this.#wrap({ jsonrpc: "2.0", id, method, params }, extra);
    const name = params.name === undefined ? "" : `Mcp-Name: ${params.name}\r\n`;
    const message = { jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...ENVELOPE, ...params._meta } } };
    return this.#wrap(message, `Mcp-Method: ${method}\r\n${name}${extra}`);
  }

  call(id, name, given) {
    return this.request(id, "tools/call", { name, arguments: given });
  }

  /** A request without a body: GET, for a stream, or DELETE. */
  bare(method) {
    return `${this.#head.replace("POST", method).replace("application/json, ", "")}\r\n`;
  }

  #wrap(message, extra = "") {
    const body = JSON.stringify(message);
    return `${this.#head}${extra}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  }
}
