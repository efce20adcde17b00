import { posix } from "node:path";
import type { FileChange } from "@outrider/agent/workspace";
import type { CheckedOutRepository, RunReceipt } from "@outrider/contract/run";
import { sandboxPaths } from "../sandboxes/paths.ts";

const { workspace } = sandboxPaths;

/**
 * Returns the folder in which a run's commands start. A continued run keeps its folder, because its conversation contains
 * paths that are relative to it. Receipts of older versions do not name one, and those runs start in the workspace.
 */
export function chooseWorkingFolder(
  repositories: readonly CheckedOutRepository[],
  receipt: RunReceipt | undefined,
): string {
  if (receipt?.repositories) return receipt.working_folder ?? workspace;
  const [only] = repositories.length === 1 ? repositories : [];
  return only ? posix.join(workspace, only.path).replace(/\/$/, "") : workspace;
}

/**
 * Converts a change whose path is relative to the workspace. Inside the folder, the path becomes relative to the folder,
 * as in the run's diff. Outside, it becomes absolute.
 */
export function relativeTo(folder: string, change: FileChange): FileChange {
  if (folder === workspace) return change;
  const prefix = `${folder.slice(workspace.length + 1)}/`;
  if (!change.path.startsWith(prefix)) return { ...change, path: `${workspace}/${change.path}` };
  const path = change.path.slice(prefix.length);
  const lines = change.patch.split("\n");
  const hunks = lines.findIndex((line) => line.startsWith("@@"));
  const head = hunks < 0 ? lines : lines.slice(0, hunks);
  const shortened = head.map((line) => withoutPrefix(line, prefix, { ...change, path }));
  return { ...change, path, patch: [...shortened, ...lines.slice(head.length)].join("\n") };
}

/** Removes the prefix from the paths in a line of a patch's header. Git quotes unusual names. */
function withoutPrefix(line: string, prefix: string, { path, kind }: FileChange): string {
  if (line.startsWith("Binary files ")) {
    const before = kind === "created" ? "/dev/null" : `a/${path}`;
    const after = kind === "deleted" ? "/dev/null" : `b/${path}`;
    return `Binary files ${before} and ${after} differ`;
  }
  const mark = ["--- a/", "+++ b/", '--- "a/', '+++ "b/'].find((start) => line.startsWith(start + prefix));
  return mark === undefined ? line : mark + line.slice(mark.length + prefix.length);
}
