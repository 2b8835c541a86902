// The client of the official SDK's first generation.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export function openStdio(args) {
  return open(new StdioClientTransport({ command: process.execPath, args }));
}

export function openHttp(url) {
  return open(new StreamableHTTPClientTransport(new URL(url)));
}

async function open(transport) {
  const client = new Client({ name: "sdk-v1", version: "1.0.0" });
  await client.connect(transport);
  return {
    call: (name, given) => client.callTool({ name, arguments: given }),
    close: () => client.close(),
  };
}
