const rates = { DE: 0.19, FR: 0.2 };

export function taxOf({ cents, country }) {
  return Math.round(cents * rateFor(country));
}

function rateFor(country) {
  const rate = rates[country];
  if (rate === undefined) throw new RangeError(`no rate for ${country}`);
  return rate;
}
