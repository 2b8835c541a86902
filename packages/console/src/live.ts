// What the page knows now, kept current by one stream that goes on where it was interrupted.
import { type Signal, signal } from "@preact/signals";
import type {
  CallRow,
  LogState,
  RunningServer,
  SettledCall,
  StreamLine,
  Totals,
  VerifiedLogs,
  WaitingCall,
} from "./api.js";
import { addressOf, ask, RequestFault } from "./request.js";

/** Rows kept in the page; older ones are fetched when they are scrolled to. */
const MAX_ROWS = 5_000;
/** Milliseconds until an interrupted stream is tried again, at first and at most. */
const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 5_000;

/** `lost`: the console does not answer; `out`: this page has to sign in again. */
export const link: Signal<"opening" | "live" | "lost" | "out"> = signal("opening");
/** The newest first. */
export const newest: Signal<readonly CallRow[]> = signal([]);
export const waiting: Signal<readonly WaitingCall[]> = signal([]);
/** Questions that are over, the newest first. */
export const settled: Signal<readonly SettledCall[]> = signal([]);
export const servers: Signal<readonly RunningServer[]> = signal([]);
export const totals: Signal<Totals | undefined> = signal(undefined);
export const logs: Signal<readonly LogState[]> = signal([]);
/** What the last check of the logs found, here or in another page; undefined before the first. */
export const verified: Signal<VerifiedLogs | undefined> = signal(undefined);
export const version: Signal<string> = signal("");
/** The file that the page Policy shows; undefined where that is the built-in one. */
export const ownPolicy: Signal<string | undefined> = signal(undefined);
/** Milliseconds since 1970, once a second: countdowns and ages follow it. */
export const now: Signal<number> = signal(Date.now());

let cursor: number | undefined;
let started: number | undefined;

/** Follows the stream for as long as the page is open. */
export async function follow(): Promise<void> {
  setInterval(() => (now.value = Date.now()), 1_000);
  for (let retry = FIRST_RETRY_MS; ; retry = Math.min(LAST_RETRY_MS, retry * 2)) {
    try {
      await readStream(() => (retry = FIRST_RETRY_MS));
      link.value = "lost";
    } catch (error) {
      if (error instanceof RequestFault && error.status === 401) {
        link.value = "out";
        return;
      }
      link.value = "lost";
    }
    await new Promise((resolve) => setTimeout(resolve, retry));
  }
}

async function readStream(alive: () => void): Promise<void> {
  const response = await ask(addressOf("/api/stream", { cursor }), { method: "GET" });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const read = await reader?.read();
    if (read === undefined || read.done) return;
    const lines = (rest + read.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(JSON.parse(line) as StreamLine);
    alive();
    link.value = "live";
  }
}

function take(line: StreamLine): void {
  switch (line.kind) {
    case "hello":
      // Another process counts its rows anew.
      if (started !== undefined && started !== line.started) newest.value = [];
      started = line.started;
      version.value = line.version;
      ownPolicy.value = line.policy;
      return;
    case "logs":
      logs.value = line.logs;
      verified.value = line.verified;
      return;
    case "calls":
      cursor = line.cursor;
      if (line.anew === true) newest.value = [];
      takeRows(line.rows);
      return;
    case "waiting":
      waiting.value = line.calls;
      settled.value = line.settled;
      return;
    case "servers":
      servers.value = line.servers;
      return;
    case "totals":
      totals.value = line.totals;
      return;
    case "beat":
      now.value = line.now;
  }
}

/** Done many times a second, with thousands of rows there: only what is new is sorted, and nothing is looked for from the beginning. */
function takeRows(changed: readonly CallRow[]): void {
  const first = newest.peek()[0]?.n ?? 0;
  const fresh = changed.filter(({ n }) => n > first).sort((a, b) => b.n - a.n);
  const next = [...fresh, ...newest.peek()].slice(0, MAX_ROWS);
  for (const row of changed) {
    if (row.n > first) continue;
    const at = placeOf(next, row.n);
    // One that is older than all of them is fetched where somebody scrolls to it.
    if (next[at]?.n === row.n) next[at] = row;
  }
  newest.value = next;
}

/** Where a row stands, or would stand, among rows of which the newest is first. */
function placeOf(rows: readonly CallRow[], n: number): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((rows[middle]?.n ?? 0) > n) from = middle + 1;
    else to = middle;
  }
  return from;
}
