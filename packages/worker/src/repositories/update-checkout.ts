import { quote } from "../quote.ts";
import { type CheckoutOptions, submoduleCall, workspacePath } from "./checkout.ts";
import { shellFunctions } from "./checkout-functions.ts";

/**
 * Returns the bash script that updates a checkout to a newer commit from the mirror, inside a sandbox. Untracked files
 * from setup commands are preserved. Changes to tracked files are preserved too, unless the newer commit changes the
 * same files. The folder of a submodule that the newer commit does not have is left in place, as git does.
 */
export function updateScript(options: Omit<CheckoutOptions, "url">): string {
  const { mirrorPath, commit, ref, submodules = [], usesLfs = false, sparsePaths } = options;
  const path = workspacePath(options.path);
  const branch = ref?.startsWith("refs/heads/") ? ref : undefined;
  const remoteBranch = branch?.replace("refs/heads/", "refs/remotes/origin/");
  return `${shellFunctions}
cd -- ${quote(path)}
${usesLfs ? `use_lfs ${quote(mirrorPath)}` : ""}
partial=${sparsePaths ? "yes" : ""}
update ${quote(mirrorPath)} ${commit}
partial=
${
  // Full names, because `git checkout` rejects branches whose name looks like an option.
  branch && remoteBranch
    ? `git update-ref ${quote(remoteBranch)} ${commit}
git update-ref ${quote(branch)} ${commit}
git symbolic-ref HEAD ${quote(branch)}`
    : ""
}
${submodules.map((submodule) => submoduleCall(path, submodule)).join("\n")}
`;
}
