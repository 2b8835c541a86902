// SIGTERM with calls in flight: what can finish is delivered, what cannot is given up, and the process is gone in time.
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../measure/raw-http.mjs";
import { client, until, withServer } from "./clients.mjs";

const EXIT_LIMIT_MS = 30_000;
/** The longest of the calls that finish; the others take evenly spread shares of it. */
const LONGEST_MS = 3_000;
const START_MS = 20_000;

export async function sigterm({ calls, stuck }) {
  return withServer(async ({ service, port }) => {
    const all = await Promise.all(
      Array.from({ length: calls }, (_, index) => client(port, index % 2 === 0 ? "session" : "modern")),
    );
    const outcomes = all.map(({ connection, requests }, index) => {
      const ms = index < stuck ? -1 : Math.ceil((LONGEST_MS * (index + 1)) / calls) + 500;
      const text = `call ${index}`;
      const finished = connection.exchange(requests.call(1, "work", { text, ms })).then(messageOf);
      return finished.then(({ result }) => result?.content?.[0]?.text === text).catch(() => false);
    });
    const begun = await until(async () => (await service.ask("load")).running === calls, START_MS);
    const from = performance.now();
    service.child.kill("SIGTERM");
    const exit = await Promise.race([service.exited, delay(EXIT_LIMIT_MS + 5_000, "not gone", { ref: false })]);
    const took = performance.now() - from;
    const delivered = (await Promise.all(outcomes)).slice(stuck).filter(Boolean).length;
    return [
      {
        what: `SIGTERM with ${calls} calls in flight, ${stuck} of them without end`,
        measured: `${delivered} of ${calls - stuck} delivered, exit ${exit} after ${(took / 1e3).toFixed(1)} s`,
        limit: "all delivered, exit 0 within 30 s",
        passed: begun && delivered === calls - stuck && exit === 0 && took <= EXIT_LIMIT_MS,
      },
    ];
  });
}
