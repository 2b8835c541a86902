// Connects to a server over stdio, asks it something and closes.
import { fileURLToPath } from "node:url";
import { connect } from "@secure-local/mcp/client/node";

const server = fileURLToPath(new URL("server.mjs", import.meta.url));

/** What one cycle is, for the report. */
export const CYCLE = "connect, tools/list, close";

export async function cycle(grandchild) {
  const client = await connect({ command: process.execPath, args: grandchild ? [server, "--grandchild"] : [server] });
  try {
    await client.tools().all();
  } finally {
    await client.close();
  }
}
