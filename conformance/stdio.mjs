// The fixture over standard input and output: node conformance/stdio.mjs
import { serveStdio } from "@secure-local/mcp/stdio";
import { fixtureServer } from "./fixture/fixture-server.mjs";

await serveStdio(fixtureServer());
