export function format(cents, currency = "€") {
  return currency + (cents / 100).toFixed(2);
}
