import type { Candidate } from "./discover.ts";

/**
 * The one candidate that a name means: by what the skills call themselves, else by their folders. One in a catalogue is
 * hidden by one above it, and the same text in several places counts once. None or several where that does not decide.
 */
export function chooseSkill(candidates: readonly Candidate[], name: string): Candidate[] {
  const usable = candidates.filter(({ problem }) => problem === undefined);
  const byName = usable.filter((candidate) => candidate.name === name);
  const matching = byName.length > 0 ? byName : candidates.filter(({ directory }) => directory === name);
  const level = Math.min(...matching.map((candidate) => candidate.level));
  const highest = matching.filter((candidate) => candidate.level === level);
  return highest.filter(({ id }, index) => highest.findIndex((other) => other.id === id) === index);
}
