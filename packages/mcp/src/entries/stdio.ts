// The public surface for standard input and output.
export type { StdioOptions } from "../node/stdio-server.js";
export { serveStdio, type ServeStdioOptions } from "../serve/stdio.js";
export type { Serving } from "./types.js";
