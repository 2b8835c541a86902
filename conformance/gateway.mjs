// The gateway over Streamable HTTP, with the fixture behind it: node conformance/gateway.mjs [stdio | http]
import { fileURLToPath } from "node:url";
import { connect } from "@secure-local/mcp/client/node";
import { Gateway } from "@secure-local/mcp/gateway";
import { serveHttp } from "@secure-local/mcp/http";
import { announce } from "./fixture/announce.mjs";
import { fixtureServer } from "./fixture/fixture-server.mjs";

const [upstream = "stdio"] = process.argv.slice(2);
const gateway = new Gateway({ name: "conformance-gateway", version: "1.0.0" });
await gateway.mount("fixture", await opener(), { prefix: "" });
const serving = await serveHttp(gateway, { port: 0, signals: false });
// What stands behind the gateway would keep this process alive.
process.once("SIGTERM", () => void gateway.unmountAll().then(() => process.exit()));

// The suite tries its foreign hosts against nothing but the name localhost.
announce(serving.url.replace("127.0.0.1", "localhost"));

async function opener() {
  if (upstream === "stdio") {
    const program = fileURLToPath(new URL("stdio.mjs", import.meta.url));
    return (options) => connect({ command: process.execPath, args: [program] }, options);
  }
  const { url } = await serveHttp(fixtureServer(), { port: 0, signals: false });
  return (options) => connect(url, options);
}
