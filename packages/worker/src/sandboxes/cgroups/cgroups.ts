import { createHash } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { Cgroup, type Part } from "./cgroup.ts";
import { type Hierarchy, readHierarchies } from "./hierarchies.ts";
import { applyLimits, type Limits } from "./limits.ts";
import { findPlace, type Place } from "./places.ts";

export type Capability = { enforced: true; by: string } | { enforced: false; reason: string };
export type Capabilities = Record<"memory" | "cpus" | "pids" | "freeze", Capability>;

const controllerOf = { memory: "memory", cpus: "cpu", pids: "pids" };
const wanted = Object.values(controllerOf);
const remedy = "start the worker as root, or by systemd with Delegate=yes";

/**
 * The groups of one worker's sandboxes. The name, its folder say, keeps those of two workers on one host apart, and
 * lets a later worker of that name find what an earlier one left.
 */
export async function openCgroups(options: { name: string }): Promise<Cgroups> {
  const prefix = `outrider-${createHash("sha256").update(options.name).digest("hex").slice(0, 12)}-`;
  const hierarchies = readHierarchies();
  const places: Place[] = [];
  const reasons: Record<string, string> = {};
  for (const hierarchy of hierarchies) {
    // Each controller is in one hierarchy. v2 is of use without any: it stops and kills, better than v1's freezer.
    const stops = hierarchy.version === 2 || !places.some(({ version }) => version === 2);
    const useful = [...wanted, ...(stops ? ["freezer"] : [])];
    const offered =
      hierarchy.version === 2 ? wanted : hierarchy.controllers.filter((it) => useful.includes(it));
    if (offered.length === 0) continue;
    const tried = await findPlace(hierarchy, offered, `${prefix}trial-${process.pid}`);
    if (tried.place) places.push(tried.place);
    Object.assign(reasons, tried.reasons);
  }
  return new Cgroups({ prefix, hierarchies, places, capabilities: capabilitiesOf(places, reasons) });
}

function capabilitiesOf(places: Place[], reasons: Record<string, string>): Capabilities {
  const by = (place: Place | undefined, reason: string): Capability =>
    place ? { enforced: true, by: `cgroup v${place.version}` } : { enforced: false, reason };
  const limited = Object.entries(controllerOf).map(([resource, controller]) => {
    const why = reasons[controller] ?? `no cgroup offers this worker the controller ${controller}`;
    const place = places.find(({ controllers }) => controllers.includes(controller));
    return [resource, by(place, `The sandboxes' ${resource} cannot be limited (${why}): ${remedy}.`)];
  });
  const stopping = places.find(
    ({ version, controllers }) => version === 2 || controllers.includes("freezer"),
  );
  const why = reasons.freezer ?? "no cgroup offers this worker a freezer";
  const freeze = by(stopping, `Sandboxes cannot be stopped and go on later (${why}): ${remedy}.`);
  return { ...Object.fromEntries(limited), freeze };
}

export class Cgroups {
  /** What holds here, tried out and not only looked up. */
  readonly capabilities: Capabilities;
  readonly #prefix: string;
  readonly #hierarchies: Hierarchy[];
  readonly #places: Place[];

  constructor(options: {
    prefix: string;
    hierarchies: Hierarchy[];
    places: Place[];
    capabilities: Capabilities;
  }) {
    this.capabilities = options.capabilities;
    this.#prefix = options.prefix;
    this.#hierarchies = options.hierarchies;
    this.#places = options.places;
  }

  /** A limit that is not enforced here has no effect: the capabilities say so, and the caller tells. */
  make(id: string, limits: Limits): Cgroup {
    const parts: Part[] = this.#places.map((place) => ({
      ...place,
      folder: join(place.parent, this.#prefix + id),
    }));
    const group = new Cgroup(parts);
    try {
      for (const part of parts) {
        mkdirSync(part.folder);
        applyLimits(part, limits);
      }
    } catch (error) {
      void group.remove().catch(() => {}); // the first failure says more, and reap finds the rest
      throw error;
    }
    return group;
  }

  /** Kills and removes what an earlier worker of this name left, but for the ids to keep. Returns the ids. */
  async reap(keep: Iterable<string>): Promise<string[]> {
    const kept = new Set(keep);
    const left = new Map<string, Part[]>();
    for (const { mount, version, controllers } of this.#hierarchies) {
      // Everywhere, since the earlier worker may have been in another group.
      for (const folder of foldersBelow(mount)) {
        const name = basename(folder);
        const id = name.slice(this.#prefix.length);
        if (!name.startsWith(this.#prefix) || kept.has(id)) continue;
        left.set(id, [...(left.get(id) ?? []), { folder, version, controllers }]);
      }
    }
    for (const parts of left.values()) {
      const group = new Cgroup(parts);
      await group.kill();
      await group.remove();
    }
    return [...left.keys()];
  }
}

function foldersBelow(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const here = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
    return here.flatMap((path) => [path, ...foldersBelow(path)]);
  } catch {
    return []; // it went meanwhile, or is not for us
  }
}
