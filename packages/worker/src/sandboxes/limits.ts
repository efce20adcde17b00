import { totalmem } from "node:os";

export interface Limits {
  cpus?: number | undefined;
  memory_mb?: number | undefined;
  pids?: number | undefined;
  disk_mb?: number | undefined;
}

export type Control = "memory" | "cpus" | "pids" | "disk" | "network" | "seccomp" | "freeze";

export type Capability = { enforced: true; by: string } | { enforced: false; reason: string };
export type Capabilities = Record<Control, Capability>;

/** What holds for one sandbox; `limit` is in the unit of the limit's own member. */
export type Enforced = Record<
  Control,
  { enforced: true; by: string; limit?: number } | { enforced: false; reason: string }
>;

const members = { memory: "memory_mb", cpus: "cpus", pids: "pids", disk: "disk_mb" } as const;
const limited = Object.keys(members) as (keyof typeof members)[];

/** Where the environment asks for nothing. A sandbox may use every CPU when nobody else wants it. */
export const defaultLimits: Limits = {
  memory_mb: Math.min(4096, Math.floor(totalmem() / 2 ** 21)),
  pids: 4096,
  disk_mb: 10 * 1024,
};

/** Somebody relies on a limit that cannot hold here: better no sandbox than one without. */
export class LimitNotEnforceableError extends Error {
  override name = "LimitNotEnforceableError";
  readonly member: keyof Limits;

  constructor(member: keyof Limits, reason: string) {
    super(`limits.${member} does not hold here: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`);
    this.member = member;
  }
}

/** The limits a sandbox gets: those asked for, each of which has to hold, and for the rest those defaults that can. */
export function chooseLimits(asked: Limits, capabilities: Capabilities): Limits {
  const chosen: Limits = {};
  for (const control of limited) {
    const member = members[control];
    const capability = capabilities[control];
    if (capability.enforced) {
      const limit = asked[member] ?? defaultLimits[member];
      if (limit !== undefined) chosen[member] = limit;
    } else if (asked[member] !== undefined) {
      throw new LimitNotEnforceableError(member, capability.reason);
    }
  }
  return chosen;
}

export function enforcedWith(limits: Limits, capabilities: Capabilities): Enforced {
  const enforced: Enforced = { ...capabilities };
  for (const control of limited) {
    const limit = limits[members[control]];
    const capability = capabilities[control];
    if (!capability.enforced) continue;
    enforced[control] =
      limit === undefined ? { enforced: false, reason: "No limit was asked for." } : { ...capability, limit };
  }
  return enforced;
}
