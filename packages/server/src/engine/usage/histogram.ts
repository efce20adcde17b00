/**
 * Histograms of seconds with logarithmic bins, so that the histograms of many days can be added. `outrider_usage_bin` in
 * the database decides which bin a value belongs to: bin 0 has values below 0.1 s, and each further bin ends at 1.4 times
 * the end of the previous one.
 */
const FIRST_END = 0.1;
const GROWTH = 1.4;

/** Returns the value below which a share of all values is, or undefined if there are no values. */
export function percentile(bins: readonly number[], share: number): number | undefined {
  const counts = bins.map((count) => Math.max(count, 0));
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let left = total * share;
  for (const [bin, count] of counts.entries()) {
    if (left > count || count === 0) {
      left -= count;
      continue;
    }
    const part = left / count;
    // Values are spread evenly over a bin's logarithm.
    const value = bin === 0 ? FIRST_END * part : FIRST_END * GROWTH ** (bin - 1 + part);
    return Math.round(value * 100) / 100;
  }
  return undefined;
}

/** Adds two histograms. */
export function addBins(one: readonly number[], other: readonly number[]): number[] {
  const length = Math.max(one.length, other.length);
  return Array.from({ length }, (_, bin) => (one[bin] ?? 0) + (other[bin] ?? 0));
}
