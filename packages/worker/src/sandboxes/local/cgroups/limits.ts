import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupFolder } from "./cgroup.ts";

export interface Limits {
  cpus?: number | undefined;
  memory_mb?: number | undefined;
  pids?: number | undefined;
}

type Setting = [file: string, value: string, optional?: "optional"];

const periodUs = 100_000;
const minQuotaUs = 1000;

function settingsFor(controller: string, version: 1 | 2, { cpus, memory_mb, pids }: Limits): Setting[] {
  if (controller === "memory" && memory_mb !== undefined) {
    const bytes = String(memory_mb * 2 ** 20);
    // Swap is limited too. Otherwise, a command that exceeds its limit would swap and slow down the host's disk instead
    // of being killed.
    return version === 2
      ? [
          ["memory.max", bytes],
          ["memory.swap.max", "0", "optional"],
        ]
      : [
          ["memory.limit_in_bytes", bytes],
          ["memory.memsw.limit_in_bytes", bytes, "optional"],
        ];
  }
  if (controller === "cpu" && cpus !== undefined) {
    const quota = String(Math.max(minQuotaUs, Math.round(cpus * periodUs)));
    return version === 2
      ? [["cpu.max", `${quota} ${periodUs}`]]
      : [
          ["cpu.cfs_period_us", String(periodUs)],
          ["cpu.cfs_quota_us", quota],
        ];
  }
  if (controller === "pids" && pids !== undefined) return [["pids.max", String(pids)]];
  return [];
}

/** Sets a group's limits and reads them back, because a kernel may accept a value without applying it. */
export function applyLimits({ folder, version, controllers }: CgroupFolder, limits: Limits): void {
  for (const [file, value, optional] of controllers.flatMap((name) => settingsFor(name, version, limits))) {
    const path = join(folder, file);
    if (optional && !existsSync(path)) continue;
    writeFileSync(path, value);
    const actual = readFileSync(path, "utf8").trim();
    if (actual !== value) throw new Error(`${path} was set to ${value} but contains ${actual}`);
  }
}
