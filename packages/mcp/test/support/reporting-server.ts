// A server whose log a test reads.
import { Server } from "@secure-local/mcp/server";

/** A server without anything in it, and the lines that it reports, each with its error. */
export function reportingServer(): { readonly server: Server; readonly log: string[] } {
  const log: string[] = [];
  const server = new Server({
    name: "s",
    version: "1",
    report: (_level, message, details) => log.push(`${message} ${String(details?.["error"])}`),
  });
  return { server, log };
}
