// Streamable HTTP on plain Node, port 3000 or the one given: the listener, its limits and its end are the library's.
import { serveHttp } from "@secure-local/mcp/http";
import { countingServer } from "./counting.mjs";

const serving = await serveHttp(countingServer(), { port: Number(process.argv[2] ?? 3000) });
console.log(serving.url);
