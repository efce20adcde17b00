import { totalmem } from "node:os";

export interface Limits {
  cpus?: number | undefined;
  memory_mb?: number | undefined;
  pids?: number | undefined;
  disk_mb?: number | undefined;
}

export type Control = "memory" | "cpus" | "pids" | "disk" | "network" | "seccomp" | "freeze";

export type Capability = { enforced: true; by: string } | { enforced: false; reason: string };
export type Capabilities = Record<Control, Capability> & {
  /** Whether the commands of Dockerfiles obey the other controls, if they do not run in sandboxes. */
  dockerfiles?: Capability;
};

/** Describes how each control is enforced for one sandbox. `limit` uses the same unit as the field in `Limits`. */
export type Enforced = Record<
  Control,
  { enforced: true; by: string; limit?: number } | { enforced: false; reason: string }
> & {
  /** Whether a sandbox with an image has user ids of its own. */
  ids?: Capability;
};

const limitFields = { memory: "memory_mb", cpus: "cpus", pids: "pids", disk: "disk_mb" } as const;
const limitedControls = Object.keys(limitFields) as (keyof typeof limitFields)[];

/**
 * Returns the limits for environments that set none, on a machine with this much memory. There is no default CPU limit: a
 * sandbox may use every idle CPU.
 */
export function defaultLimitsOf(memoryBytes: number): Limits {
  return { memory_mb: Math.min(4096, Math.floor(memoryBytes / 2 ** 21)), pids: 4096, disk_mb: 10 * 1024 };
}

/** Those of this machine. */
export const defaultLimits: Limits = defaultLimitsOf(totalmem());

/** Thrown when an environment requests what this worker cannot enforce. The sandbox is then not opened. */
export class NotEnforceableError extends Error {
  override name = "NotEnforceableError";
}

/** Thrown when it requests a limit that this worker cannot enforce. */
export class LimitNotEnforceableError extends NotEnforceableError {
  override name = "LimitNotEnforceableError";
  readonly field: keyof Limits;

  constructor(field: keyof Limits, reason: string) {
    super(
      `limits.${field} cannot be enforced on this worker: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`,
    );
    this.field = field;
  }
}

/**
 * Returns a sandbox's limits. Every requested limit must be enforceable. Defaults apply to the other limits where this
 * worker can enforce them.
 */
export function resolveLimits(
  requested: Limits,
  capabilities: Capabilities,
  defaults: Limits = defaultLimits,
): Limits {
  const limits: Limits = {};
  for (const control of limitedControls) {
    const field = limitFields[control];
    const capability = capabilities[control];
    if (capability.enforced) {
      const limit = requested[field] ?? defaults[field];
      if (limit !== undefined) limits[field] = limit;
    } else if (requested[field] !== undefined) {
      throw new LimitNotEnforceableError(field, capability.reason);
    }
  }
  return limits;
}

/** Describes which controls apply to a sandbox with these limits. */
export function describeEnforcement(limits: Limits, capabilities: Capabilities): Enforced {
  const enforced: Enforced = { ...capabilities };
  for (const control of limitedControls) {
    const limit = limits[limitFields[control]];
    const capability = capabilities[control];
    if (!capability.enforced) continue;
    enforced[control] =
      limit === undefined ? { enforced: false, reason: "No limit is set." } : { ...capability, limit };
  }
  return enforced;
}
