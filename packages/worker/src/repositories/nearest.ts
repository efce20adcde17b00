/** The names most like a given one, the best first; those that have little in common with it are left out. */
export function nearest(name: string, names: string[], count: number): string[] {
  const wanted = name.toLowerCase();
  const rated = names.slice(0, 10_000).map((each) => {
    const other = each.toLowerCase();
    const contains = other.includes(wanted) || wanted.includes(other);
    return { each, steps: contains ? 0.5 : distance(wanted, other) };
  });
  return rated
    .filter(({ steps }) => steps <= Math.max(2, wanted.length / 2))
    .sort((a, b) => a.steps - b.steps || a.each.localeCompare(b.each))
    .slice(0, count)
    .map(({ each }) => each);
}

/** How many letters have to be added, taken away or replaced. */
function distance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > from.length) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
