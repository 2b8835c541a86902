// The public surface for servers of other SDKs on standard input and output.
export type { McpServer } from "./compat.js";
export type { StdioOptions } from "../node/stdio-server.js";
export { serveStdio, StdioServerTransport } from "../compat/stdio.js";
