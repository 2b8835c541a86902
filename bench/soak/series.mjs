// What a series of measurements says: its slope by least squares and how sure that is, its quarters.
import { median, quantile } from "../measure/statistics.mjs";

/** Slope of `y` over `x` by least squares, and its standard error. */
export function slope(points) {
  const count = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const rise = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const rest = points.reduce((sum, [x, y]) => sum + (y - meanY - rise * (x - meanX)) ** 2, 0);
  return { slope: rise, error: Math.sqrt(rest / Math.max(1, count - 2) / spread) };
}

/** The lowest `y` of each window of `width` in `x`, at the window's middle. */
export function minima(points, width) {
  const windows = new Map();
  for (const [x, y] of points) {
    const index = Math.floor(x / width);
    windows.set(index, Math.min(windows.get(index) ?? Infinity, y));
  }
  return [...windows].map(([index, y]) => [(index + 0.5) * width, y]);
}

/** Long enough for a p99, short enough that a busy moment of the machine spoils few. */
const WINDOW_S = 10;
/** A window with fewer says nothing. */
const LEAST_IN_WINDOW = 10;

/** Latencies kept as bare numbers by the ten seconds they fell into: an object a call would slow down who measures. */
export class Latencies {
  #windows = [];

  /** `at` in seconds since the start. */
  add(at, ms) {
    (this.#windows[Math.floor(at / WINDOW_S)] ??= []).push(ms);
  }

  /**
   * The quantile `share` in the first and in the last quarter of the time from `from` to `to`: the median of those of each
   * window, which a busy moment of the machine does not move.
   */
  quarters({ from, to, share }) {
    const length = (to - from) / 4;
    return { first: this.#within(from, from + length, share), last: this.#within(to - length, to, share) };
  }

  #within(from, to, share) {
    const windows = this.#windows.slice(Math.floor(from / WINDOW_S), Math.ceil(to / WINDOW_S));
    const full = windows.filter((list) => list !== undefined && list.length > LEAST_IN_WINDOW);
    return median(full.map((list) => quantile(list, share)));
  }
}
