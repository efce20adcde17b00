const DAY = 24 * 60 * 60 * 1000;

/** Number of calendar days between two dates such as "2024-03-30". */
export function daysBetween(from, to) {
  const [a, b] = [new Date(`${from}T00:00`), new Date(`${to}T00:00`)];
  return Math.floor((b - a) / DAY);
}
