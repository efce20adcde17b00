/** Formats an amount in US dollars and cents. Amounts below one cent get two significant digits. */
export function formatDollars(amount: number): string {
  if (amount === 0) return "$0";
  if (amount < 0.01) return `$${amount.toPrecision(2)}`;
  return dollars.format(amount);
}

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const number = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** Formats a count with separators. Counts from a million are shortened. */
export function formatCount(amount: number): string {
  return amount < 1_000_000 ? number.format(amount) : short.format(amount);
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

export function formatBytes(amount: number): string {
  let rest = amount;
  let unit = 0;
  for (; rest >= 1_024 && unit < units.length - 1; unit += 1) rest /= 1_024;
  return `${unit === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
}
