// Many clients that use the same request ids at the same time, some of them cancelling: nobody may get another's bytes.
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../measure/raw-http.mjs";
import { begin, client, until, withServer } from "./clients.mjs";

/** One call in so many is cancelled. */
const CANCEL_EVERY = 10;
/** How long a cancelled call is left to arrive before its connection goes, and before its cancellation is sent again. */
const HELD_MS = 5;
const RETRY_MS = 10;
const QUIET_MS = 10_000;
const MARK = /<client \d+ call \d+>/g;

export async function equalIds({ clients, calls }) {
  const rows = [];
  for (const mode of ["session", "modern"]) {
    const seen = { answered: 0, cancelled: 0, crossed: 0, wrong: 0 };
    const { left } = await withServer(async ({ service, port }) => {
      const all = await Promise.all(Array.from({ length: clients }, () => client(port, mode)));
      await Promise.all(all.map((one, index) => converse(one, { index, calls, mode, port, seen })));
      await until(async () => (await service.ask("load")).running === 0, QUIET_MS);
      return { left: (await service.ask("load")).running };
    });
    const expected = clients * calls;
    const passed = seen.crossed + seen.wrong + left === 0 && seen.answered + seen.cancelled === expected;
    rows.push({
      what: `${clients} clients × ${calls} calls with equal ids, ${mode}`,
      measured: `${seen.answered} answered, ${seen.cancelled} cancelled, ${seen.crossed} crossed, ${seen.wrong} wrong, ${left} left running`,
      limit: "0 crossed, wrong or left",
      passed,
    });
  }
  return rows;
}

async function converse({ connection, requests }, { index, calls, mode, port, seen }) {
  for (let id = 1; id <= calls; id += 1) {
    const text = `<client ${index} call ${id}>`;
    if (id % CANCEL_EVERY !== 0) {
      const reply = await connection.exchange(requests.call(id, "whisper", { text }));
      judge(reply, { id, text, seen });
    } else if (mode === "session") {
      await cancelByNotification({ connection, requests }, { id, text, port, seen });
    } else {
      await cancelByHangingUp(requests, { id, text, port, seen });
    }
  }
  connection.destroy();
}

function judge(reply, { id, text, seen }) {
  const marks = reply.body.match(MARK) ?? [];
  if (marks.some((mark) => mark !== text)) seen.crossed += 1;
  const message = messageOf(reply);
  if (message.id === id && message.result?.content?.[0]?.text === text) seen.answered += 1;
  else seen.wrong += 1;
}

/** In a session the cancelled call waits on one connection while another one carries the cancellation. */
async function cancelByNotification({ connection, requests }, { id, text, port, seen }) {
  const held = connection.exchange(requests.call(id, "whisper", { text, hold: true }));
  const params = { requestId: id, reason: "the load test" };
  // The call may be read after its cancellation, which then cancels nothing: it is sent until it does.
  for (let reply; reply === undefined; reply = await Promise.race([held, delay(RETRY_MS)])) {
    const { socket } = await begin(port, requests.notification("notifications/cancelled", params));
    socket.destroy();
  }
  const { status, body } = await held;
  if (body.match(MARK) !== null) seen.crossed += 1;
  else if (status === 202 || body === "") seen.cancelled += 1;
  else seen.wrong += 1;
}

/** Without sessions a client cancels by closing the connection of the call. */
async function cancelByHangingUp(requests, { id, text, port, seen }) {
  const { connection } = await client(port, "modern");
  const bytes = [];
  connection.send(requests.call(id, "whisper", { text, hold: true }), (reply) => bytes.push(reply));
  await delay(HELD_MS);
  connection.destroy();
  if (bytes.length === 0) seen.cancelled += 1;
  else seen.wrong += 1;
}
