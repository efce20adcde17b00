/** More alternatives than this are not expanded. */
const MAX_ALTERNATIVES = 64;

/**
 * Returns whether a path matches a glob in some folder: `*.ts` matches in any folder, and so does `src/*.ts`. `**` stands
 * for any number of folders, and `{a,b}` for alternatives. The time is bounded for every glob, unlike that of a regular
 * expression.
 */
export function matchesGlob(path: string, glob: string): boolean {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  return expandBraces(glob).some((pattern) => {
    const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
    return matchesFolders(["**", ...parts], names);
  });
}

/** Expands `{a,b}`. Alternatives cannot be nested. */
function expandBraces(glob: string): string[] {
  const groups = glob.split(/(\{[^{}]*\})/);
  let results = [""];
  for (const group of groups) {
    const alternatives = /^\{.*\}$/s.test(group) ? group.slice(1, -1).split(",") : [group];
    results = results.flatMap((start) => alternatives.map((end) => start + end)).slice(0, MAX_ALTERNATIVES);
  }
  return results;
}

/** Matches names one by one; `reachable` contains the pattern positions that the names so far lead to. */
function matchesFolders(parts: readonly string[], names: readonly string[]): boolean {
  let reachable = skipFolders(parts, new Set([0]));
  for (const name of names) {
    const next = new Set<number>();
    for (const at of reachable) {
      const part = parts[at];
      if (part === undefined) continue;
      if (part === "**") next.add(at);
      else if (matchesName(part, name)) next.add(at + 1);
    }
    reachable = skipFolders(parts, next);
  }
  return reachable.has(parts.length);
}

/** `**` also stands for no folder. */
function skipFolders(parts: readonly string[], positions: Set<number>): Set<number> {
  for (const at of positions) if (parts[at] === "**") positions.add(at + 1);
  return positions;
}

/** Matches a name with `*` and `?`. After a mismatch, only the last `*` takes one more character. */
function matchesName(pattern: string, name: string): boolean {
  let [at, star, retry] = [0, -1, 0];
  for (let index = 0; index < name.length; ) {
    if (pattern[at] === "*") {
      star = at;
      retry = index;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index])) {
      at += 1;
      index += 1;
    } else if (star !== -1) {
      at = star + 1;
      retry += 1;
      index = retry;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}
