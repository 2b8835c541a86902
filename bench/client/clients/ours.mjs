// The library's client.
import { connect } from "@secure-local/mcp/client/node";

export async function openStdio(args) {
  return connect({ command: process.execPath, args });
}

export async function openHttp(url) {
  return connect(url);
}
