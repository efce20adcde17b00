/**
 * Writes the lock files of agents from agents/versions.json: `node packages/worker/scripts/lock-agents.ts [NAME…]`. They
 * contain the hashes of all packages, for all systems, and no addresses, so that every registry can serve them.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completeLock } from "../src/harnesses/install/lock-file.ts";
import {
  agentsFolder,
  findPinnedHarness,
  lockPath,
  pinnedHarnessNames,
} from "../src/harnesses/install/pinned-harnesses.ts";

const names = process.argv.length > 2 ? process.argv.slice(2) : pinnedHarnessNames;
mkdirSync(join(agentsFolder, "locks"), { recursive: true });
for (const name of names) {
  const pinned = findPinnedHarness(name);
  if (!pinned) throw new Error(`versions.json does not contain ${name}.`);
  const folder = mkdtempSync(join(tmpdir(), "outrider-lock-"));
  try {
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ private: true, dependencies: pinned.packages }),
    );
    const options = [
      "--package-lock-only",
      "--ignore-scripts",
      "--omit-lockfile-registry-resolved",
      "--no-audit",
      "--no-fund",
    ];
    execFileSync("npm", ["install", ...options], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    const lock = completeLock(readFileSync(join(folder, "package-lock.json"), "utf8"), name);
    writeFileSync(lockPath(name), lock);
    console.log(`${name}: ${Object.keys(JSON.parse(lock).packages).length - 1} packages`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
