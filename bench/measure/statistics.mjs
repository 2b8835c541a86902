// The few statistics the benches report.

export function median(values) {
  return quantile(values, 0.5);
}

/** The value below which the share `q` of `values` lies, interpolated; NaN for none. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  return low === undefined || high === undefined ? Number.NaN : low + (high - low) * (at - Math.floor(at));
}

/** Median of value/base taken pair by pair: both were measured in the same repetition, so slow drift cancels out. */
export function pairedRatio(values, bases) {
  const pairs = Math.min(values.length, bases.length);
  return median(Array.from({ length: pairs }, (_, index) => values[index] / bases[index]));
}
