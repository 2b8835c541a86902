// The fixture over Streamable HTTP, both eras at one URL: node conformance/server.mjs [PORT [auto | json | sse]]
import { serveHttp } from "@secure-local/mcp/http";
import { announce } from "./fixture/announce.mjs";
import { fixtureServer } from "./fixture/fixture-server.mjs";

const [port = "0", answers = "auto"] = process.argv.slice(2);
const serving = await serveHttp(fixtureServer(), { port: Number(port), answers });

// The suite tries its foreign hosts against nothing but the name localhost.
announce(serving.url.replace("127.0.0.1", "localhost"));
