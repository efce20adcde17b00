import { distance } from "@outrider/contract/distance";

/** The names most like a given one, the best first; those that have little in common with it are left out. */
export function nearest(name: string, names: string[], count: number): string[] {
  const wanted = name.toLowerCase();
  const rated = names.slice(0, 10_000).map((each) => {
    const other = each.toLowerCase();
    const contains = other.includes(wanted) || wanted.includes(other);
    const isFar = Math.abs(wanted.length - other.length) > wanted.length;
    return { each, steps: contains ? 0.5 : isFar ? Number.POSITIVE_INFINITY : distance(wanted, other) };
  });
  return rated
    .filter(({ steps }) => steps <= Math.max(2, wanted.length / 2))
    .sort((a, b) => a.steps - b.steps || a.each.localeCompare(b.each))
    .slice(0, count)
    .map(({ each }) => each);
}
