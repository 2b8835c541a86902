// What the product asks of the library's HTTP endpoint: door, pages, rate and pings.
import type { HttpServing, HttpStats, ServeHttpOptions } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import type { Metrics } from "../observe/metrics.js";
import { httpDoor } from "./http-door.js";
import { httpPages } from "./http-pages.js";
import { httpRoom } from "./http-room.js";
import type { MemoryGate } from "./memory-gate.js";

/** How many seconds' worth of requests may come at once: a client that starts up lists and reads all it can. */
const BURST_SECONDS = 10;

export interface HttpWishes {
  readonly sse: boolean;
  /** Requests a second one caller may send for as long as it likes. */
  readonly perSecond: number;
  /** Origins of web pages that may call. */
  readonly origins?: readonly string[];
  /** Undefined: everybody who reaches the server may call. */
  readonly token: string | undefined;
  readonly audit: AuditSink;
  readonly metrics: Metrics;
  readonly gate: Pick<MemoryGate, "refusal" | "short">;
  readonly serving: () => Pick<HttpServing, "stats">;
}

export function httpOptions({
  sse,
  perSecond,
  origins = [],
  token,
  audit,
  metrics,
  gate,
  serving,
}: HttpWishes): ServeHttpOptions {
  const onRefused = (): void => void (metrics.unauthorized += 1);
  const load = (): HttpStats => serving().stats();
  return {
    sse,
    allowedOrigins: origins,
    originOption: "the option --origin of serve, as in --origin https://app.example",
    // A page that may call has to ask first, and to read the answer.
    cors: origins.length > 0,
    pages: httpPages({ audit, metrics, load, gate }),
    rate: { perSecond, burst: perSecond * BURST_SECONDS },
    limits: httpRoom(),
    // The library's defaults: who left without a word does not keep its session for half an hour.
    pings: true,
    ...(token === undefined
      ? { authenticate: (head) => gate.refusal(head) }
      : { authorization: httpDoor({ token, audit, onRefused, gate }) }),
  };
}
