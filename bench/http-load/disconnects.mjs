// Clients that go away in the middle of a stream: nothing of them may stay.
import { begin, client, descriptors, inParallel, until, withServer } from "./clients.mjs";

const AT_ONCE = 100;
const MB = 2 ** 20;
const HEAP_LIMIT = 5 * MB;
const WARM_UP_SHARE = 0.1;
const QUIET_MS = 10_000;

/** What a client opens before it goes away. */
const STREAMS = {
  "calls of 2026-07-28": async (port) => {
    const { requests } = await client(port, "modern");
    const params = { name: "stream", arguments: {}, _meta: { progressToken: "p" } };
    return () => requests.request(1, "tools/call", params);
  },
  "GET streams of one session": async (port) => {
    const { requests, connection } = await client(port, "session");
    connection.destroy();
    return () => requests.bare("GET");
  },
};

export async function disconnects({ disconnects: count }) {
  const rows = [];
  for (const [title, prepare] of Object.entries(STREAMS)) {
    const { before, after } = await withServer(async ({ service, port }) => {
      const request = await prepare(port);
      const round = (times) =>
        inParallel(times, AT_ONCE, async () => {
          const { socket, first } = await begin(port, request());
          const gone = new Promise((resolve) => socket.once("close", resolve));
          socket.destroy();
          await gone;
          if (!first.includes("200 OK") && !first.includes("409")) throw new Error(`refused: ${first}`);
        });
      await round(Math.ceil(count * WARM_UP_SHARE));
      const start = await reading(service);
      await round(count);
      return { before: start, after: await reading(service) };
    });
    const heap = after.heapUsed - before.heapUsed;
    const open = after.descriptors - before.descriptors;
    rows.push({
      what: `${count} disconnects, ${title}`,
      measured: `${sign(open)} descriptors, heap ${sign((heap / MB).toFixed(2))} MB, ${after.running} handlers running`,
      limit: "0 descriptors, 5 MB, 0 running",
      passed: open <= 0 && heap < HEAP_LIMIT && after.running === 0,
    });
  }
  return rows;
}

async function reading(service) {
  await until(async () => {
    const { running, sockets } = await service.ask("load");
    return running === 0 && sockets === 0;
  }, QUIET_MS);
  const { running } = await service.ask("load");
  const { heapUsed } = await service.ask("memory");
  return { running, heapUsed, descriptors: descriptors(service.pid) };
}

function sign(value) {
  return Number(value) > 0 ? `+${value}` : String(value);
}
