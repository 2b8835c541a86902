// A gateway on a pipe, before the server whose address it is started with.
import { connect } from "@secure-local/mcp/client/node";
import { Gateway } from "@secure-local/mcp/gateway";
import { serveStdio } from "@secure-local/mcp/stdio";

const [url] = process.argv.slice(2);
const gateway = new Gateway({ name: "piped", version: "1.0.0" });
await gateway.mount("up", (options) => connect(url, options), { prefix: "" });
await serveStdio(gateway);
