import { quote } from "../quote.ts";
import { type CheckoutOptions, submoduleFolders, workspacePath } from "./checkout.ts";
import { shellFunctions } from "./checkout-functions.ts";

/** What a clone in a sandbox says that it has. A wrong answer harms only the clone itself. */
export interface KnownObjects {
  commits: string[];
  /** The hashes in the names of its packs. */
  packs: Set<string>;
  lfsObjects: Set<string>;
}

/** Clones that have more than this are sent objects that they have. */
export const maxKnownBytes = 32 * 2 ** 20;

/** Returns the bash script that prints what the clone of a repository and those of its submodules have. */
export function knownObjectsScript({ path, submodules = [] }: Pick<CheckoutOptions, "path" | "submodules">) {
  const root = workspacePath(path);
  const calls = submodules.map((submodule, index) => {
    const { parent, name } = submoduleFolders(root, submodule);
    return `print_known ${index + 1} ${quote(parent)} ${quote(`modules/${name}`)}`;
  });
  return `${shellFunctions}
print_known 0 ${quote(root)} .
${calls.join("\n")}
`;
}

/**
 * Parses the output of the script. The result has one element per clone, which is undefined if the clone does not
 * exist.
 */
export function parseKnownObjects(output: string, count: number): (KnownObjects | undefined)[] {
  const all = new Array<KnownObjects | undefined>(count).fill(undefined);
  for (const line of output.split("\n")) {
    const [, index, kind, id = ""] =
      /^(\d{1,5}) (clone|commit|pack|lfs)(?: ([0-9a-f]{40,64}))?$/.exec(line) ?? [];
    const at = Number(index);
    if (!(at < count)) continue;
    all[at] ??= { commits: [], packs: new Set(), lfsObjects: new Set() };
    if (kind === "commit" && id) all[at].commits.push(id);
    else if (kind === "pack" && id) all[at].packs.add(id);
    else if (kind === "lfs" && id) all[at].lfsObjects.add(id);
  }
  return all;
}
