/**
 * Patterns of COPY and .dockerignore: `*`, `?` and `[…]` match within a name, `**` any number of folders. They come
 * from a hostile repository, so they are matched without regular expressions, in time that does not grow exponentially.
 */

export const hasWildcard = (text: string) => /[*?[\\]/.test(text);

/** Whether a pattern matches a path, both divided into names. With `orFolder`, also if it matches a folder of the path. */
export function matchesPath(pattern: string[], path: string[], { orFolder = false } = {}): boolean {
  // The positions in the path that the pattern so far can reach.
  let reached = new Set([0]);
  for (const part of pattern) {
    const next = new Set<number>();
    for (const position of reached) {
      if (part === "**") {
        // The set is in ascending order, so the first position reaches all others.
        for (let end = position; end <= path.length; end++) next.add(end);
        break;
      }
      if (position < path.length && matchesName(part, path[position] as string)) next.add(position + 1);
    }
    if (next.size === 0) return false;
    reached = next;
  }
  return orFolder ? [...reached].some((position) => position > 0) : reached.has(path.length);
}

/** Whether a pattern without slashes matches a name. On a mismatch, only the last `*` is tried again. */
export function matchesName(pattern: string, name: string): boolean {
  let [at, position, star, retry] = [0, 0, -1, 0];
  while (position < name.length) {
    if (pattern[at] === "*") {
      star = at++;
      retry = position;
      continue;
    }
    const end = matchOne(pattern, at, name[position] as string);
    if (end !== undefined) {
      at = end;
      position += 1;
    } else if (star >= 0) {
      at = star + 1;
      position = ++retry;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

/** Matches one character. Returns the position after the matching part of the pattern. */
function matchOne(pattern: string, at: number, character: string): number | undefined {
  const part = pattern[at];
  if (part === undefined) return undefined;
  if (part === "?") return at + 1;
  if (part === "\\" && at + 1 < pattern.length) return pattern[at + 1] === character ? at + 2 : undefined;
  if (part !== "[") return part === character ? at + 1 : undefined;
  const end = pattern.indexOf("]", at + 2);
  if (end < 0) return part === character ? at + 1 : undefined;
  const isNegated = pattern[at + 1] === "^" || pattern[at + 1] === "!";
  const set = pattern.slice(at + (isNegated ? 2 : 1), end);
  return isInSet(set, character) !== isNegated ? end + 1 : undefined;
}

function isInSet(set: string, character: string): boolean {
  for (let at = 0; at < set.length; at++) {
    const from = set[at] as string;
    const to = set[at + 1] === "-" ? set[at + 2] : undefined;
    if (to !== undefined) at += 2;
    if (character >= from && character <= (to ?? from)) return true;
  }
  return false;
}

interface IgnoreRule {
  pattern: string[];
  isException: boolean;
}

const MAX_RULES = 500;
const MAX_RULE_CHARACTERS = 500;

/** Returns whether a .dockerignore file excludes a path. The last rule that matches decides. */
export function parseIgnoreFile(text: string): (path: string) => boolean {
  const rules = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line): IgnoreRule => {
      if (line.length > MAX_RULE_CHARACTERS)
        throw new Error(`.dockerignore has a line with more than ${MAX_RULE_CHARACTERS} characters.`);
      const isException = line.startsWith("!");
      const pattern = (isException ? line.slice(1) : line).trim().split("/");
      return { isException, pattern: pattern.filter((part) => part !== "" && part !== ".") };
    })
    .filter(({ pattern }) => pattern.length > 0);
  if (rules.length > MAX_RULES) throw new Error(`.dockerignore has more than ${MAX_RULES} rules.`);
  return (path) => {
    const names = path.split("/");
    const rule = rules.findLast(({ pattern }) => matchesPath(pattern, names, { orFolder: true }));
    return rule !== undefined && !rule.isException;
  };
}
