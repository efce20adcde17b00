import { createHash } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { Cgroup, type CgroupFolder } from "./cgroup.ts";
import { findParentGroup, type ParentGroup } from "./find-parent.ts";
import { type Hierarchy, readHierarchies } from "./hierarchies.ts";
import { applyLimits, type Limits } from "./limits.ts";

export type Capability = { enforced: true; by: string } | { enforced: false; reason: string };
export type Capabilities = Record<"memory" | "cpus" | "pids" | "freeze", Capability>;

const controllerOf = { memory: "memory", cpus: "cpu", pids: "pids" };
const limitControllers = Object.values(controllerOf);
const remedy = "start the worker as root, or from systemd with Delegate=yes";

/**
 * Determines which control group features this worker can use, by trying them. Group names contain a hash of `name`
 * (the sandbox root). The hash separates the workers on one host and lets a later worker with the same name find
 * leftover groups.
 */
export async function openCgroups(options: { name: string }): Promise<Cgroups> {
  const prefix = `outrider-${createHash("sha256").update(options.name).digest("hex").slice(0, 12)}-`;
  const hierarchies = readHierarchies();
  const parents: ParentGroup[] = [];
  const reasons: Record<string, string> = {};
  for (const hierarchy of hierarchies) {
    // Each controller belongs to one hierarchy. A v2 hierarchy is useful even without controllers, because it freezes
    // and kills better than v1's freezer.
    const needsFreezer = hierarchy.version === 2 || !parents.some(({ version }) => version === 2);
    const useful = [...limitControllers, ...(needsFreezer ? ["freezer"] : [])];
    const offered =
      hierarchy.version === 2
        ? limitControllers
        : hierarchy.controllers.filter((controller) => useful.includes(controller));
    if (offered.length === 0) continue;
    const result = await findParentGroup(hierarchy, offered, `${prefix}trial-${process.pid}`);
    if (result.parent) parents.push(result.parent);
    Object.assign(reasons, result.reasons);
  }
  return new Cgroups({ prefix, hierarchies, parents, capabilities: capabilitiesOf(parents, reasons) });
}

function capabilitiesOf(parents: ParentGroup[], reasons: Record<string, string>): Capabilities {
  const capability = (parent: ParentGroup | undefined, reason: string): Capability =>
    parent ? { enforced: true, by: `cgroup v${parent.version}` } : { enforced: false, reason };
  const limits = Object.entries(controllerOf).map(([resource, controller]) => {
    const why = reasons[controller] ?? `the cgroup controller ${controller} is not available to this worker`;
    const parent = parents.find(({ controllers }) => controllers.includes(controller));
    return [resource, capability(parent, `Sandbox ${resource} cannot be limited (${why}): ${remedy}.`)];
  });
  const freezing = parents.find(
    ({ version, controllers }) => version === 2 || controllers.includes("freezer"),
  );
  const why = reasons.freezer ?? "no cgroup freezer is available to this worker";
  const freeze = capability(freezing, `Sandboxes cannot be frozen (${why}): ${remedy}.`);
  return { ...Object.fromEntries(limits), freeze };
}

export class Cgroups {
  readonly capabilities: Capabilities;
  readonly #prefix: string;
  readonly #hierarchies: Hierarchy[];
  readonly #parents: ParentGroup[];

  constructor(options: {
    prefix: string;
    hierarchies: Hierarchy[];
    parents: ParentGroup[];
    capabilities: Capabilities;
  }) {
    this.capabilities = options.capabilities;
    this.#prefix = options.prefix;
    this.#hierarchies = options.hierarchies;
    this.#parents = options.parents;
  }

  /** Creates a group. Ignores limits that are not enforceable; the caller checks `capabilities` first. */
  create(id: string, limits: Limits): Cgroup {
    const folders: CgroupFolder[] = this.#parents.map(({ path, version, controllers }) => ({
      version,
      controllers,
      folder: join(path, this.#prefix + id),
    }));
    const group = new Cgroup(folders);
    try {
      for (const folder of folders) {
        mkdirSync(folder.folder);
        applyLimits(folder, limits);
      }
    } catch (error) {
      void group.remove().catch(() => {}); // only the first failure is reported; `reap` removes the rest
      throw error;
    }
    return group;
  }

  /**
   * Kills and removes the groups that an earlier worker with this name left behind, except `keep`. Returns their ids.
   */
  async reap(keep: Iterable<string>): Promise<string[]> {
    const idsToKeep = new Set(keep);
    const leftover = new Map<string, CgroupFolder[]>();
    for (const { mount, version, controllers } of this.#hierarchies) {
      // Searches the whole hierarchy, because the earlier worker may have run in another group.
      for (const folder of foldersBelow(mount)) {
        const name = basename(folder);
        const id = name.slice(this.#prefix.length);
        if (!name.startsWith(this.#prefix) || idsToKeep.has(id)) continue;
        leftover.set(id, [...(leftover.get(id) ?? []), { folder, version, controllers }]);
      }
    }
    for (const folders of leftover.values()) {
      const group = new Cgroup(folders);
      await group.kill();
      await group.remove();
    }
    return [...leftover.keys()];
  }
}

function foldersBelow(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const children = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
    return children.flatMap((path) => [path, ...foldersBelow(path)]);
  } catch {
    return []; // removed in the meantime, or not accessible
  }
}
