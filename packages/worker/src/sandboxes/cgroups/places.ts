import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { readProcess } from "../processes.ts";
import { Cgroup } from "./cgroup.ts";
import type { Hierarchy } from "./hierarchies.ts";
import { applyLimits, type Limits } from "./limits.ts";

const run = promisify(execFile);

/** Where this worker makes its groups in one hierarchy, and which controllers work there. */
export interface Place {
  parent: string;
  version: 1 | 2;
  controllers: string[];
}

/** A place, and why each controller that does not work there does not. */
export interface Tried {
  place?: Place;
  reasons: Record<string, string>;
}

/** Small enough for any parent. */
const trialLimits: Required<Limits> = { cpus: 0.05, memory_mb: 16, pids: 16 };

/**
 * Looks for the place in a hierarchy where most of the controllers work: our own group, so that what bounds this
 * worker bounds its sandboxes too, or the next above it. That something is mounted says nothing: a trial group is
 * made, its limits are set and read back, and a process joins it.
 */
export async function findPlace(hierarchy: Hierarchy, wanted: string[], name: string): Promise<Tried> {
  let best: Tried = { reasons: {} };
  for (const parent of hierarchy.parents) {
    const offered = hierarchy.version === 2 ? enable(parent, wanted) : wanted;
    const tried = await tryPlace({ parent, version: hierarchy.version, controllers: offered }, name);
    const isBetter = (tried.place?.controllers.length ?? -1) > (best.place?.controllers.length ?? -1);
    best = isBetter ? tried : { ...best, reasons: { ...tried.reasons, ...best.reasons } };
    if (best.place?.controllers.length === wanted.length) break;
  }
  return best;
}

async function tryPlace(place: Place, name: string): Promise<Tried> {
  const folder = join(place.parent, name);
  const group = new Cgroup([{ ...place, folder }]);
  const reasons: Record<string, string> = {};
  try {
    mkdirSync(folder);
    const works = place.controllers.filter((controller) => {
      try {
        applyLimits({ folder, version: place.version, controllers: [controller] }, trialLimits);
        return true;
      } catch (error) {
        reasons[controller] = (error as Error).message;
        return false;
      }
    });
    await run("/bin/sh", ["-c", 'echo 0 > "$1"', "sh", ...group.procs]);
    return { place: { ...place, controllers: works }, reasons };
  } catch (error) {
    return { reasons: Object.fromEntries(place.controllers.map((name) => [name, (error as Error).message])) };
  } finally {
    await group.remove().catch(() => {}); // reap finds it
  }
}

/** In v2, a group has to hand a controller down, and may do so only when no process is in the group itself. */
function enable(parent: string, wanted: string[]): string[] {
  const offered = wordsOf(join(parent, "cgroup.controllers"));
  return wanted.filter((controller) => {
    if (!offered.includes(controller)) return false;
    const file = join(parent, "cgroup.subtree_control");
    if (wordsOf(file).includes(controller)) return true;
    try {
      writeFileSync(file, `+${controller}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY" || !stepDown(parent)) return false;
      try {
        writeFileSync(file, `+${controller}`);
      } catch {
        return false;
      }
    }
    return wordsOf(file).includes(controller);
  });
}

const steppedDown = "outrider-worker";

/**
 * Makes room in the group that a service manager or a container gave to this worker alone: all in it go into a group
 * below. Not where a stranger is among them, that is, neither started by us nor one that started us.
 */
function stepDown(group: string): boolean {
  if (basename(group) === steppedDown) return false;
  const pids = wordsOf(join(group, "cgroup.procs")).map(Number);
  const above = ancestors(process.pid);
  if (!pids.every((pid) => above.includes(pid) || ancestors(pid).includes(process.pid))) return false;
  try {
    const below = join(group, steppedDown);
    mkdirSync(below, { recursive: true });
    for (const pid of pids) writeFileSync(join(below, "cgroup.procs"), String(pid));
    return true;
  } catch {
    return false;
  }
}

/** A process and those that it comes from. */
function ancestors(pid: number): number[] {
  const parent = readProcess(pid)?.parent;
  return parent ? [pid, ...ancestors(parent)] : [pid];
}

function wordsOf(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}
