import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Part } from "./cgroup.ts";

export interface Limits {
  cpus?: number | undefined;
  memory_mb?: number | undefined;
  pids?: number | undefined;
}

type Setting = [file: string, value: string, ifThere?: "ifThere"];

const periodUs = 100_000;
const leastQuotaUs = 1000;

function settings(controller: string, version: 1 | 2, { cpus, memory_mb, pids }: Limits): Setting[] {
  if (controller === "memory" && memory_mb !== undefined) {
    const bytes = String(memory_mb * 2 ** 20);
    // Swap is bounded too: else the limit only makes a command slow, and the host's disk with it.
    return version === 2
      ? [
          ["memory.max", bytes],
          ["memory.swap.max", "0", "ifThere"],
        ]
      : [
          ["memory.limit_in_bytes", bytes],
          ["memory.memsw.limit_in_bytes", bytes, "ifThere"],
        ];
  }
  if (controller === "cpu" && cpus !== undefined) {
    const quota = String(Math.max(leastQuotaUs, Math.round(cpus * periodUs)));
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

/** Sets the limits of a group's part and reads them back: what a kernel takes it does not always keep. */
export function applyLimits({ folder, version, controllers }: Part, limits: Limits): void {
  for (const [file, value, ifThere] of controllers.flatMap((name) => settings(name, version, limits))) {
    const path = join(folder, file);
    if (ifThere && !existsSync(path)) continue;
    writeFileSync(path, value);
    const kept = readFileSync(path, "utf8").trim();
    if (kept !== value) throw new Error(`${path} was set to ${value} and says ${kept}`);
  }
}
