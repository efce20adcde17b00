import { createHash } from "node:crypto";
import { globSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";

/** What of a provider's sandboxes there is on this host, wherever it could be forgotten. */
export function leftoversOf(root: string): Record<"folders" | "mounts" | "loops" | "groups", string[]> {
  const hash = createHash("sha256").update(realpathSync(root)).digest("hex").slice(0, 12);
  const loops = readdirSync("/sys/block").map((name) => `/sys/block/${name}/loop/backing_file`);
  // A spare that waits for the next sandbox is not forgotten.
  const spare = join(root, ".grounds");
  const backing = (file: string) =>
    linesOf(file).some((path) => path.startsWith(root) && !path.startsWith(spare));
  return {
    folders: readdirSync(root).filter((name) => !name.startsWith(".")),
    mounts: linesOf("/proc/self/mountinfo").filter((line) => line.includes(root)),
    loops: loops.filter(backing),
    groups: globSync(`/sys/fs/cgroup/**/outrider-${hash}-*`),
  };
}

export const nothing = { folders: [], mounts: [], loops: [], groups: [] };

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return []; // no loop device, or one that goes while we look
  }
}
