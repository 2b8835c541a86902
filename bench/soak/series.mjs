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

/**
 * Quantiles of the latencies in the first and in the last quarter of the time: the median of those of each window, which
 * a busy moment of the machine does not move. `samples` are `[seconds, ms]`.
 */
export function quarters(samples, { from, to, window, share }) {
  const length = (to - from) / 4;
  const within = (start) => {
    const each = new Map();
    for (const [at, ms] of samples) {
      if (at < start || at >= start + length) continue;
      const index = Math.floor((at - start) / window);
      if (!each.has(index)) each.set(index, []);
      each.get(index).push(ms);
    }
    return median([...each.values()].filter((list) => list.length > 10).map((list) => quantile(list, share)));
  };
  return { first: within(from), last: within(to - length) };
}
