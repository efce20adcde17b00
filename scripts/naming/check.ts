import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deniedNames } from "./names.ts";

/** `make check`: fails where a name of the denylist comes back. */

const root = resolve(import.meta.dirname, "..", "..");
/** Migrations never change once they are applied, the denylist has to name what it denies, and locks are generated. */
const exempt = /^(packages\/server\/src\/store\/migrations\/|scripts\/naming\/|package-lock\.json$)/;
const checked = /\.(ts|tsx|py|sql|md|json|yaml|yml|css|html|sh|toml|svg)$|^Makefile$/;

const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  .filter((path) => checked.test(path) && !exempt.test(path));
const found = files.flatMap((path) => {
  try {
    return deniedNames(path, readFileSync(join(root, path), "utf8"));
  } catch (error) {
    // Deleted in the work tree, but still in the index.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
});
for (const sentence of found) console.error(sentence);
if (found.length > 0) {
  console.error(`naming: ${found.length} old names. The glossary in ARCHITECTURE.md lists the current ones.`);
  process.exitCode = 1;
}
