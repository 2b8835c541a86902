// The public surface for servers of other SDKs on standard input and output.
export { serveStdio, StdioServerTransport } from "../compat/stdio.js";
