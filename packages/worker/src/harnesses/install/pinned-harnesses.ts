import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder with the pinned versions of agents, and for each agent a lock file with the hashes of all its packages. */
export const agentsFolder = fileURLToPath(new URL("../../../agents", import.meta.url));

export interface PinnedHarness {
  /** The version of the agent. It follows from the packages. */
  version?: string;
  /** The exact versions of the npm packages to install. They depend on all others. */
  packages: Record<string, string>;
  /** The package whose version is the agent's, or that has it in another field of package.json. */
  agent: string;
  version_field?: string;
  /**
   * The native programs to link in `node_modules/.bin`, and where they can be in `node_modules`. They replace the links of
   * npm, which need scripts that are not run. `{cpu}` is Node's name of the processor, `{machine}` that of the kernel, and
   * `{musl}` is `-musl` if the worker's system has musl in place of glibc.
   */
  programs: Record<string, string[]>;
}

const pinned: Record<string, PinnedHarness> = JSON.parse(
  readFileSync(`${agentsFolder}/versions.json`, "utf8"),
);

export const pinnedHarnessNames = Object.keys(pinned);

export function findPinnedHarness(name: string): PinnedHarness | undefined {
  return Object.hasOwn(pinned, name) ? pinned[name] : undefined;
}

/** Returns the lock file of a pinned harness. Throws if it does not match versions.json. */
export function readPinnedLock(name: string): string {
  const path = lockPath(name);
  const text = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  const locked = text && JSON.parse(text).packages[""].dependencies;
  if (!text || JSON.stringify(locked) !== JSON.stringify(findPinnedHarness(name)?.packages))
    throw new Error(`${path} does not match versions.json. Run node packages/worker/scripts/lock-agents.ts.`);
  return text;
}

export const lockPath = (name: string) => `${agentsFolder}/locks/${name}.json`;
