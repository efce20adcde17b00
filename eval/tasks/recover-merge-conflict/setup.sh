git add -A && git commit -q -m "Format amounts"
git checkout -q -b parentheses
cat > format.js <<'END'
export function format(cents) {
  const text = (Math.abs(cents) / 100).toFixed(2);
  return cents < 0 ? `(${text})` : text;
}
END
git commit -qam "Show negative amounts in parentheses"
git checkout -q main
cat > format.js <<'END'
export function format(cents, currency = "€") {
  return currency + (cents / 100).toFixed(2);
}
END
git commit -qam "Show the currency"
git merge -q parentheses > /dev/null 2>&1 || true
grep -q '<<<<<<<' format.js
