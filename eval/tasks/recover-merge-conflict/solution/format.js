export function format(cents, currency = "€") {
  const text = currency + (Math.abs(cents) / 100).toFixed(2);
  return cents < 0 ? `(${text})` : text;
}
