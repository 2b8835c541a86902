// A million calls to one server: what stays on its heap?
import { startServer } from "../measure/raw-client.mjs";
import { callLine, callLines, checkAnswers } from "../stdio/requests.mjs";

/** Few enough that the client's own requests and answers stay small. */
const BATCH = 50_000;
const IN_FLIGHT = 64;
const ASKS = {
  call: (id) => (id % 2 === 0 ? ["echo", { text: `Message ${id}` }] : ["add", { a: id, b: 1 }]),
  expected: (id) => (id % 2 === 0 ? `Message ${id}` : String(id + 1)),
};

/** Heap bytes after `warmUp` calls and after `calls` more, each after a forced collection. */
export async function manyCalls(server, { warmUp, calls }) {
  const client = startServer({ ...server, args: ["--expose-gc", ...server.args] });
  try {
    await client.initialize();
    await pumpChecked(client, 0, warmUp);
    const before = await heap(client);
    await pumpChecked(client, warmUp, calls);
    return { before, after: await heap(client) };
  } finally {
    await client.stop();
  }
}

async function pumpChecked(client, first, count) {
  for (let done = 0; done < count; done += BATCH) {
    const batch = { first: first + done, count: Math.min(BATCH, count - done) };
    checkAnswers(await client.pump(callLines(ASKS, batch.first, batch.count), IN_FLIGHT), ASKS, batch);
  }
}

async function heap(client) {
  const answer = JSON.parse((await client.exchange(callLine("heap", ["heap", {}]))).toString("utf8"));
  const bytes = Number(answer.result?.content?.[0]?.text);
  if (!Number.isFinite(bytes)) throw new Error(`the heap tool answered ${JSON.stringify(answer).slice(0, 200)}`);
  return bytes;
}
