// The client of the official SDK's second generation.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

export function openStdio(args) {
  return open(new StdioClientTransport({ command: process.execPath, args }), {});
}

export function openHttp(url, modern) {
  const options = modern ? { versionNegotiation: { mode: "auto" } } : {};
  return open(new StreamableHTTPClientTransport(new URL(url)), options);
}

async function open(transport, options) {
  const client = new Client({ name: "sdk-v2", version: "1.0.0" }, options);
  await client.connect(transport);
  return {
    call: (name, given) => client.callTool({ name, arguments: given }),
    close: () => client.close(),
  };
}
