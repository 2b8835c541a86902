// The bench's tools behind the product's whole guard chain, the token of its door and its gate of memory. Runs bundled, as
// the product does.
import { parseArgs } from "node:util";
import { serveHttp } from "@secure-local/mcp/http";
import { httpAuthorization } from "../../../packages/secure-local/src/server/http-options.ts";
import { LoadShedder, memoryLimit, MemoryMonitor } from "../../../packages/secure-local/src/server/load-shedder.ts";
import { benchProduct } from "../../stdio/servers/product-parts.mjs";
import { listening } from "./serving.mjs";

const { values } = parseArgs({
  options: { audit: { type: "string" }, policy: { type: "string" }, mode: { type: "string" } },
});

// A function, because the bundle is CommonJS and has no await of its own.
async function main() {
  const onRefused = () => undefined;
  const gate = new LoadShedder({ watch: new MemoryMonitor({ limit: memoryLimit() }), onRefused });
  const place = { folder: "http", audit: values.audit, policy: values.policy };
  const { server, audit } = await benchProduct(place, { admit: gate.middleware });
  const serving = await serveHttp(server, {
    answers: values.mode === "sse" ? "sse" : "auto",
    authorization: httpAuthorization({ token: process.env.BENCH_TOKEN, audit, onRefused, gate }),
    // The product's own rate is far above what people send, and far below what a bench does.
    rate: { perSecond: 1_000_000, burst: 4_000_000 },
    pings: true,
  });
  listening(Number(new URL(serving.url).port));
  await serving.closed;
  await audit.close();
}

void main();
