import { posix } from "node:path";
import type { Assignment } from "@outrider/contract/worker";
import { sandboxPaths } from "../sandboxes/paths.ts";
import type { GitPush } from "../sandboxes/sandbox.ts";
import { gitPort } from "../workspace/gateway-forward.ts";

/** Returns how git in the run's sandbox pushes to the endpoint. */
export function listGitPushes({ publishing, environment }: Assignment): GitPush[] {
  return (publishing?.repositories ?? []).flatMap(({ path, branch }) => {
    const repo = environment?.repos.find((each) => each.path === path);
    if (!repo) return [];
    // The workspace itself can be a repository.
    const encoded = path === "." ? "" : path.split("/").map(encodeURIComponent).join("/");
    return [
      {
        folder: posix.join(sandboxPaths.workspace, path),
        url: repo.url,
        pushUrl: `http://127.0.0.1:${gitPort}/${encoded}`,
        branch,
      },
    ];
  });
}
