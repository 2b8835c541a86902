// One process of many that serve the fixture and share over Redis: started by balanced.mjs, which it tells its port.
import { redisCluster } from "@secure-local/mcp/redis";
import { serveHttp } from "@secure-local/mcp/http";
import { fixtureServer } from "./fixture/fixture-server.mjs";

const [redis, key, node, address] = process.argv.slice(2);
// What a program does that changes its lists in one of many processes: it has all of them change.
const waiting = [];
const changes = {
  tell: (change) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      process.send({ change });
    }),
};
const serving = await serveHttp(fixtureServer(changes), {
  allowedHosts: [address],
  allowedOrigins: [`http://${address}`],
  share: redisCluster(redis, { key, node }),
});
process.on("message", ({ change }) => {
  if (change === undefined) return waiting.shift()();
  changes.hear(change);
  return process.send({ changed: true });
});
process.send({ port: Number(new URL(serving.url).port) });
