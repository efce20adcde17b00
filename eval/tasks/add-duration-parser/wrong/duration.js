const sizes = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** Turns a text such as "1h30m" into milliseconds. */
export function parseDuration(text) {
  let sum = 0;
  for (const [, value, unit] of text.matchAll(/([\d.]+)(ms|[dhms])/g)) sum += Number(value) * sizes[unit];
  if (sum === 0) throw new RangeError(`"${text}" is not a duration.`);
  return sum;
}
