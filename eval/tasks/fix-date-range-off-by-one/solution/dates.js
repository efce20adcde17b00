const DAY = 24 * 60 * 60 * 1000;

/** Number of calendar days between two dates such as "2024-03-30". */
export function daysBetween(from, to) {
  const [a, b] = [Date.parse(`${from}T00:00Z`), Date.parse(`${to}T00:00Z`)];
  return Math.abs(b - a) / DAY;
}
