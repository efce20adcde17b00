import { createHash } from "node:crypto";
import { globSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";

/** Lists everything that a provider's sandboxes may leave on this host. */
export function leftoversOf(root: string): Record<"folders" | "mounts" | "loops" | "groups", string[]> {
  const hash = createHash("sha256").update(realpathSync(root)).digest("hex").slice(0, 12);
  const loops = readdirSync("/sys/block").map((name) => `/sys/block/${name}/loop/backing_file`);
  // Pooled root file systems are not leftovers.
  const pool = join(root, ".rootfs-pool");
  const backing = (file: string) =>
    linesOf(file).some((path) => path.startsWith(root) && !path.startsWith(pool));
  return {
    folders: readdirSync(root).filter((name) => !name.startsWith(".")),
    mounts: linesOf("/proc/self/mountinfo").filter((line) => line.includes(root)),
    loops: loops.filter(backing),
    groups: globSync(`/sys/fs/cgroup/**/outrider-${hash}-*`),
  };
}

export const noLeftovers = { folders: [], mounts: [], loops: [], groups: [] };

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return []; // not a loop device, or removed in the meantime
  }
}
