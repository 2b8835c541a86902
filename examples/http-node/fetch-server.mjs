// The same behind a listener of your own: a fetch handler, and the few lines between it and node:http.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { toFetch } from "@secure-local/mcp/fetch";
import { countingServer } from "./counting.mjs";

const listener = createServer((incoming, outgoing) => {
  // Whoever hangs up takes nothing more: a broken pipe is no fault of this server.
  answer(incoming, outgoing).catch(() => outgoing.destroy());
});

let mcp;
listener.listen(Number(process.argv[2] ?? 3000), "127.0.0.1", () => {
  const host = `127.0.0.1:${listener.address().port}`;
  // Named hosts keep out web pages that point their own name at this machine.
  mcp = toFetch(countingServer(), { allowedHosts: [host], allowedOrigins: [`http://${host}`] });
  console.log(`http://${host}/mcp`);
});
process.once("SIGTERM", async () => {
  await mcp.close();
  listener.close();
  listener.closeAllConnections();
});

async function answer(incoming, outgoing) {
  const hungUp = new AbortController();
  outgoing.once("close", () => hungUp.abort());
  const { method, headers } = incoming;
  const bare = method === "GET" || method === "HEAD";
  const request = new Request(new URL(incoming.url, `http://${headers.host}`), {
    method,
    headers: Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => [name, each])),
    signal: hungUp.signal,
    ...(bare ? {} : { body: Readable.toWeb(incoming), duplex: "half" }),
  });
  const reply = await mcp(request);
  outgoing.writeHead(reply.status, Object.fromEntries(reply.headers));
  outgoing.flushHeaders();
  if (reply.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(reply.body), outgoing);
}
