// Thousands of connections that send their requests byte by byte, and one client that minds its own business.
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ChildService } from "../measure/child-service.mjs";
import { messageOf } from "../measure/raw-http.mjs";
import { quantile } from "../measure/statistics.mjs";
import { client, withServer } from "./clients.mjs";

const DRIPPER = fileURLToPath(new URL("drip.mjs", import.meta.url));
const P99_LIMIT_MS = 100;
/** Between two calls of the healthy client: it is a person's client, not a load. */
const PAUSE_MS = 5;

export async function slowConnections({ slow, seconds }) {
  return withServer(async ({ service, port }) => {
    const { connection, requests } = await client(port, "session");
    const dripper = new ChildService(DRIPPER);
    try {
      await dripper.run("open", { port, count: slow });
      const millis = [];
      const end = performance.now() + seconds * 1e3;
      for (let id = 1; performance.now() < end; id += 1) {
        const from = performance.now();
        const reply = await connection.exchange(requests.call(id, "whisper", { text: "healthy" }));
        millis.push(performance.now() - from);
        if (messageOf(reply).result?.content?.[0]?.text !== "healthy") throw new Error("a wrong answer");
        await delay(PAUSE_MS);
      }
      const { sockets } = await service.ask("load");
      const { cut } = await dripper.run("report");
      const p99 = quantile(millis, 0.99);
      return [
        {
          what: `${slow} slow connections for ${seconds} s: a healthy client's p99`,
          measured: `${p99.toFixed(1)} ms over ${millis.length} calls, p50 ${quantile(millis, 0.5).toFixed(1)} ms; ${sockets - 1} slow ones open, ${cut} cut and come back`,
          limit: `${P99_LIMIT_MS} ms`,
          passed: p99 < P99_LIMIT_MS && sockets > slow * 0.9,
        },
      ];
    } finally {
      await dripper.stop();
    }
  });
}
