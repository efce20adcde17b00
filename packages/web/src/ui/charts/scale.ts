/** Returns round values from 0 to at least `max`, for the lines of a vertical axis. */
export function ticksTo(max: number, count = 4): number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const ticks = [0];
  // Multiplied rather than added up, so that rounding errors do not accumulate.
  for (let index = 1; (ticks.at(-1) ?? 0) < max; index++) ticks.push(Number((index * step).toPrecision(12)));
  return ticks;
}

/** Round durations in seconds. Multiples of ten look odd on an axis of minutes or hours. */
const durations = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200];

export function durationTicksTo(max: number, count = 4): number[] {
  const step = durations.find((one) => one * count >= max);
  if (max < 4 || step === undefined) return ticksTo(max, count);
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => index * step);
}

/** Returns the indexes of at most `max` evenly spaced labels, counted from the last point. */
export function labelIndexes(count: number, max: number): number[] {
  const step = Math.max(1, Math.ceil(count / Math.max(1, max)));
  const indexes: number[] = [];
  for (let index = count - 1; index >= 0; index -= step) indexes.unshift(index);
  return indexes;
}

/** Returns the values of an axis for shares, from a round value below the lowest share to 100 %. */
export function shareTicks(lowest: number): number[] {
  const from = Math.max(0, Math.min(0.8, Math.floor(lowest * 5) / 5));
  return [0, 1, 2, 3, 4].map((index) => Number((from + (index * (1 - from)) / 4).toPrecision(12)));
}
