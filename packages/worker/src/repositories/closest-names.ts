import { editDistance } from "@outrider/contract/errors/edit-distance";

/** A repository chooses its names. Names beyond these limits are not suggested. */
const MAX_NAMES = 10_000;
const MAX_NAME_CHARACTERS = 1_000;
/** Comparing two names takes time proportional to the product of their lengths. All comparisons share this limit. */
const MAX_COMPARED_CHARACTERS = 5_000_000;

/** Returns the names most similar to a given one, closest first. Omits names that have little in common with it. */
export function closestNames(name: string, names: string[], count: number): string[] {
  const wanted = name.toLowerCase();
  const maxEdits = Math.max(2, wanted.length / 2);
  let compared = 0;
  const countEdits = (other: string) => {
    if (other.includes(wanted) || wanted.includes(other)) return 0.5;
    // The distance is at least the difference in length.
    if (Math.abs(wanted.length - other.length) > maxEdits) return Number.POSITIVE_INFINITY;
    compared += wanted.length * other.length;
    return compared > MAX_COMPARED_CHARACTERS ? Number.POSITIVE_INFINITY : editDistance(wanted, other);
  };
  return names
    .slice(0, MAX_NAMES)
    .filter(({ length }) => length <= MAX_NAME_CHARACTERS)
    .map((candidate) => ({ candidate, edits: countEdits(candidate.toLowerCase()) }))
    .filter(({ edits }) => edits <= maxEdits)
    .sort((a, b) => a.edits - b.edits || a.candidate.localeCompare(b.candidate))
    .slice(0, count)
    .map(({ candidate }) => candidate);
}
