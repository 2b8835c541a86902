// The bench's tools in the product itself, behind its whole guard chain. Runs bundled (bundle-chain.mjs), as the product does.
import { parseArgs } from "node:util";
import { serveStdio } from "@secure-local/mcp/stdio";
import { benchProduct } from "./product-parts.mjs";

const { values } = parseArgs({ options: { audit: { type: "string" }, policy: { type: "string" } } });

// A function, because the bundle is CommonJS and has no await of its own.
async function main() {
  const { server, audit } = await benchProduct({ folder: "chain", ...values });
  const serving = await serveStdio(server);
  await serving.closed;
  await audit.close();
}

void main();
