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

/** The previous version. Each release updates it, together with `previousMigration` in packages/server/test/schema.ts. */
export const previous = "81d08a20f9f0cfceb0638eabd12f4d91e00fced9";

/** Extracts the previous version to a temporary folder, which uses the installed packages of this checkout. */
export function checkOutPrevious(): string {
  const git = (...args: string[]) => execFileSync("git", ["-C", root, ...args], { maxBuffer: 2 ** 28 });
  try {
    git("cat-file", "-e", `${previous}^{commit}`);
  } catch {
    throw new Error(
      `This test runs the previous version, commit ${previous}, which is not in the history of this checkout. Run git fetch --unshallow.`,
    );
  }
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-previous-")));
  chmodSync(folder, 0o755);
  execFileSync("tar", ["-x", "-C", folder], { input: git("archive", previous) });
  symlinkSync(join(root, ".tools"), join(folder, ".tools"));
  linkPackages(join(root, "node_modules"), join(folder, "node_modules"));
  // The server needs a built web app. This test does not use it, so the current build is sufficient.
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

/** Links all packages except our own, of which the previous version has its own copies. */
function linkPackages(from: string, to: string) {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name !== "@outrider" && name !== ".cache") symlinkSync(join(from, name), join(to, name));
  }
}
