// A gateway over HTTP to one server, for a process that may open few files; prints where it listens.
import { connect } from "@secure-local/mcp/client/node";
import { Gateway } from "@secure-local/mcp/gateway";
import { serveHttp } from "@secure-local/mcp/http";

const gateway = new Gateway({ name: "narrow", version: "1.0.0" });
await gateway.mount("up", (options) => connect(process.argv[2], { ...options, verdicts: false }));
const serving = await serveHttp(gateway, { signals: false });
console.log(serving.url);
process.stdin.on("end", () => process.exit()).resume();
