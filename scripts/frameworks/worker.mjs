// The probe's server as a worker of Cloudflare's runtime.
import { toFetch } from "@secure-local/mcp/fetch";
import { probeServer } from "./probe-server.mjs";

export default { fetch: toFetch(probeServer(), { sessions: false }) };
