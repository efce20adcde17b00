import { git, gitWithInput, type Origin } from "../../repositories/git-server.ts";

/** A placeholder for the path of a folder on the host. It is used in scripts that are written before the folder exists. */
export const HOST_FOLDER = "{HOST_FOLDER}";

/** A shell command that creates a file on the host, if it can, and one inside, which proves that it ran. */
export const payload = (hostFolder: string, name: string) =>
  `{ touch ${hostFolder}/${name}; touch /workspace/ran-${name}; } 2> /dev/null`;

/** Writes an object without git's checks and returns its id. */
export function writeObject(origin: Origin, type: string, data: Buffer): string {
  return gitWithInput(origin.copy, data, "hash-object", "-t", type, "-w", "--literally", "--stdin");
}

/** Commits a tree and pushes it to the branch. */
export function pushTree(origin: Origin, tree: string, branch = "main"): void {
  const commit = git(origin.copy, "commit-tree", tree, "-m", "attack");
  git(origin.copy, "push", "--quiet", "--force", "origin", `${commit}:refs/heads/${branch}`);
}
