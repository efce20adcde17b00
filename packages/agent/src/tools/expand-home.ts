import type { Workspace } from "../workspace.ts";

/**
 * Expands a leading `~`, because users and models write paths as in a shell. A file named `~` must be written as `./~`.
 */
export function expandHome(path: string, { home }: Pick<Workspace, "home">): string {
  return path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
}
