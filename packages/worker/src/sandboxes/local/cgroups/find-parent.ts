import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { readProcess } from "../process/processes.ts";
import { Cgroup } from "./cgroup.ts";
import type { Hierarchy } from "./hierarchies.ts";
import { applyLimits, type Limits } from "./limits.ts";

const run = promisify(execFile);

/** The parent of this worker's groups in one hierarchy, and the controllers that work there. */
export interface ParentGroup {
  path: string;
  version: 1 | 2;
  controllers: string[];
}

/** `reasons` contains the reason for each controller that does not work. */
export interface ProbeResult {
  parent?: ParentGroup;
  reasons: Record<string, string>;
}

/** Small enough for any parent group. */
const trialLimits: Required<Limits> = { cpus: 0.05, memory_mb: 16, pids: 16 };

/**
 * Finds the parent group in a hierarchy that supports the most of the wanted controllers. Prefers this process's own
 * group, so that the worker's limits also apply to its sandboxes, and then tries its ancestors. A mounted hierarchy may
 * still be unusable, so each candidate is probed: create a trial group, set its limits, read them back, and let a
 * process join.
 */
export async function findParentGroup(
  hierarchy: Hierarchy,
  wanted: string[],
  trialName: string,
): Promise<ProbeResult> {
  let best: ProbeResult = { reasons: {} };
  for (const path of hierarchy.parents) {
    const offered = hierarchy.version === 2 ? enableControllers(path, wanted) : wanted;
    const candidate = { path, version: hierarchy.version, controllers: offered };
    const result = await probeParentGroup(candidate, trialName);
    const isBetter = (result.parent?.controllers.length ?? -1) > (best.parent?.controllers.length ?? -1);
    best = isBetter ? result : { ...best, reasons: { ...result.reasons, ...best.reasons } };
    if (best.parent?.controllers.length === wanted.length) break;
  }
  return best;
}

async function probeParentGroup(candidate: ParentGroup, trialName: string): Promise<ProbeResult> {
  const { path, version, controllers } = candidate;
  const folder = join(path, trialName);
  const group = new Cgroup([{ version, controllers, folder }]);
  const reasons: Record<string, string> = {};
  try {
    mkdirSync(folder);
    const working = controllers.filter((controller) => {
      try {
        applyLimits({ folder, version, controllers: [controller] }, trialLimits);
        return true;
      } catch (error) {
        reasons[controller] = (error as Error).message;
        return false;
      }
    });
    await run("/bin/sh", ["-c", 'echo 0 > "$1"', "sh", ...group.procsFiles]);
    return { parent: { ...candidate, controllers: working }, reasons };
  } catch (error) {
    return { reasons: Object.fromEntries(controllers.map((name) => [name, (error as Error).message])) };
  } finally {
    await group.remove().catch(() => {}); // `reap` removes it later
  }
}

/**
 * Enables controllers for a group's children and returns those that work. In v2, a group must enable each controller,
 * and it can do so only while it has no processes itself.
 */
function enableControllers(parent: string, wanted: string[]): string[] {
  const offered = readWords(join(parent, "cgroup.controllers"));
  return wanted.filter((controller) => {
    if (!offered.includes(controller)) return false;
    const file = join(parent, "cgroup.subtree_control");
    if (readWords(file).includes(controller)) return true;
    try {
      writeFileSync(file, `+${controller}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY" || !moveProcessesToChild(parent)) return false;
      try {
        writeFileSync(file, `+${controller}`);
      } catch {
        return false;
      }
    }
    return readWords(file).includes(controller);
  });
}

const childGroupName = "outrider-worker";

/**
 * Moves all of a group's processes into a child group. This is safe only in a group that a service manager or container
 * assigned to this worker alone, so it does nothing if the group contains an unrelated process: one that is neither an
 * ancestor nor a descendant of this process.
 */
function moveProcessesToChild(group: string): boolean {
  if (basename(group) === childGroupName) return false;
  const pids = readWords(join(group, "cgroup.procs")).map(Number);
  const ownAncestors = ancestors(process.pid);
  if (!pids.every((pid) => ownAncestors.includes(pid) || ancestors(pid).includes(process.pid))) return false;
  try {
    const child = join(group, childGroupName);
    mkdirSync(child, { recursive: true });
    for (const pid of pids) writeFileSync(join(child, "cgroup.procs"), String(pid));
    return true;
  } catch {
    return false;
  }
}

/** Returns a process and its ancestors. */
function ancestors(pid: number): number[] {
  const parent = readProcess(pid)?.parent;
  return parent ? [pid, ...ancestors(parent)] : [pid];
}

function readWords(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}
