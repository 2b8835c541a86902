// One process of the bench `scale`: `node member.mjs REDIS PREFIX NODE KEY [RATE]`; without Redis it serves alone.
//
// From the environment: EFFECTS, a file to which tools write what they did and when; RELAY_VIA, the port others reach this process
// by; CLOCK_MS, how far its clock is off; PLANT, a fault it is to have, for the checker to find.
import { openSync, writeSync } from "node:fs";
import { shareOver } from "@secure-local/mcp/cluster";
import { redisStores } from "@secure-local/mcp/redis";
import { serveHttp } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";

const [redis, prefix, node, key, limited] = process.argv.slice(2);
const { EFFECTS, RELAY_VIA, CLOCK_MS = "0", PLANT } = process.env;
const clock = Date.now;
if (CLOCK_MS !== "0") Date.now = () => clock() + Number(CLOCK_MS);
const file = EFFECTS === undefined ? undefined : openSync(EFFECTS, "a");
let effects = 0;

/** Says that a call did its work. One write, so that a process that is killed has done it or not. */
function did(id) {
  effects++;
  const planted = effects % 50 === 0 ? PLANT : undefined;
  const line = `${id} ${Number(process.hrtime.bigint()) / 1e6}\n`;
  if (file === undefined || planted === "lost") return id;
  if (planted === "late") setTimeout(() => writeSync(file, `${id} ${Number(process.hrtime.bigint()) / 1e6}\n`), 300);
  else writeSync(file, planted === "twice" ? line + line : line);
  return planted === "wrong" ? `${id}x` : id;
}

const id = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const server = new Server({ name: "bench", version: "1.0.0", report: false });
server.tool("echo", {
  input: { type: "object", properties: { text: { type: "string" } } },
  run: ({ text }) => {
    effects++;
    return text;
  },
});
server.tool("ask", {
  async run(_, ctx) {
    const { action } = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    effects++;
    return action;
  },
});
server.tool("count", {
  async run(_, ctx) {
    for (let n = 1; n <= 5; n++) await ctx.progress(n, 5);
    effects++;
    return "counted";
  },
});
server.tool("run", { input: id, run: ({ id: which }) => did(which) });
server.tool("sure", {
  input: id,
  async run({ id: which }, ctx) {
    const { action } = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    return action === "accept" ? did(which) : action;
  },
});

/** Stores that say another address of this process than its own: what leads there can be cut. */
function via(stores) {
  if (RELAY_VIA === undefined) return stores;
  const beat = stores.beat.bind(stores);
  stores.beat = (name, address) => {
    process.send({ relay: Number(new URL(address).port) });
    stores.beat = (again) => beat(again, `tcp://127.0.0.1:${RELAY_VIA}`);
    return stores.beat(name);
  };
  return stores;
}

const share = redis === "" ? {} : { share: shareOver(via(redisStores(redis, { key, prefix })), { key, node }) };
const RATES = { limited: { perSecond: 1_000_000, burst: 1_000_000 } };
const rate = limited === "" ? {} : { rate: RATES[limited] ?? JSON.parse(limited) };
const authenticate = EFFECTS === undefined ? {} : { authenticate: (head) => head.header("x-who") };
const serving = await serveHttp(server, { ...share, ...rate, ...authenticate });
process.send({ port: Number(new URL(serving.url).port) });
process.on("message", () => process.send({ cpu: process.cpuUsage(), effects, memory: process.memoryUsage().rss }));
