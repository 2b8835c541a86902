// What the product asks of the library's HTTP endpoint: door, pages, rate and pings.
import { totalmem } from "node:os";
import type { HttpServing, HttpStats, ServeHttpOptions } from "@secure-local/mcp/http";
import type { AuditSink } from "../audit/audit-event.js";
import type { Metrics } from "../observe/metrics.js";
import { httpDoor } from "./http-door.js";
import { httpPages } from "./http-pages.js";

/** How many seconds' worth of requests may come at once: a client that starts up lists and reads all it can. */
const BURST_SECONDS = 10;

/**
 * The share of memory that large request bodies may have. A body takes some ten times its length while it is served, so
 * this leaves most of the memory to everything else.
 */
const BODY_SHARE = 1 / 32;
/** The longest messages, two at a time, are served on any machine; more than sixty-four on none. */
const LEAST_BODY_BYTES = 8 * 1024 * 1024;
const MOST_BODY_BYTES = 256 * 1024 * 1024;

export interface HttpWishes {
  readonly sse: boolean;
  /** Requests a second one caller may send for as long as it likes. */
  readonly perSecond: number;
  /** Undefined: everybody who reaches the server may call. */
  readonly token: string | undefined;
  readonly audit: AuditSink;
  readonly metrics: Metrics;
  readonly serving: () => Pick<HttpServing, "stats">;
}

export function httpOptions({ sse, perSecond, token, audit, metrics, serving }: HttpWishes): ServeHttpOptions {
  const onRefused = (): void => void (metrics.unauthorized += 1);
  const load = (): HttpStats => serving().stats();
  return {
    sse,
    pages: httpPages({ audit, metrics, load }),
    rate: { perSecond, burst: perSecond * BURST_SECONDS },
    limits: { bodyBytes: bodyBytes() },
    // The library's defaults: who left without a word does not keep its session for half an hour.
    pings: true,
    ...(token === undefined ? {} : { authorization: httpDoor({ token, audit, onRefused }) }),
  };
}

function bodyBytes(): number {
  // 0 where nothing is known, and more than there is where there is no limit.
  const limit = process.constrainedMemory() || Infinity;
  const share = Math.floor(Math.min(limit, totalmem()) * BODY_SHARE);
  return Math.max(LEAST_BODY_BYTES, Math.min(share, MOST_BODY_BYTES));
}
