// The resource `server://info`: what this server is and how it fares.
import type { ResourceDefinition } from "@secure-local/mcp/server";

export const SERVER_INFO_URI = "server://info";

/** What is told of the process; `process` itself fits. */
export interface HostProcess {
  uptime(): number;
  memoryUsage(): { readonly heapUsed: number };
  readonly version: string;
  readonly platform: string;
  readonly pid: number;
}

/**
 * JSON with `server` {name, version}, `uptime` in seconds, `memoryUsage` (bytes of heap in use), `nodeVersion`, `platform`
 * and `pid`.
 */
export function serverInfo(
  { name, version }: { readonly name: string; readonly version: string },
  host: HostProcess = process,
): ResourceDefinition {
  return {
    name: "Server Information",
    description: "Current server status and configuration",
    mimeType: "application/json",
    read: () => {
      const info = {
        server: { name, version },
        uptime: host.uptime(),
        memoryUsage: host.memoryUsage().heapUsed,
        nodeVersion: host.version,
        platform: host.platform,
        pid: host.pid,
      };
      return JSON.stringify(info, null, 2);
    },
  };
}
