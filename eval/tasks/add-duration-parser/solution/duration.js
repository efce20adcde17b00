const number = String.raw`(\d+(?:\.\d+)?)`;
const pattern = new RegExp(
  ["d", "h", "m(?!s)", "s", "ms"].map((unit) => String.raw`(?:${number}${unit}\s*)?`).join("").replace(/^/, "^") + "$",
);
const sizes = [86_400_000, 3_600_000, 60_000, 1_000, 1];

/** Turns a text such as "1h30m" into milliseconds. */
export function parseDuration(text) {
  const numbers = pattern.exec(text)?.slice(1);
  if (!numbers?.some((value) => value !== undefined)) throw new RangeError(`"${text}" is not a duration.`);
  return numbers.reduce((sum, value, index) => sum + Number(value ?? 0) * sizes[index], 0);
}
