import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A mounted cgroup hierarchy. Every process belongs to one group in each hierarchy. */
export interface Hierarchy {
  version: 1 | 2;
  /** A v1 mount's controllers. Empty for v2, where each group lists its own. */
  controllers: string[];
  mount: string;
  /** The groups that may become parents of new groups: this process's own group, then its ancestors. */
  parents: string[];
}

/** Returns the hierarchies that are visible to this process, v2 first. */
export function readHierarchies(): Hierarchy[] {
  const groups = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const found = mounts.flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "/", mount = ""] = before.split(" ");
    const [type = "", , options = ""] = after.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") return [];
    const version = type === "cgroup" ? 1 : 2;
    const ownGroup = groups
      .map((group) => /^\d+:([^:]*):(.*)$/.exec(group))
      .find((match) => {
        const names = match?.[1]?.split(",") ?? [];
        return (
          match && (version === 2 ? match[1] === "" : names.some((name) => options.split(",").includes(name)))
        );
      });
    if (!ownGroup) return [];
    const controllers = version === 1 ? (ownGroup[1] as string).split(",") : [];
    const parents = parentsOf(mount, relative(root, ownGroup[2] as string));
    return [{ version, controllers, mount, parents } as const];
  });
  return found.sort((a, b) => b.version - a.version);
}

function parentsOf(mount: string, ownGroup: string): string[] {
  // A container may show only a part of the tree that does not include this process's own group.
  if (ownGroup === "" || ownGroup.startsWith("..")) return [mount];
  const parents = [join(mount, ownGroup)];
  while (parents.at(-1) !== mount) parents.push(dirname(parents.at(-1) as string));
  return parents;
}
