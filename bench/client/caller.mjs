// The process a client lives in: opens it and calls as the bench says over the IPC channel.

const CLIENTS = {
  raw: () => import("./clients/raw.mjs"),
  "raw-ticks": () => import("./clients/raw-ticks.mjs"),
  "sdk-v1": () => import("./clients/sdk-v1.mjs"),
  "sdk-v2": () => import("./clients/sdk-v2.mjs"),
  ours: () => import("./clients/ours.mjs"),
};
let client;

const JOBS = { open, calls, close: () => client?.close() };
process.on("message", async ({ job, options }) => {
  try {
    process.send({ value: await JOBS[job](options) });
  } catch (error) {
    process.send({ failed: error.stack });
  }
});
process.on("disconnect", () => process.exit());

/** `{ client, transport, modern, args or port }`: a module's `openStdio(args)` or `openHttp(url, modern)`. */
async function open({ client: name, transport, modern, args, port }) {
  const module = await CLIENTS[name]();
  client =
    transport === "stdio"
      ? await module.openStdio(args)
      : await module.openHttp(`http://127.0.0.1:${port}/mcp`, modern);
}

/** `count` calls, `inFlight` of them at a time, each answer looked at. Returns the nanoseconds they took. */
async function calls({ first, count, inFlight }) {
  let next = first;
  const end = first + count;
  const from = process.hrtime.bigint();
  const one = async () => {
    while (next < end) await call(next++);
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  return Number(process.hrtime.bigint() - from);
}

async function call(id) {
  const [name, given, text] =
    id % 2 === 0
      ? ["echo", { text: `Message ${id} of the bench` }, `Message ${id} of the bench`]
      : ["add", { a: id, b: 0.5 }, String(id + 0.5)];
  const result = await client.call(name, given);
  if (result.content[0].text !== text) throw new Error(`call ${id} was answered with ${JSON.stringify(result)}`);
}
