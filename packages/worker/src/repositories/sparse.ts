import type { Mirror } from "./mirror.ts";
import { listTree } from "./tree-contents.ts";

/**
 * Returns whether a file is part of a sparse checkout in git's cone mode: those in the root folder, directly in a parent
 * of a sparse path, and anywhere below a sparse path.
 */
export function isInCone(path: string, sparsePaths: readonly string[]): boolean {
  const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  return (
    folder === "" ||
    sparsePaths.some(
      (sparse) => folder === sparse || folder.startsWith(`${sparse}/`) || sparse.startsWith(`${folder}/`),
    )
  );
}

/** Returns the blobs that a sparse checkout of the commit needs, and the sparse paths that do not exist in it. */
export async function listCone(
  mirror: Mirror,
  commit: string,
  sparsePaths: readonly string[],
  isFetched: (path: string) => boolean = (path) => isInCone(path, sparsePaths),
): Promise<{ blobs: string[]; unknownPaths: string[] }> {
  const blobs = new Set<string>();
  const unknown = new Set(sparsePaths);
  const run: Mirror["run"] = (args, options) => mirror.run(args, options);
  await listTree(run, { commit }, ({ path, id, mode }) => {
    if (!isFetched(path)) return;
    if (mode !== "160000") blobs.add(id);
    for (const sparse of unknown)
      if (path === sparse || path.startsWith(`${sparse}/`)) unknown.delete(sparse);
  });
  return { blobs: [...blobs], unknownPaths: [...unknown] };
}
