/** Every bound in time and number that the engine holds runs to. Settings of the installation. */
export interface Rules {
  /** How long a worker may be silent before its runs are given to another. */
  leaseMs: number;
  /** Longer than any worker's own deadline for its sandboxes: what it ran is dead before somebody else begins. */
  graceMs: number;
  /** How long a turn may take beyond its timeout to wrap up, before it is ended from outside. */
  wrapUpMs: number;
  maxAttempts: number;
  queueMs: number;
  blockedMs: number;
  turnMs: number;
  maxSteps: number;
  maxConcurrentRuns?: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const defaultRules: Rules = {
  leaseMs: 30_000,
  graceMs: 5_000,
  wrapUpMs: 30_000,
  maxAttempts: 3,
  queueMs: 24 * HOUR,
  blockedMs: 7 * 24 * HOUR,
  turnMs: 60 * MINUTE,
  maxSteps: 200,
};

/** After a final state the last holder of the lease may close its execution, and nothing else. */
export const CLOSE_MS = 60_000;

/** A worker that was not heard of for this long is not counted on. */
export const ALIVE_MS = 15_000;
