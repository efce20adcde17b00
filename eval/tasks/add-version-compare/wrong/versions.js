export function compare(a, b) {
  const [left, right] = [a, b].map((version) => version.split(/[.+-]/));
  for (let index = 0; index < 3; index++) {
    if (left[index] !== right[index]) return Number(left[index]) - Number(right[index]);
  }
  const [before, after] = [a, b].map((version) => version.split("-")[1] ?? "");
  if (before === after) return 0;
  if (before === "" || after === "") return before === "" ? 1 : -1;
  return before < after ? -1 : 1;
}
