/** Compares two versions by the precedence rules of Semantic Versioning 2.0.0. */
export function compare(a, b) {
  const [left, right] = [parse(a), parse(b)];
  for (let index = 0; index < 3; index++) {
    if (left.numbers[index] !== right.numbers[index]) return left.numbers[index] - right.numbers[index];
  }
  if (left.labels.length === 0 || right.labels.length === 0) return right.labels.length - left.labels.length;
  for (let index = 0; index < Math.min(left.labels.length, right.labels.length); index++) {
    const order = compareLabels(left.labels[index], right.labels[index]);
    if (order !== 0) return order;
  }
  return left.labels.length - right.labels.length;
}

function parse(version) {
  const [plain] = version.split("+");
  const dash = plain.indexOf("-");
  const core = dash < 0 ? plain : plain.slice(0, dash);
  return { numbers: core.split(".").map(Number), labels: dash < 0 ? [] : plain.slice(dash + 1).split(".") };
}

function compareLabels(a, b) {
  const [isNumberA, isNumberB] = [a, b].map((label) => /^\d+$/.test(label));
  if (isNumberA && isNumberB) return Number(a) - Number(b);
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  return a < b ? -1 : Number(a > b);
}
