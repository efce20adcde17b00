/**
 * Reads versions from files that people write by hand. A version becomes part of an image's name, so only digits and dots
 * are accepted, and everything else is ignored.
 */
import type { Folder } from "./repository-files.ts";

/** Returns the first version in a text, such as `3.12.4` for `python-3.12.4`. */
export function firstVersion(text: string): string | undefined {
  return /(?<![\w.])(?:v|go|python-|ruby[- ])?(\d{1,3}(?:\.\d{1,3}){0,2})/.exec(text.slice(0, 1_000))?.[1];
}

/** Returns the leading parts of a version: `3.12` for `3.12.4` and 2 parts. */
export function shorten(version: string, parts: number): string {
  return version.split(".").slice(0, parts).join(".");
}

/** Returns the version that `.tool-versions` names for one of these tools. */
export function toolVersion(folder: Folder, ...tools: string[]): string | undefined {
  const lines = folder.inheritedText(".tool-versions").slice(0, 10_000).split("\n");
  const line = lines.map((each) => each.trim().split(/\s+/)).find(([tool]) => tools.includes(tool ?? ""));
  return line?.[1] === undefined ? undefined : firstVersion(line[1]);
}

/** Compares versions by their numbers, as far as both have them: `20.3` and `20` are equal. */
function compare(a: string, b: string): number {
  const right = b.split(".");
  const left = a.split(".");
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const difference = Number(left[index]) - Number(right[index]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Returns the first candidate that a range allows, such as `>=18 <21`, `^20 || ^22` or `>=3.10,<4`. Candidates are short
 * (`20` or `3.12`) and stand for all of their releases. Returns undefined if the range allows none.
 */
export function selectVersion(range: string, candidates: readonly string[]): string | undefined {
  const alternatives = range.slice(0, 200).split("||");
  return candidates.find((candidate) => alternatives.some((each) => allows(each, candidate)));
}

function allows(range: string, candidate: string): boolean {
  const span = /^\s*v?([\d.]+)\s+-\s+v?([\d.]+)\s*$/.exec(range);
  if (span) return compare(candidate, span[1] as string) >= 0 && compare(candidate, span[2] as string) <= 0;
  const comparators = [...range.matchAll(/(>=|<=|>|<|\^|~=|~>|~|===?|=|!=)?\s*v?(\d+(?:\.\d+)*)/g)];
  return comparators.every(([, operator = "", version = ""]) => {
    const order = compare(candidate, version);
    switch (operator) {
      case ">=":
      case ">":
        return order >= 0;
      case "<=":
        return order <= 0;
      case "<":
        return isBelow(candidate, version);
      case "!=":
        return true;
      case "^":
        return order >= 0 && sameStart(candidate, version, version.startsWith("0.") ? 2 : 1);
      case "~":
      case "~=":
      case "~>":
        return order >= 0 && sameStart(candidate, version, Math.max(1, version.split(".").length - 1));
      default:
        return order === 0;
    }
  });
}

/** Whether some release of the candidate is below a version: `3.12` is not below `3.12` or `3.12.0`, but below `3.12.4`. */
function isBelow(candidate: string, version: string): boolean {
  const order = compare(candidate, version);
  const rest = version.split(".").slice(candidate.split(".").length);
  return order < 0 || (order === 0 && rest.some((part) => Number(part) > 0));
}

function sameStart(candidate: string, version: string, parts: number): boolean {
  return compare(shorten(candidate, parts), shorten(version, parts)) === 0;
}
