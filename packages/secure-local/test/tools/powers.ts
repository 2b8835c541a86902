// Powers for tools under test: a clock that only moves when told, and no network.
import type { Clock } from "../../src/capabilities/clock.js";
import type { ToolPowers } from "../../src/tools/tool.js";

/** A clock at 2026-01-02T03:04:05.678Z whose sleeps end at once, moving it, and are listed. */
export function fakeClock(): Clock & { readonly slept: number[] } {
  let time = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const slept: number[] = [];
  return {
    slept,
    now: () => time,
    elapsed: () => time,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      slept.push(ms);
      time += ms;
    },
  };
}

export function powers(given: Partial<ToolPowers> = {}): ToolPowers {
  const fetch = () => Promise.reject(new Error("no network here"));
  return { fetch, clock: fakeClock(), signal: new AbortController().signal, ...given };
}
