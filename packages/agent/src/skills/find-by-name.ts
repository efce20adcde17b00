import type { Candidate } from "./discover.ts";

/**
 * Returns the candidates with this name in their front matter or, if there are none, those with this folder name.
 * Skills higher in the tree take precedence, and identical copies are counted once. A result with more than one element
 * is ambiguous.
 */
export function chooseSkill(candidates: readonly Candidate[], name: string): Candidate[] {
  const usable = candidates.filter(({ problem }) => problem === undefined);
  const byName = usable.filter((candidate) => candidate.name === name);
  const matching = byName.length > 0 ? byName : candidates.filter(({ directory }) => directory === name);
  const level = Math.min(...matching.map((candidate) => candidate.level));
  const highest = matching.filter((candidate) => candidate.level === level);
  return highest.filter(({ id }, index) => highest.findIndex((other) => other.id === id) === index);
}
