interface LockedPackage {
  integrity?: string;
  resolved?: string;
  optionalDependencies?: Record<string, string>;
}

/**
 * Completes a lock file that npm has written. Optional packages that the registry does not have, such as programs for other
 * systems, are missing in it, and `npm ci` would reject it unless nothing refers to them. Throws if a package has no hash.
 */
export function completeLock(text: string, name: string): string {
  const lock: { name: string; packages: Record<string, LockedPackage> } = JSON.parse(text);
  lock.name = name;
  const paths = Object.keys(lock.packages);
  const isLocked = (dependency: string) => paths.some((path) => path.endsWith(`node_modules/${dependency}`));
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path !== "" && (!entry.integrity || entry.resolved))
      throw new Error(`${path} in the lock file of ${name} has no hash, or it has an address.`);
    const optional = Object.entries(entry.optionalDependencies ?? {});
    const locked = optional.filter(([dependency]) => isLocked(dependency));
    if (locked.length < optional.length) entry.optionalDependencies = Object.fromEntries(locked);
  }
  return `${JSON.stringify(lock, null, 2)}\n`;
}
