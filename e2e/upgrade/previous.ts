import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../process.ts";

/**
 * The version that was released before this one. A release moves it on, together with `previousMigration` in
 * packages/server/test/schema.ts.
 */
export const previous = "779ea856f513d7e2ed0ba3444fe4762320b5fda5";

/** Its files in a folder of their own, with the packages of this checkout. */
export function checkOutPrevious(): string {
  const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args], { maxBuffer: 2 ** 28 });
  try {
    git("cat-file", "-e", `${previous}^{commit}`);
  } catch {
    throw new Error(
      `This test runs the version before this one, commit ${previous}, which is not in the history of this checkout. Fetch it: git fetch --unshallow.`,
    );
  }
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-previous-")));
  chmodSync(folder, 0o755);
  execFileSync("tar", ["-x", "-C", folder], { input: git("archive", previous) });
  symlinkSync(join(root, ".tools"), join(folder, ".tools"));
  linkPackages(join(root, "node_modules"), join(folder, "node_modules"));
  // A server serves no pages that were never built; whose pages they are is not what this is about.
  symlinkSync(join(root, "packages/web/dist"), join(folder, "packages/web/dist"));
  const own = join(folder, "node_modules/@outrider");
  mkdirSync(own);
  for (const name of readdirSync(join(folder, "packages"))) {
    symlinkSync(join(folder, "packages", name), join(own, name));
    const inner = join(root, "packages", name, "node_modules");
    if (existsSync(inner)) linkPackages(inner, join(folder, "packages", name, "node_modules"));
  }
  return folder;
}

/** All but our own, which are other versions of the same. */
function linkPackages(from: string, to: string) {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name !== "@outrider" && name !== ".cache") symlinkSync(join(from, name), join(to, name));
  }
}
