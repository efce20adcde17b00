/*
 * Matches paths in a repository with globs. `*` stands for a part of a name, `?` for one character and `**` for any
 * folders. A glob that matches a folder also matches everything in it. Matching ignores case, because some systems do.
 *
 * Paths come from sandboxes. Regular expressions could take exponential time for them; these functions cannot.
 */

/** Returns whether a glob matches a path or one of the folders that contain it. */
export function matchesGlob(glob: string, path: string): boolean {
  return matchSegments(split(glob), split(path), { allowsMore: true });
}

/** Returns whether something that a glob matches could be inside the path, if the path were a folder. */
export function couldContain(path: string, glob: string): boolean {
  const segments = split(glob);
  return segments.some(
    (_, index) => index > 0 && matchSegments(segments.slice(0, index), split(path), { allowsMore: false }),
  );
}

const split = (path: string) => path.toLowerCase().split("/").filter(Boolean);

/** Compares name by name. `reached` contains the positions in the glob that match the names so far. */
function matchSegments(glob: string[], path: string[], { allowsMore }: { allowsMore: boolean }): boolean {
  let reached = skipFolders(glob, new Set([0]));
  for (const name of path) {
    // A glob that has matched a folder also matches what is in it.
    if (allowsMore && reached.has(glob.length)) return true;
    const next = new Set<number>();
    for (const at of reached) {
      const segment = glob[at];
      if (segment === undefined) continue;
      if (segment === "**") next.add(at);
      else if (matchName(segment, name)) next.add(at + 1);
    }
    reached = skipFolders(glob, next);
  }
  return reached.has(glob.length);
}

/** Adds the positions after each `**`, which also stands for no folder. */
function skipFolders(glob: string[], positions: Set<number>): Set<number> {
  for (const at of positions) if (glob[at] === "**") positions.add(at + 1);
  return positions;
}

/** Matches one name. After a mismatch, only the last `*` is extended, so the time is bounded by the product of lengths. */
function matchName(pattern: string, name: string): boolean {
  let [at, star, from] = [0, -1, 0];
  for (let index = 0; index < name.length; ) {
    if (pattern[at] === "*") {
      star = at++;
      from = index;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[index])) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++from;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}
