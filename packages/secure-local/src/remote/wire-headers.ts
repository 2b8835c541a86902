// The headers that Streamable HTTP wants beside a message, read from the message.

type Message = Readonly<Record<string, unknown>>;

const VERSION = "io.modelcontextprotocol/protocolVersion";
const NAMED: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

/** The revision a message itself says it is in; undefined within a session. */
export function statelessVersion({ params }: Message): string | undefined {
  const meta = (params as Message | undefined)?.["_meta"] as Message | undefined;
  const version = meta?.[VERSION];
  return typeof version === "string" ? version : undefined;
}

/** `agreed` is what the session speaks; undefined before it is known. */
export function wireHeaders(message: Message, agreed: string | undefined): Record<string, string> {
  const own = statelessVersion(message);
  if (own === undefined) return agreed === undefined ? {} : { "mcp-protocol-version": agreed };
  const method = String(message["method"]);
  const name = (message["params"] as Message)[NAMED.get(method) ?? ""];
  const named = typeof name === "string" ? { "mcp-name": headerValue(name) } : {};
  return { "mcp-protocol-version": own, "mcp-method": method, ...named };
}

/** A header can hold printable ASCII; everything else travels in base64, marked. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?");
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
