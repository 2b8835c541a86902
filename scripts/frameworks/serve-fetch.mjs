// The probe's server on the HTTP server of Deno or Bun. Prints its port.
import { toFetch } from "@secure-local/mcp/fetch";
import { probeServer } from "./probe-server.mjs";

const fetch = toFetch(probeServer());
const place = { port: 0, hostname: "127.0.0.1" };
if (globalThis.Deno === undefined)
  console.log(`port ${globalThis.Bun.serve({ ...place, fetch, idleTimeout: 60 }).port}`);
else globalThis.Deno.serve({ ...place, onListen: ({ port }) => console.log(`port ${port}`) }, fetch);
