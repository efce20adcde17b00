import type { Limits } from "../../limits.ts";

const minMemoryMb = 1024;
const memoryShare = 1 / 4;
const maxPids = 512;
const maxCpus = 1;

/**
 * Returns the limits of the container with the worker's scripts, whose work depends on the files of the sandbox. Engines have
 * no limit for two containers together, so these are in addition to the sandbox's own. They are never higher. The memory
 * grows with that of the sandbox, because git needs more for larger repositories.
 */
export function scriptLimits({ memory_mb, pids, cpus, ...others }: Limits): Limits {
  return {
    ...others,
    ...(memory_mb === undefined
      ? {}
      : { memory_mb: Math.min(memory_mb, Math.max(minMemoryMb, Math.floor(memory_mb * memoryShare))) }),
    ...(pids === undefined ? {} : { pids: Math.min(pids, maxPids) }),
    ...(cpus === undefined ? {} : { cpus: Math.min(cpus, maxCpus) }),
  };
}
