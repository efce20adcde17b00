import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A mounted tree of cgroups. Every process is in one group of each. */
export interface Hierarchy {
  version: 1 | 2;
  /** What v1 mounted it with; in v2 each group says for itself. */
  controllers: string[];
  mount: string;
  /** Where groups may be made: our own group, then those above it. */
  parents: string[];
}

/** What this process can see, v2 first. */
export function readHierarchies(): Hierarchy[] {
  const groups = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const found = mounts.flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "/", mount = ""] = before.split(" ");
    const [type = "", , options = ""] = after.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") return [];
    const version = type === "cgroup" ? 1 : 2;
    const own = groups
      .map((group) => /^\d+:([^:]*):(.*)$/.exec(group))
      .find((match) => {
        const names = match?.[1]?.split(",") ?? [];
        return (
          match && (version === 2 ? match[1] === "" : names.some((name) => options.split(",").includes(name)))
        );
      });
    if (!own) return [];
    const controllers = version === 1 ? (own[1] as string).split(",") : [];
    return [
      { version, controllers, mount, parents: parentsOf(mount, relative(root, own[2] as string)) } as const,
    ];
  });
  return found.sort((a, b) => b.version - a.version);
}

function parentsOf(mount: string, own: string): string[] {
  // In a container that shows only a part of the tree, our own group may lie outside of it.
  if (own === "" || own.startsWith("..")) return [mount];
  const parents = [join(mount, own)];
  while (parents.at(-1) !== mount) parents.push(dirname(parents.at(-1) as string));
  return parents;
}
