// The public surface for standard input and output.
export { serveStdio, type ServeStdioOptions } from "../serve/stdio.js";
export type { Serving } from "../server/serving.js";
