// Readers that do not read while a tool floods them: what waits for each is bounded, and what they read in the end is whole.
import { setTimeout as delay } from "node:timers/promises";
import { residentBytes } from "../measure/process-stats.mjs";
import { begin, client, inParallel, withServer } from "./clients.mjs";

const CHARS = 1_000_000;
const AT_ONCE = 50;
const MIB = 2 ** 20;
/** Long enough for every handler to run into its reader; short of the half minute after which readers are cut. */
const STALL_MS = 5_000;
/** Readers that read everything in the end; the others go away. */
const READ_TO_THE_END = 3;

export async function slowReaders({ readers, notifications }) {
  return withServer(async ({ service, port }) => {
    const { requests } = await client(port, "modern");
    const request = (count) =>
      requests.request(1, "tools/call", {
        name: "flood",
        arguments: { count, chars: CHARS },
        _meta: { progressToken: "p" },
      });
    const warm = await begin(port, request(3));
    await readWhole(warm);
    const before = residentBytes(service.pid);
    const opened = [];
    await inParallel(readers, AT_ONCE, async () => opened.push(await begin(port, request(notifications))));
    await delay(STALL_MS);
    const { mostBuffered, running } = await service.ask("load");
    const growth = (residentBytes(service.pid) - before) / readers / MIB;
    for (const { socket } of opened.slice(READ_TO_THE_END)) socket.destroy();
    const wholes = await Promise.all(opened.slice(0, READ_TO_THE_END).map(readWhole));
    const whole = wholes.filter((seen) => seen.first === 1 && seen.last === notifications && seen.answered).length;
    return [
      {
        what: `${readers} slow readers of ${notifications} notifications of 1 MB`,
        measured: `at most ${(mostBuffered / MIB).toFixed(2)} MiB buffered, memory ${growth.toFixed(2)} MiB a reader, ${running} handlers waiting`,
        limit: "1 MiB buffered",
        passed: mostBuffered <= MIB && running === readers,
      },
      {
        what: `${wholes.length} of them read on to the end`,
        measured: `${whole} saw the first and the last notification and the answer`,
        limit: `${wholes.length}`,
        passed: whole === wholes.length,
      },
    ];
  });
}

/** Reads a stream to its end; what matters of it are the progress values, which are looked for in each notification's start. */
function readWhole({ socket, first }) {
  return new Promise((resolve, reject) => {
    const seen = { first: undefined, last: undefined, answered: false };
    let tail = "";
    const take = (chunk) => {
      const text = tail + chunk.toString("latin1");
      for (const [, value] of text.matchAll(/"progress":(\d+)[,}]/g)) {
        seen.first ??= Number(value);
        seen.last = Number(value);
      }
      seen.answered ||= text.includes('"flooded"');
      if (text.endsWith("0\r\n\r\n") && seen.answered) {
        socket.destroy();
        resolve(seen);
      }
      tail = text.slice(-40);
    };
    socket.on("data", take);
    socket.once("close", () => resolve(seen));
    socket.once("error", reject);
    take(first);
    socket.resume();
  });
}
