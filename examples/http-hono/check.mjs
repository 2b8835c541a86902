// Asks the app as a function and over a socket: exits 0 only when every answer is right in both eras.
import assert from "node:assert/strict";
import { once } from "node:events";
import { serve } from "@hono/node-server";
import { checkBothEras } from "../test/both-eras.mjs";
import { app, mcp } from "./app.mjs";

await checkBothEras("http://hono.example/mcp", { ask: (request) => app.fetch(request) });

const listener = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
await once(listener, "listening");
const origin = `http://127.0.0.1:${listener.address().port}`;
assert.equal(await (await fetch(origin)).text(), "MCP is at /mcp");
await checkBothEras(`${origin}/mcp`);

await mcp.close();
listener.close();
listener.closeAllConnections();
console.log("http-hono: the route answered in both eras");
