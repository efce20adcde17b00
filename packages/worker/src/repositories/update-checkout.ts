import { quote } from "../quote.ts";
import { type CheckoutOptions, submoduleCalls, workspacePath } from "./checkout.ts";
import { shellFunctions } from "./checkout-functions.ts";

/**
 * Returns the bash script that updates a checkout to a newer commit from what the worker sends, inside a sandbox. Untracked
 * files from setup commands are preserved. Changes to tracked files are preserved too, unless the newer commit changes the
 * same files. The folder of a submodule that the newer commit does not have is left in place, as git does.
 */
export function updateScript(options: Omit<CheckoutOptions, "url">): string {
  const { commit, ref, submodules = [], usesLfs = false } = options;
  const path = workspacePath(options.path);
  const branch = ref?.startsWith("refs/heads/") ? ref : undefined;
  const remoteBranch = branch?.replace("refs/heads/", "refs/remotes/origin/");
  return `${shellFunctions}
cd -- ${quote(path)}
receive "$(git rev-parse --absolute-git-dir)"
${usesLfs ? "use_lfs 0" : ""}
update 0 ${commit}
${
  // Full names, because `git checkout` rejects branches whose name looks like an option.
  branch && remoteBranch
    ? `git update-ref ${quote(remoteBranch)} ${commit}
git update-ref ${quote(branch)} ${commit}
git symbolic-ref HEAD ${quote(branch)}`
    : ""
}
${submoduleCalls(path, submodules)}
`;
}
