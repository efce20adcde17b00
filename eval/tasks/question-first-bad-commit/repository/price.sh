# Prints the price of a parcel of some grams.
price() {
  local kilograms=$((($1 + 999) / 1000))
  echo $((3 + 2 * kilograms))
}
