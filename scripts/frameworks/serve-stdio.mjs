// The probe's server on standard input and output, of whatever runtime runs this.
import { serveStdio } from "@secure-local/mcp/stdio";
import { probeServer } from "./probe-server.mjs";

await serveStdio(probeServer());
